// Replays a recording: one process per rank, started together, each treated as its recorded one
// was (stopped, killed, left alone), and all of them ended when the show is over.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "ring/ending.h"
#include "ring/event_log.h"
#include "ring/profiler_library.h"
#include "ring/progress_watch.h"
#include "ring/rank_child.h"
#include "ring/recording.h"
#include "ring/run_dir.h"
#include "ring/timeline.h"

namespace sentinel {

struct ReplayOptions {
  std::string folder;  // of the recording, for the rank processes to read
  std::string plugin;
  int abi_max = kProfilerAbiNewest;
  double speed = 1.0;
  // How long the ranks stay as they are after the ring has stopped, or after the last one has left;
  // none: until SIGTERM, SIGINT, SIGHUP, the end of standard input, or nobody is left.
  std::optional<Duration> hold = std::chrono::seconds(4);
  // Asked when the hold is over: true holds on, to hold_max at most. May be empty.
  std::function<bool()> hold_on;
  Duration hold_max = std::chrono::seconds(40);
};

struct ReplayOutcome {
  Instant start;
  std::optional<Instant> stall;  // the last progress before the ring stood still
  ProgressWatch progress;
  bool cut_short = false;  // by a signal, before everything recorded had happened
};

class Replay {
 public:
  // Starts every rank's process and waits until each has read its script and loaded the plugin.
  // Blocks SIGTERM, SIGINT, SIGHUP and SIGPIPE in the calling thread, which must be the main one
  // and make the other threads only afterwards.
  static Result<Replay> Prepare(const Recording& recording, const ReplayOptions& options,
                                const RunDir& run_dir, EventLog& events);

  // Returns when everything recorded has happened and the hold is over; the ranks are then as they
  // were left. An error: a rank did what its recording does not say.
  Result<ReplayOutcome> Run();

  // Ends every rank's process. The destructor does so as well, but says nothing.
  void End();

 private:
  Replay(const Recording& recording, const ReplayOptions& options, EventLog& events);

  struct OneRank {
    RankChild child;
    std::vector<Act> acts;
    size_t acts_done = 0;
    std::optional<int> expected_end;
  };

  RankCommand CommandFor(size_t index, const RunDir& run_dir, const std::string& job) const;
  Status AwaitReady();
  Status Tick(Instant now);
  Status Bury(OneRank& rank);
  void Perform(OneRank& rank, size_t index, Instant now);
  void Report(Instant now);
  void ReportStall(Instant now);
  bool Over(Instant now);
  bool AllMade() const;
  bool AllGone() const;

  const Recording& recording_;
  const bool cut_off_;  // the recording, while the job was moving
  const ReplayOptions options_;
  EventLog& events_;
  std::vector<OneRank> ranks_;
  Timeline timeline_;
  ProgressWatch progress_;
  uint64_t operations_told_ = 0;
  bool fault_told_ = false;
  std::optional<Instant> stall_told_;
  std::optional<Instant> quiet_since_;  // when everything recorded had happened
};

}  // namespace sentinel
