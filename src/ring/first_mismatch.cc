#include "ring/first_mismatch.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <vector>

namespace sentinel {
namespace {

struct Call {
  int64_t at_ns = 0;
  std::string_view func;
  std::string_view datatype;
  uint64_t count = 0;
  int root = 0;

  auto What() const { return std::tie(func, datatype, count, root); }
};

std::string_view View(const char* text) { return text == nullptr ? std::string_view() : text; }

template <typename Start>
std::vector<Call> CallsOf(const RankRecording& rank) {
  std::vector<Call> calls;
  for (const Callback& callback : rank.callbacks) {
    if (const auto* start = std::get_if<Start>(&callback.what)) {
      calls.push_back(
          {callback.at_ns, View(start->func), View(start->datatype), start->count, start->root});
    }
  }
  return calls;
}

template <typename Start>
std::vector<std::vector<Call>> AllCalls(const Recording& recording) {
  std::vector<std::vector<Call>> all;
  for (const RankRecording& rank : recording.ranks) all.push_back(CallsOf<Start>(rank));
  return all;
}

}  // namespace

std::optional<int64_t> FirstMismatchNs(const Recording& recording) {
  std::vector<std::vector<Call>> all = AllCalls<CollApiStart>(recording);
  const bool api = std::none_of(all.begin(), all.end(), [](const auto& c) { return c.empty(); });
  if (!api) all = AllCalls<CollStart>(recording);
  for (size_t i = 0;; ++i) {
    const Call* first = nullptr;
    int64_t earliest = 0;
    bool differs = false;
    for (const std::vector<Call>& calls : all) {
      if (i >= calls.size()) continue;
      earliest = first == nullptr ? calls[i].at_ns : std::min(earliest, calls[i].at_ns);
      if (first == nullptr) first = &calls[i];
      differs |= calls[i].What() != first->What();
    }
    if (first == nullptr) return std::nullopt;
    if (differs) return earliest;
  }
}

}  // namespace sentinel
