// One process's board under watch: its file, what was read of it last, and the process behind it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "board/decoder.h"
#include "model/job.h"
#include "probe/host/board_finder.h"
#include "probe/host/job_identity.h"
#include "probe/host/process_vitals.h"
#include "progress/board_watch.h"

namespace sentinel {

struct WatchedBoard {
  WatchedBoard(const WatchOptions& options, const ProcFiles& proc, FoundBoard found,
               const JobIdentity& in_job, JobOwner whose, const Place& place, int32_t job_ranks)
      : file(std::move(found.file)),
        identity(file->identity()),
        path(std::move(found.path)),
        pid(found.pid),
        start_ticks(found.start_ticks),
        job(in_job.id),
        job_rank(place.job_rank),
        owner(std::move(whose)),
        vitals(proc, found.pid, found.start_ticks),
        watch(options, in_job.id, in_job.one_node ? JobScope::kNode : JobScope::kCluster, place,
              job_ranks) {}

  bool dead() const { return !file.has_value(); }

  // The header as it is now; none after an error. kUnavailable: the board is still being made.
  Status ReadHeader(Instant now);
  // All of it, if it can be read, told to the watch. `buffer` is where the bytes go meanwhile.
  void ReadImage(std::vector<std::byte>* buffer, Instant now);

  std::optional<BoardFile> file;  // none: the process is dead
  FileIdentity identity;
  std::string path;
  int pid;
  uint64_t start_ticks;
  std::string job;
  int32_t job_rank;
  JobOwner owner;
  ProcessVitals vitals;
  BoardWatch watch;

  std::optional<BoardHeader> header;
  size_t scan_bytes = kBoardHeaderBytes;  // of the header, that a scan reads
  Instant header_changed;
  std::optional<Instant> imaged_at;
  std::optional<Instant> measured_at;
  Instant interest_until{};
  Instant bad_until{};
  bool bad_noted = false;
  uint64_t version = 0;
  Instant died_at{};
  Instant asked_at{};
  std::array<std::byte, kBoardHeaderBytes> raw{};  // the last header read, as bytes
};

}  // namespace sentinel
