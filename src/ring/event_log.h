// What happens in a replay, as JSON lines for whoever drives it: docs/formats/recording.md.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "ring/recording.h"

namespace sentinel {

class EventLog {
 public:
  // Into `path`, or standard output for "-", or nowhere for "". Every line is flushed.
  static Result<EventLog> Open(const std::string& path);

  void Ready(int ranks, const std::string& run_dir);
  void Start(Instant when);
  void Healthy(Instant when, uint64_t operations);  // completed by rank 0
  void FaultHit(Instant when, const Fault& fault);
  void Stall(Instant last_progress);
  void End(Instant when);

  // A line of another kind: one JSON object, ended by a newline.
  void Write(const std::string& line);

 private:
  struct Close {
    void operator()(std::FILE* file) const;
  };
  explicit EventLog(std::FILE* file) : file_(file) {}

  std::unique_ptr<std::FILE, Close> file_;  // null: nowhere
};

}  // namespace sentinel
