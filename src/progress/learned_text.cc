#include "progress/learned_text.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <numeric>
#include <utility>

#include "base/digest.h"
#include "progress/board_watch.h"

namespace sentinel {
namespace {

constexpr std::string_view kTitle = "gpu-sentinel-learned";
constexpr int kFormat = 1;
constexpr size_t kSumLineBytes = 4 + 64 + 1;  // "sum ", SHA-256 in hex, end of line
constexpr size_t kWordBytesMax = 256;
constexpr int64_t kLongest = std::chrono::nanoseconds(std::chrono::hours(24 * 366)).count();

// ---- writing

void Put(std::string* out, uint64_t number) { *out += ' ' + std::to_string(number); }

void Put(std::string* out, Duration duration) {
  Put(out, static_cast<uint64_t>(std::clamp<int64_t>(duration.count(), 0, kLongest)));
}

void Put(std::string* out, const GapSketch& gaps) {
  const GapSketch::Parts parts = gaps.parts();
  Put(out, parts.count);
  Put(out, parts.longest);
  for (const auto& [bucket, times] : parts.buckets) {
    Put(out, static_cast<uint64_t>(bucket));
    *out += ':' + std::to_string(times);
  }
  *out += '\n';
}

// A word of a line: it has no blank in it and is not empty.
std::string Word(const std::string& text) {
  const bool plain =
      std::all_of(text.begin(), text.end(), [](unsigned char c) { return c > ' ' && c < 0x7f; });
  return plain && !text.empty() && text.size() <= kWordBytesMax ? text : "-";
}

std::string TextOf(const LearnedProcess& process) {
  std::string out = "process";
  Put(&out, static_cast<uint64_t>(std::max(process.pid, 0)));
  Put(&out, process.start_ticks);
  Put(&out, process.board);
  Put(&out, process.seen.since_boot);
  out += ' ' + Word(process.job) + '\n';
  for (const LearnedComm& comm : process.comms) {
    out += "comm";
    Put(&out, static_cast<uint64_t>(std::max(comm.slot, 0)));
    Put(&out, comm.generation);
    Put(&out, comm.operations_finished);
    Put(&out, comm.progress);
    Put(&out, comm.pause);
    Put(&out, comm.shown_below);
    out += "\nall";
    Put(&out, comm.gaps);
    for (const LearnedKind& kind : comm.kinds) {
      out += "kind";
      Put(&out, static_cast<uint64_t>(kind.kind.func));
      Put(&out, kind.kind.size_log2);
      Put(&out, kind.completed);
      Put(&out, kind.gaps);
    }
    out += "others";
    Put(&out, comm.others.completed);
    Put(&out, comm.others.gaps);
  }
  return out;
}

// ---- reading

// The words of one line, taken from the left. Once one is missing or wrong the line is bad.
class Line {
 public:
  explicit Line(std::string_view text) : rest_(text) {}

  std::string_view Word() {
    const size_t end = std::min(rest_.find(' '), rest_.size());
    const std::string_view word = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    if (word.empty() || word.size() > kWordBytesMax) bad_ = true;
    return word;
  }

  template <typename T = uint64_t>
  T Number(uint64_t max = std::numeric_limits<T>::max()) {
    return static_cast<T>(Whole(Word(), max));
  }
  Duration Time() { return Duration(Number<int64_t>(kLongest)); }
  GapSketch Gaps() {
    GapSketch::Parts parts;
    parts.count = Number();
    parts.longest = Time();
    while (!bad_ && !rest_.empty()) {
      const std::string_view word = Word();
      const size_t colon = std::min(word.find(':'), word.size());
      const uint64_t bucket = Whole(word.substr(0, colon), std::numeric_limits<int>::max());
      const uint64_t times = Whole(word.substr(std::min(colon + 1, word.size())),
                                   std::numeric_limits<uint32_t>::max());
      parts.buckets.emplace_back(static_cast<int>(bucket), static_cast<uint32_t>(times));
    }
    std::optional<GapSketch> gaps = GapSketch::Assemble(parts);
    if (!gaps) bad_ = true;
    return gaps.value_or(GapSketch());
  }
  // Every word was there and right, and none is left.
  bool Good() const { return !bad_ && rest_.empty(); }

