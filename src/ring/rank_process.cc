#include "ring/rank_process.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "base/clock.h"
#include "ring/ledger.h"
#include "ring/nccl_caller.h"
#include "ring/nccl_log.h"
#include "ring/recording_reader.h"
#include "ring/script_player.h"

namespace sentinel {
namespace {

constexpr Duration kStartPoll = std::chrono::milliseconds(1);

Instant WaitForStart(const Ledger& ledger) {
  for (;;) {
    if (std::optional<Instant> start = ledger.Start()) return *start;
    std::this_thread::sleep_for(kStartPoll);
  }
}

[[noreturn]] void StayForEver() {
  for (;;) pause();
}

}  // namespace

int RunRankProcess(const RankProcessOptions& options) {
  // Reading comes first and takes its time: the clock starts when every rank is ready.
  Result<RankRecording> recording = ReadRankRecording(options.recording, options.rank);
  const size_t callbacks = recording.ok() ? recording->callbacks.size() : 0;
  Result<Ledger> opened = Ledger::Open(options.ledger_fd, callbacks);
  if (!opened.ok()) {
    std::fprintf(stderr, "rank %d: %s\n", options.rank, opened.error().message.c_str());
    return 1;
  }
  Ledger& ledger = *opened;
  if (!recording.ok()) {
    ledger.Fail(recording.error().message);
    return 1;
  }
  std::optional<ProfilerLibrary> library;
  {
    Result<ProfilerLibrary> loaded = ProfilerLibrary::Load(options.plugin, options.abi_max);
    if (!loaded.ok()) {
      ledger.Fail(loaded.error().message);
      return 1;
    }
    library.emplace(std::move(loaded).value());
  }
  NcclCaller caller(library->table(), library->abi(), recording->pid().value_or(-1), &LogAsNccl,
                    callbacks);
  ledger.Ready();
  const Timeline timeline{options.origin_ns, WaitForStart(ledger), options.speed};

  ScriptPlayer player(*recording, timeline, [&](size_t index, const Callback& callback) {
    caller.Make(callback);
    ledger.Made(index, MonotonicNow());
  });
  player.Play();
  if (caller.Released()) library.reset();  // NCCL closes the library with the last communicator

  if (!options.exit_code) StayForEver();
  const Duration left = timeline.At(options.exit_ns) - MonotonicNow();
  if (left > Duration(0)) std::this_thread::sleep_for(left);
  std::fflush(nullptr);
  _exit(*options.exit_code);  // at once, with threads and handles as they are
}

}  // namespace sentinel
