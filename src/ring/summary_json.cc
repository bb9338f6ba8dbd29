#include <algorithm>
#include <charconv>
#include <limits>
#include <string>

#include <nlohmann/json.hpp>

#include "ring/recording_reader.h"

namespace sentinel {
namespace {

using Json = nlohmann::json;
constexpr auto kReplaceBadBytes = Json::error_handler_t::replace;

Error Corrupt(std::string what) { return {ErrorCode::kCorrupt, std::move(what)}; }

// The recorder writes numbers of the fault as strings: nanoseconds do not fit a JavaScript number.
std::optional<int64_t> IntegerIn(const Json& value) {
  if (value.is_number_unsigned() &&
      value.get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    return std::nullopt;
  }
  if (value.is_number_integer()) return value.get<int64_t>();
  if (!value.is_string()) return std::nullopt;
  const auto& text = value.get_ref<const std::string&>();
  int64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

Result<Fault> ReadFault(const Json& value, int ranks) {
  if (!value.is_array() || value.size() < 2 || !value[1].is_string()) {
    return Corrupt("\"fault\" is not [time, kind, rank, iteration]");
  }
  Fault fault;
  const std::optional<int64_t> at = IntegerIn(value[0]);
  if (!at || *at < 0) return Corrupt("\"fault\": its time is not in nanoseconds");
  fault.at_ns = *at;
  fault.kind = value[1].get<std::string>();
  if (value.size() < 3) return Corrupt("\"fault\" does not say which rank it hits");
  const std::optional<int64_t> rank = IntegerIn(value[2]);
  if (!rank || *rank < 0 || *rank >= ranks) {
    // Whatever is nested as deep as it likes is not written out.
    const std::string it = value[2].is_structured()
                               ? "which is no number"
                               : value[2].dump(-1, ' ', true, kReplaceBadBytes);
    return Corrupt("\"fault\": its rank, " + it + ", is none from 0 to " +
                   std::to_string(ranks - 1));
  }
  fault.rank = static_cast<Rank>(*rank);
  if (value.size() > 3) fault.iteration = IntegerIn(value[3]);
  return fault;
}

// "+72s", "+0.5s", "+500ms".
std::optional<Duration> ReadLabel(const std::string& label) {
  constexpr double kLongestSeconds = 1e6;
  const size_t skip = label.starts_with('+') ? 1 : 0;
  double amount = 0;
  auto [end, error] = std::from_chars(label.data() + skip, label.data() + label.size(), amount);
  if (error != std::errc() || !(amount >= 0)) return std::nullopt;
  const std::string unit(end, label.data() + label.size());
  if (unit == "ms") amount /= 1000;
  if ((unit != "s" && unit != "ms") || amount > kLongestSeconds) return std::nullopt;
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(amount));
}

Result<std::optional<int>> ReadExitCode(const Json& value) {
  if (value.is_null()) return std::optional<int>();
  const std::optional<int64_t> code = IntegerIn(value);
  if (!code || *code < -128 || *code > 255) return Corrupt("an exit code is not one");
  return std::optional<int>(static_cast<int>(*code));
}

Result<Sighting> ReadSighting(const Json& value) {
  if (!value.is_object()) return Corrupt("a process state is not an object");
  Sighting sighting;
  auto state = value.find("state");
  if (state == value.end() || state->is_null()) {
    sighting.state = '-';
  } else if (state->is_string() && !state->get_ref<const std::string&>().empty()) {
    sighting.state = state->get_ref<const std::string&>().front();
  } else {
    return Corrupt("a process state is not a letter");
  }
  auto rc = value.find("rc");
  if (rc != value.end()) sighting.rc = TRY(ReadExitCode(*rc));
  return sighting;
}

Result<std::vector<SightingsAt>> ReadSightings(const Json& value, int ranks) {
  std::vector<SightingsAt> all;
  if (!value.is_object()) return Corrupt("\"states\" is not an object");
  for (auto entry = value.begin(); entry != value.end(); ++entry) {
    const std::optional<Duration> after = ReadLabel(entry.key());
    if (!after) return Corrupt("\"states\": " + entry.key() + " is not a time such as +5s");
    if (!entry->is_array() || entry->size() != static_cast<size_t>(ranks)) {
      return Corrupt("\"states\": " + entry.key() + " does not list " + std::to_string(ranks) +
                     " processes");
    }
    SightingsAt at;
    at.after_fault = *after;
    for (const Json& process : *entry) at.ranks.push_back(TRY(ReadSighting(process)));
    all.push_back(std::move(at));
  }
  std::sort(all.begin(), all.end(), [](const SightingsAt& a, const SightingsAt& b) {
    return a.after_fault < b.after_fault;
  });
  return all;
}

}  // namespace

Result<Summary> ParseSummary(std::string_view text, int ranks) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded() || !json.is_object()) return Corrupt("not a JSON object");
  Summary summary;
  auto name = json.find("name");
  if (name != json.end() && name->is_string()) summary.name = name->get<std::string>();
  auto fault = json.find("fault");
  if (fault != json.end() && !fault->is_null()) summary.fault = TRY(ReadFault(*fault, ranks));
  auto states = json.find("states");
  if (states != json.end() && !states->is_null()) {
    summary.sightings = TRY(ReadSightings(*states, ranks));
  }
  summary.rc_at_end.resize(static_cast<size_t>(ranks));
  auto codes = json.find("rc_before_kill");
  if (codes != json.end() && !codes->is_null()) {
    if (!codes->is_array() || codes->size() != static_cast<size_t>(ranks)) {
      return Corrupt("\"rc_before_kill\" does not list " + std::to_string(ranks) + " processes");
    }
    for (size_t i = 0; i < codes->size(); ++i) {
      summary.rc_at_end[i] = TRY(ReadExitCode((*codes)[i]));
    }
  }
  return summary;
}

}  // namespace sentinel
