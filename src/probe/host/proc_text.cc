#include "probe/host/proc_text.h"

#include <charconv>

namespace sentinel {
namespace {

template <typename T>
std::optional<T> Number(std::string_view text, int base = 10) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Takes the next word off the front, "" at the end.
std::string_view Word(std::string_view* text) {
  const size_t begin = text->find_first_not_of(" \t\n");
  if (begin == std::string_view::npos) {
    *text = {};
    return {};
  }
  text->remove_prefix(begin);
  const size_t end = std::min(text->find_first_of(" \t\n"), text->size());
  const std::string_view word = text->substr(0, end);
  text->remove_prefix(end);
  return word;
}

std::string_view Line(std::string_view* text) {
  const size_t end = std::min(text->find('\n'), text->size());
  const std::string_view line = text->substr(0, end);
  text->remove_prefix(std::min(end + 1, text->size()));
  return line;
}

// The text after "key:" if the line has that key.
std::optional<std::string_view> After(std::string_view line, std::string_view key) {
  if (line.substr(0, key.size()) != key || line.size() <= key.size() || line[key.size()] != ':') {
    return std::nullopt;
  }
  return line.substr(key.size() + 1);
}

constexpr uint64_t kSigtermBit = uint64_t{1} << (15 - 1);
constexpr uint64_t kSigkillBit = uint64_t{1} << (9 - 1);
constexpr uint64_t kPfExiting = 4;  // include/linux/sched.h

// The number behind `key` in a file of "key number" lines.
std::optional<uint64_t> Keyed(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    std::string_view line = Line(&text);
    if (Word(&line) == key) return Number<uint64_t>(Word(&line));
  }
  return std::nullopt;
}

}  // namespace

Result<ProcStat> ParseProcStat(std::string_view text) {
  const Error corrupt{ErrorCode::kCorrupt, "not a /proc stat line"};
  // The name may hold spaces and parentheses: it ends at the last one.
  const size_t open = text.find('(');
  const size_t close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open)
    return corrupt;
  ProcStat stat;
  stat.name = text.substr(open + 1, close - open - 1);
  std::string_view rest = text.substr(close + 1);
  const std::string_view state = Word(&rest);
  if (state.size() != 1) return corrupt;
  stat.state = state[0];
  std::string_view fields[20];  // from field 4, the parent, to field 22, the start
  for (int i = 4; i <= 22; ++i) fields[i - 4] = Word(&rest);
  const auto parent = Number<int>(fields[0]);
  const auto flags = Number<uint64_t>(fields[9 - 4]);
  const auto user = Number<uint64_t>(fields[14 - 4]);
  const auto system = Number<uint64_t>(fields[15 - 4]);
  const auto start = Number<uint64_t>(fields[22 - 4]);
  if (!parent || !user || !system || !start) return corrupt;
  stat.parent = *parent;
  stat.cpu_ticks = *user + *system;
  stat.start_ticks = *start;
  stat.exiting = (flags.value_or(0) & kPfExiting) != 0;
  return stat;
}

ProcessState ProcessStateOf(char state) {
  switch (state) {
    case 'R':
      return ProcessState::kRunning;
    case 'S':
    case 'I':
      return ProcessState::kSleeping;
    case 'D':
      return ProcessState::kDiskWait;
    case 'T':
      return ProcessState::kStopped;
    case 't':
      return ProcessState::kTraced;
    case 'Z':
    case 'X':
    case 'x':
      return ProcessState::kDead;
    default:
      return ProcessState::kUnknown;
  }
}

