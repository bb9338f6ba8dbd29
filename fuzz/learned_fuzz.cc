// What an earlier agent is said to have learned, with a right sum under it: whoever can write the
// file can also add it up.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/digest.h"
#include "progress/comm_watch.h"
#include "progress/learned_text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sentinel;
  const std::string body(reinterpret_cast<const char*>(data), size);
  const Result<Learned> learned = ReadLearned(body + "sum " + Sha256Hex(body) + "\n");
  if (!learned.ok()) return 0;
  size_t left_out = 0;
  if (!ReadLearned(WriteLearned(*learned, &left_out)).ok()) std::abort();
  for (const LearnedProcess& process : learned->processes) {
    for (const LearnedComm& comm : process.comms) {
      CommLine line;
      line.live = true;
      line.operations_finished = comm.operations_finished;
      line.operations_started = comm.operations_finished + 1;
      line.progress = comm.progress;
      const WatchOptions options;
      CommWatch watch(options, line, {});
      watch.Recall(comm);
      ++line.operations_finished;
      watch.Scan(line, {std::chrono::seconds(1)});
      (void)watch.Suspect({std::chrono::seconds(2)});
      (void)watch.Remember(0, {std::chrono::seconds(2)});
    }
  }
  return 0;
}