 private:
  uint64_t Whole(std::string_view word, uint64_t max) {
    uint64_t number = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error != std::errc() || end != word.data() + word.size() || number > max) bad_ = true;
    return bad_ ? 0 : number;
  }

  std::string_view rest_;
  bool bad_ = false;
};

LearnedProcess ProcessIn(Line& line) {
  LearnedProcess process;
  process.pid = line.Number<int>();
  process.start_ticks = line.Number();
  process.board = line.Number();
  process.seen.since_boot = line.Time();
  process.job = line.Word();
  if (process.job == "-") process.job.clear();
  return process;
}

LearnedComm CommIn(Line& line) {
  LearnedComm comm;
  comm.slot = line.Number<int>(BoardWatch::kSlotsMax - 1);
  comm.generation = line.Number<uint32_t>();
  comm.operations_finished = line.Number();
  comm.progress = line.Number();
  comm.pause = line.Time();
  comm.shown_below = line.Number();
  return comm;
}

LearnedKind KindIn(Line& line) {
  LearnedKind kind;
  kind.kind.func = static_cast<Func>(line.Number(static_cast<uint64_t>(Func::kWaitSignal)));
  kind.kind.size_log2 = line.Number<uint8_t>(63);
  kind.completed = line.Number();
  kind.gaps = line.Gaps();
  return kind;
}

// The lines one after the other; false for a line that has no business where it is.
class Builder {
 public:
  bool Take(std::string_view text) {
    Line line(text);
    const std::string_view what = line.Word();
    if (!titled_) {
      titled_ = what == kTitle && line.Number() == kFormat;
      learned_.boot = line.Word();
      return titled_ && line.Good();
    }
    auto& processes = learned_.processes;
    if (what == "process") {
      processes.push_back(ProcessIn(line));
      return processes.size() <= kLearnedProcessesMax && line.Good();
    }
    if (processes.empty()) return false;
    auto& comms = processes.back().comms;
    if (what == "comm") {
      comms.push_back(CommIn(line));
      return comms.size() <= BoardWatch::kSlotsMax && line.Good();
    }
    if (comms.empty()) return false;
    LearnedComm& comm = comms.back();
    if (what == "all") {
      comm.gaps = line.Gaps();
    } else if (what == "kind") {
      comm.kinds.push_back(KindIn(line));
      if (comm.kinds.size() > CommWatch::kKindsMax) return false;
    } else if (what == "others") {
      comm.others.completed = line.Number();
      comm.others.gaps = line.Gaps();
    } else {
      return false;
    }
    return line.Good();
  }
  bool titled() const { return titled_; }
  Learned Finish() { return std::move(learned_); }

 private:
  bool titled_ = false;
  Learned learned_;
};

Error Corrupt(const std::string& why) { return {ErrorCode::kCorrupt, why}; }

}  // namespace

std::string WriteLearned(const Learned& learned, size_t* left_out, size_t bytes_max) {
  const auto& processes = learned.processes;
  std::vector<size_t> order(processes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return processes[a].seen > processes[b].seen; });
  std::string out =
      std::string(kTitle) + ' ' + std::to_string(kFormat) + ' ' + Word(learned.boot) + '\n';
  size_t written = 0;
  for (const size_t i : order) {
    if (written == kLearnedProcessesMax) break;
    const std::string text = TextOf(processes[i]);
    if (out.size() + text.size() + kSumLineBytes > bytes_max) break;
    out += text;
    ++written;
  }
  *left_out = processes.size() - written;
  return out + "sum " + Sha256Hex(out) + '\n';
}

Result<Learned> ReadLearned(std::string_view text) {
  if (text.size() > kLearnedBytesMax) return Corrupt("larger than it may be");
  if (text.size() < kSumLineBytes) return Corrupt("cut short");
  std::string_view body = text.substr(0, text.size() - kSumLineBytes);
  if (text.substr(body.size()) != "sum " + Sha256Hex(body) + '\n') {
    return Corrupt("cut short or changed: its sum is another");
  }
  Builder builder;
  for (int number = 1; !body.empty(); ++number) {
    const size_t end = body.find('\n');
    if (end == std::string_view::npos || !builder.Take(body.substr(0, end))) {
      return Corrupt("line " + std::to_string(number) + " is not what may stand there");
    }
    body.remove_prefix(end + 1);
  }
  if (!builder.titled()) return Corrupt("empty");
  return builder.Finish();
}

}  // namespace sentinel
