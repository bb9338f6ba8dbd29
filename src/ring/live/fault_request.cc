#include "ring/live/fault_request.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace sentinel {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::pair<std::string_view, OutsideFault> kOutside[] = {
    {"stop", OutsideFault::kStop},
    {"kill", OutsideFault::kKill},
    {"net-oneway", OutsideFault::kNetOneway},
    {"net-isolate", OutsideFault::kNetIsolate},
    {"slow-net", OutsideFault::kSlowNet},
    {"cancel", OutsideFault::kCancel},
    {"finish", OutsideFault::kFinish},
    {"restart", OutsideFault::kRestart},
    {"debugger", OutsideFault::kDebugger},
};
constexpr LiveFault kInside[] = {
    LiveFault::kAbsent,         LiveFault::kStopMid,        LiveFault::kFreezeKernel,
    LiveFault::kFreezeProxy,    LiveFault::kFreezeProxyMid, LiveFault::kMismatch,
    LiveFault::kMismatchOrder,  LiveFault::kMissingSend,    LiveFault::kSlowKernel,
    LiveFault::kLate,           LiveFault::kCheckpoint,     LiveFault::kEval,
    LiveFault::kFirstIteration, LiveFault::kLoader,         LiveFault::kExit,
};
constexpr int64_t kSecondsMax = 24 * 3600;

// How long it lasts where nobody says.
Duration UsualLasting(std::string_view kind) {
  if (kind == "late") return seconds(1);
  if (kind == "checkpoint" || kind == "finish") return seconds(8);
  if (kind == "eval") return seconds(5);
  if (kind == "first-iteration" || kind == "loader") return seconds(10);
  return Duration(0);
}

Error Refuse(std::string_view text, const std::string& why) {
  return Error{ErrorCode::kInvalidArgument, "fault '" + std::string(text) + "': " + why};
}

std::optional<double> Number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool Whole(double value) { return value == static_cast<double>(static_cast<int64_t>(value)); }

// One `name=value`. Empty, or what is wrong with it.
std::string Apply(std::string_view name, double value, int ranks, FaultRequest* request) {
  if (name == "rank") {
    if (!Whole(value) || value < 0 || value >= ranks) {
      return "there are ranks 0 to " + std::to_string(ranks - 1);
    }
    request->rank = static_cast<Rank>(value);
  } else if (name == "at") {
    if (!Whole(value) || value < 0 || value > 1e9) return "at is an iteration, from 0";
    request->iteration = static_cast<uint64_t>(value);
  } else if (name == "after") {
    if (value < 0 || value > 60'000) return "after is 0 to 60000 milliseconds";
    request->after = Duration(static_cast<int64_t>(value * 1e6));
  } else if (name == "for") {
    if (value <= 0 || value > kSecondsMax) return "for is a number of seconds above 0";
    request->lasting = Duration(static_cast<int64_t>(value * 1e9));
  } else {
    return "'" + std::string(name) + "' is not known; there are rank, at, after, for";
  }
  return "";
}

std::optional<std::variant<LiveFault, OutsideFault>> ParseKind(std::string_view kind) {
  for (const auto& [name, fault] : kOutside) {
    if (name == kind) return fault;
  }
  if (const std::optional<LiveFault> fault = ParseLiveFault(kind)) return *fault;
  return std::nullopt;
}

}  // namespace

Result<FaultRequest> ParseFaultRequest(std::string_view text, int ranks) {
  std::vector<std::string_view> words;
  for (std::string_view rest = text;;) {
    const size_t comma = rest.find(',');
    words.push_back(rest.substr(0, comma));
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  FaultRequest request;
  request.kind = words.front();
  const auto what = ParseKind(words.front());
  if (!what) {
    std::string known;
    for (const std::string& kind : FaultKinds()) known += " " + kind;
    return Refuse(text, "no such kind; there are" + known);
  }
  request.what = *what;
  request.rank = request.kind == "checkpoint" ? 0 : std::min(2, ranks - 1);
  request.lasting = UsualLasting(request.kind);
  if (request.kind == "first-iteration") request.iteration = 0;
  for (size_t i = 1; i < words.size(); ++i) {
    const size_t equals = words[i].find('=');
    const std::optional<double> value =
        equals == std::string_view::npos ? std::nullopt : Number(words[i].substr(equals + 1));
    if (!value) return Refuse(text, "'" + std::string(words[i]) + "' is not name=number");
    const std::string wrong = Apply(words[i].substr(0, equals), *value, ranks, &request);
    if (!wrong.empty()) return Refuse(text, wrong);
  }
  return request;
}

std::vector<std::string> FaultKinds() {
  std::vector<std::string> kinds;
  for (const LiveFault fault : kInside) kinds.emplace_back(Name(fault));
  for (const auto& [name, fault] : kOutside) kinds.emplace_back(name);
  return kinds;
}

}  // namespace sentinel