ProcStatus ParseProcStatus(std::string_view text) {
  ProcStatus status;
  while (!text.empty()) {
    const std::string_view line = Line(&text);
    if (auto tracer = After(line, "TracerPid")) {
      status.tracer = Number<int>(Word(&*tracer)).value_or(0);
    } else if (auto uids = After(line, "Uid")) {
      for (std::string_view word = Word(&*uids); !word.empty(); word = Word(&*uids)) {
        if (const auto uid = Number<uint32_t>(word)) status.uids.push_back(*uid);
      }
    } else if (auto pids = After(line, "NSpid")) {
      for (std::string_view word = Word(&*pids); !word.empty(); word = Word(&*pids)) {
        if (const auto pid = Number<int>(word)) status.pids.push_back(*pid);
      }
    } else {
      for (const std::string_view key : {"SigPnd", "ShdPnd"}) {
        auto pending = After(line, key);
        if (!pending) continue;
        const uint64_t set = Number<uint64_t>(Word(&*pending), 16).value_or(0);
        status.sigterm_pending = status.sigterm_pending || (set & kSigtermBit) != 0;
        status.sigkill_pending = status.sigkill_pending || (set & kSigkillBit) != 0;
      }
    }
  }
  return status;
}

ProcIo ParseProcIo(std::string_view text) {
  ProcIo io;
  while (!text.empty()) {
    const std::string_view line = Line(&text);
    if (auto read = After(line, "rchar")) io.read = Number<uint64_t>(Word(&*read)).value_or(0);
    if (auto written = After(line, "wchar"))
      io.written = Number<uint64_t>(Word(&*written)).value_or(0);
  }
  return io;
}

std::optional<uint64_t> ParseRunDelayNs(std::string_view text) {
  Word(&text);  // time on a CPU
  return Number<uint64_t>(Word(&text));
}

ProcCgroup ParseProcCgroup(std::string_view text) {
  ProcCgroup cgroup;
  while (!text.empty()) {
    const std::string_view line = Line(&text);  // hierarchy:controllers:path
    const size_t first = line.find(':');
    const size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string path(line.substr(second + 1));
    if (line.substr(0, first) == "0" && controllers.empty()) cgroup.unified = path;
    if (controllers == "freezer") cgroup.freezer = path;
    if (controllers == "memory") cgroup.memory = path;
    cgroup.all.push_back(path);
  }
  return cgroup;
}

std::optional<std::string> EnvironValue(std::string_view environ, std::string_view name) {
  while (!environ.empty()) {
    const size_t end = std::min(environ.find('\0'), environ.size());
    const std::string_view entry = environ.substr(0, end);
    environ.remove_prefix(std::min(end + 1, environ.size()));
    if (entry.size() > name.size() && entry.substr(0, name.size()) == name &&
        entry[name.size()] == '=') {
      return std::string(entry.substr(name.size() + 1));
    }
  }
  return std::nullopt;
}

bool CgroupEventsFrozen(std::string_view text) { return Keyed(text, "frozen") == 1u; }

std::optional<bool> CgroupEventsEmpty(std::string_view text) {
  const std::optional<uint64_t> populated = Keyed(text, "populated");
  if (!populated) return std::nullopt;
  return *populated == 0;
}

std::optional<uint64_t> OomKillsIn(std::string_view text) { return Keyed(text, "oom_kill"); }

std::optional<BoardName> ParseBoardName(std::string_view name) {
  constexpr std::string_view kPrefix = "gpu-sentinel.";
  if (name.substr(0, kPrefix.size()) != kPrefix) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  const size_t dot = name.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const auto pid = Number<int>(name.substr(0, dot));
  const auto ticks = Number<uint64_t>(name.substr(dot + 1));
  if (!pid || *pid <= 0 || !ticks) return std::nullopt;
  return BoardName{*pid, *ticks};
}

std::optional<int> ParseBoardPlace(std::string_view text) {
  constexpr std::string_view kStart = "gpu-sentinel board 1 fd ";
  if (!text.starts_with(kStart) || !text.ends_with('\n')) return std::nullopt;
  text.remove_prefix(kStart.size());
  text.remove_suffix(1);
  const auto number = Number<int>(text);
  return number && *number >= 0 ? number : std::nullopt;
}

}  // namespace sentinel
