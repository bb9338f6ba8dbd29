// A live job as its parent runs it: one process per rank, a relay for the wires that faults need,
// the faults as they are asked for, and what becomes of it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "ring/live/fault_request.h"
#include "ring/live/job_events.h"
#include "ring/live/live_child.h"
#include "ring/live/outside_faults.h"
#include "ring/live/plan.h"
#include "ring/live/port_reservation.h"
#include "ring/live/relay.h"
#include "ring/profiler_library.h"
#include "ring/run_dir.h"

namespace sentinel {

struct LiveJobOptions {
  LayoutOptions layout;
  std::vector<FaultRequest> faults;
  std::string plugin;  // empty: the ranks load none
  int abi_max = kProfilerAbiNewest;
  std::string name = "live";
  uint64_t iterations = 0;          // 0: no end of its own
  std::optional<Duration> lasting;  // told to finish so long after the start
};

struct LiveOutcome {
  Duration took{};  // from the go-ahead to the end of the last rank's work, or until now
  uint64_t iterations = 0;
  uint64_t operations = 0;  // verified, of all ranks together
  uint64_t elements_wrong = 0;
  bool finished = false;  // every rank left of its own will
};

class LiveJob {
 public:
  // Lays the job out and starts its processes; returns when every rank is connected and has loaded
  // the plugin. Blocks SIGTERM, SIGINT, SIGHUP and SIGPIPE in the calling thread, which must be the
  // main and only one. `run_dir` has a folder per node.
  static Result<std::unique_ptr<LiveJob>> Prepare(const LiveJobOptions& options,
                                                  const RunDir& run_dir, EventLog& log);

  // Returns when every rank has left, the job has been cancelled, or we are told to end: by SIGTERM
  // or SIGINT, or by the end of standard input where the job has no end of its own. There the lines
  // `fault` (begin what has no iteration) and `heal` (end what can be ended) are understood.
  // An error: a rank failed, or a result is not what was sent.
  Result<LiveOutcome> Run();

  // Ends every process.
  void End();

 private:
  LiveJob(const LiveJobOptions& options, JobPlan plan, const RunDir& run_dir, EventLog& log);

  Status StartRelay();
  Status WritePlan();
  Status SpawnRanks();
  Status AwaitReady();
  Status Tick(Instant now);
  Status Restart();
  void TellFaults();
  void ReportStall(Instant now);
  void ReportHealth(Instant now);
  void Hear(const std::string& line, Instant now);
  void FinishIfTime(Instant now);
  bool Over(Instant now) const;
  bool AllGone() const;
  uint64_t NewestIteration() const;
  std::optional<Instant> LastReceived() const;
  LiveOutcome OutcomeSoFar(Instant now) const;

  const LiveJobOptions options_;
  JobPlan plan_;
  const std::string run_dir_;
  const std::vector<std::string> board_dirs_;
  JobEvents events_;
  std::string job_;
  int restarts_ = 0;
  std::optional<PortReservation> ports_;
  std::optional<Relay> relay_;
  std::vector<LiveChild> ranks_;
  std::optional<OutsideFaults> outside_;
  // Of the faults that ranks do to themselves: index among all, and what was told.
  struct Inside {
    size_t index = 0;
    bool began = false;
    bool ended = false;
  };
  std::vector<Inside> inside_;  // by index into plan_.faults
  Instant start_;
  std::optional<uint64_t> armed_;
  std::optional<Instant> told_to_finish_;
  std::optional<Instant> stall_told_;
  uint64_t iterations_told_ = 0;
  bool finished_told_ = false;
};

}  // namespace sentinel
