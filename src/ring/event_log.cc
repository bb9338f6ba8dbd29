#include "ring/event_log.h"

#include <cerrno>
#include <cmath>
#include <cstring>
#include <utility>

#include "ring/report_file.h"
#include "wire/json_text.h"

namespace sentinel {
namespace {

// Milliseconds of CLOCK_MONOTONIC, to the microsecond.
double Millis(Instant when) {
  return std::round(static_cast<double>(when.since_boot.count()) / 1e3) / 1e3;
}

std::string Line(const OrderedJson& json) { return Dump(json) + "\n"; }

}  // namespace

void EventLog::Close::operator()(std::FILE* file) const {
  if (file != stdout) std::fclose(file);
}

Result<EventLog> EventLog::Open(const std::string& path) {
  if (path.empty()) return EventLog(nullptr);
  std::FILE* file = path == kStandardOutput ? stdout : std::fopen(path.c_str(), "we");
  if (file == nullptr) return Error{ErrorCode::kIo, path + ": " + std::strerror(errno)};
  return EventLog(file);
}

void EventLog::Write(const std::string& line) {
  if (!file_) return;
  std::fwrite(line.data(), 1, line.size(), file_.get());
  std::fflush(file_.get());
}

void EventLog::Ready(int ranks, const std::string& run_dir) {
  Write(Line({{"event", "ready"}, {"ranks", ranks}, {"run_dir", run_dir}}));
}

void EventLog::Start(Instant when) { Write(Line({{"event", "start"}, {"mono_ms", Millis(when)}})); }

void EventLog::Healthy(Instant when, uint64_t operations) {
  Write(Line({{"event", "healthy"}, {"mono_ms", Millis(when)}, {"operations", operations}}));
}

void EventLog::FaultHit(Instant when, const Fault& fault) {
  OrderedJson json{{"event", "fault"}, {"mono_ms", Millis(when)}, {"kind", fault.kind}};
  json["rank"] = fault.rank ? OrderedJson(*fault.rank) : OrderedJson(nullptr);
  Write(Line(json));
}

void EventLog::Stall(Instant last_progress) {
  Write(Line({{"event", "stall"}, {"mono_ms", Millis(last_progress)}}));
}

void EventLog::End(Instant when) { Write(Line({{"event", "end"}, {"mono_ms", Millis(when)}})); }

}  // namespace sentinel
