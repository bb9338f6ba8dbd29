#include "ring/recording_reader.h"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <unordered_set>
#include <utility>

#include "ring/callback_json.h"

namespace sentinel {
namespace {

namespace fs = std::filesystem;

std::string RankFileName(Rank rank) { return "rank" + std::to_string(rank) + ".jsonl.gz"; }

// The rank's file, packed or plain; empty if there is none.
fs::path RankFile(const std::string& folder, Rank rank) {
  std::error_code ignored;
  fs::path packed = fs::path(folder) / RankFileName(rank);
  if (fs::exists(packed, ignored)) return packed;
  fs::path plain = packed;
  plain.replace_extension();
  if (fs::exists(plain, ignored)) return plain;
  return {};
}

struct CloseGzip {
  void operator()(gzFile file) const { gzclose(file); }
};
using GzipFile = std::unique_ptr<gzFile_s, CloseGzip>;

Status StreamError(gzFile file) {
  int code = Z_OK;
  const char* words = gzerror(file, &code);
  if (code == Z_OK || code == Z_STREAM_END) return {};
  if (code == Z_ERRNO) return Error{ErrorCode::kIo, std::strerror(errno)};
  return Error{ErrorCode::kCorrupt,
               code == Z_BUF_ERROR ? "the gzip stream ends in the middle" : words};
}

// The next line without its newline. False at the end; `whole` tells whether a newline closed it.
Result<bool> ReadLine(gzFile file, std::vector<char>& buffer, std::string_view& line, bool& whole) {
  if (gzgets(file, buffer.data(), static_cast<int>(buffer.size())) == nullptr) {
    TRY(StreamError(file));
    return false;
  }
  line = std::string_view(buffer.data());
  whole = line.ends_with('\n');
  if (whole) {
    line.remove_suffix(1);
    return true;
  }
  if (line.size() + 1 == buffer.size()) {
    return Error{ErrorCode::kExhausted,
                 "line longer than " + std::to_string(kRecordedLineBytesMax) + " bytes"};
  }
  if (gzeof(file) == 0) return Error{ErrorCode::kCorrupt, "not text"};
  TRY(StreamError(file));
  return true;
}

// NCCL itself hands stale handles around, so an id without a start is remarked, not refused.
void RemarkDangling(RankRecording& rank) {
  std::unordered_set<uint64_t> started;
  size_t dangling = 0;
  for (const Callback& callback : rank.callbacks) {
    if (callback.Starts()) {
      started.insert(callback.id);
      if (callback.parent != 0 && !started.contains(callback.parent)) ++dangling;
    } else if (callback.id != 0 && !started.contains(callback.id)) {
      ++dangling;
    }
  }
  if (dangling > 0) {
    rank.remarks.push_back(std::to_string(dangling) +
                           " callbacks refer to events that never started");
  }
}

// Neither moment is negative, so their distance fits.
Status CheckMoment(int64_t at_ns, int64_t first_ns) {
  constexpr int64_t kFurthestNs = int64_t{kRecordedHoursMax} * 3600 * 1'000'000'000;
  const int64_t off = at_ns - first_ns;
  if (off <= kFurthestNs && off >= -kFurthestNs) return {};
  return Error{ErrorCode::kCorrupt, "\"t\" is " + std::to_string(std::abs(off) / 1'000'000'000) +
                                        " s " + (off > 0 ? "after" : "before") +
                                        " the recording's first call, " + std::to_string(first_ns) +
                                        "; a recording lasts at most " +
                                        std::to_string(kRecordedHoursMax) + " hours"};
}

// What a job has of ranks, its communicators tell.
Status CheckRanksAreThere(const std::string& folder, const Recording& recording) {
  for (const RankRecording& rank : recording.ranks) {
    for (const Callback& callback : rank.callbacks) {
      const auto* init = std::get_if<InitCall>(&callback.what);
      const auto files = static_cast<int>(recording.ranks.size());
      if (init == nullptr || init->ranks <= files) continue;
      return Error{ErrorCode::kNotFound, folder + ": " + RankFileName(files) +
                                             " is missing: rank " + std::to_string(rank.rank) +
                                             " is one of " + std::to_string(init->ranks)};
    }
  }
  return {};
}

// A fault that no callback is near to would be waited for, or long over at the start.
Status CheckFaultIsNear(const Fault& fault, const Recording& recording) {
  constexpr int64_t kMarginNs = int64_t{kFaultMarginSecondsMax} * 1'000'000'000;
  const int64_t first = recording.OriginNs();
  const int64_t last = recording.LastNs();
  if (first - fault.at_ns <= kMarginNs && fault.at_ns - last <= kMarginNs) return {};
  return Error{ErrorCode::kCorrupt,
               "\"fault\": its time, " + std::to_string(fault.at_ns) + ", is not within " +
                   std::to_string(kFaultMarginSecondsMax) + " s of the recorded calls, " +
                   std::to_string(first) + " to " + std::to_string(last)};
}

}  // namespace

Result<RankRecording> ReadRankRecording(const std::string& folder, Rank rank,
                                        std::optional<int64_t> first_ns) {
  const fs::path path = RankFile(folder, rank);
  if (path.empty()) {
    return Error{ErrorCode::kNotFound, folder + ": " + RankFileName(rank) + " is missing"};
  }
  GzipFile file(gzopen(path.c_str(), "rbe"));
  if (!file) return Error{ErrorCode::kIo, path.string() + ": " + std::strerror(errno)};

  RankRecording recording;
  recording.rank = rank;
  std::vector<char> buffer(kRecordedLineBytesMax + 2);
  std::string_view line;
  bool whole = false;
  for (size_t number = 1;; ++number) {
    const auto blame = [&](const Error& error) {
      return Error{error.code, path.string() + ":" + std::to_string(number) + ": " + error.message};
    };
    const Result<bool> more = ReadLine(file.get(), buffer, line, whole);
    if (!more.ok()) return blame(more.error());
    if (!*more) break;
    if (line.empty()) continue;
    if (number > kRecordedCallbacksMax) {
      return blame({ErrorCode::kExhausted, "one callback too many"});
    }
    const Status appended = AppendCallback(line, recording);
    if (appended.ok()) {
      const int64_t at_ns = recording.callbacks.back().at_ns;
      if (!first_ns) first_ns = at_ns;
      const Status near = CheckMoment(at_ns, *first_ns);
      if (!near.ok()) return blame(near.error());
      continue;
    }
    if (!whole) {  // a process that was killed while it wrote
      recording.remarks.push_back("line " + std::to_string(number) + " is cut short and left out");
      break;
    }
    return blame(appended.error());
  }
  RemarkDangling(recording);
  return recording;
}

Result<Recording> ReadRecording(const std::string& folder) {
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) {
    return Error{ErrorCode::kNotFound, folder + " is not a folder with a recording"};
  }
  Recording recording;
  int last = -1;
  for (Rank rank = 0; rank < kRecordedRanksMax; ++rank) {
    if (!RankFile(folder, rank).empty()) last = rank;
  }
  if (last < 0) {
    return Error{ErrorCode::kNotFound, folder + " holds no " + RankFileName(0)};
  }
  size_t callbacks = 0;
  std::optional<int64_t> first_ns;
  for (Rank rank = 0; rank <= last; ++rank) {
    recording.ranks.push_back(TRY(ReadRankRecording(folder, rank, first_ns)));
    const std::vector<Callback>& made = recording.ranks.back().callbacks;
    callbacks += made.size();
    if (!first_ns && !made.empty()) first_ns = made.front().at_ns;
  }
  if (callbacks == 0) return Error{ErrorCode::kCorrupt, folder + ": no callback on any rank"};
  TRY(CheckRanksAreThere(folder, recording));

  const std::string path = (fs::path(folder) / "summary.json").string();
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error{ErrorCode::kNotFound, path + ": " + std::strerror(errno)};
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  Result<Summary> summary = ParseSummary(text, last + 1);
  if (!summary.ok()) return Error{summary.error().code, path + ": " + summary.error().message};
  recording.summary = std::move(summary).value();
  if (recording.summary.fault) {
    const Status near = CheckFaultIsNear(*recording.summary.fault, recording);
    if (!near.ok()) return Error{near.error().code, path + ": " + near.error().message};
  }
  if (recording.summary.name.empty()) {
    recording.summary.name = fs::weakly_canonical(folder, ignored).filename().string();
  }
  return recording;
}

}  // namespace sentinel
