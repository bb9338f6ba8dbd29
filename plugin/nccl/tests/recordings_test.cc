// Callbacks recorded from a real NCCL 2.28.9 (data/nccl-callbacks in the shared folder), driven
// through the plugin in their order: at rest the board shows what their README says.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdlib>
#include <string>
#include <unordered_map>

#include <nlohmann/json.hpp>

#include "nccl_side.h"

namespace sentinel {
namespace {

using nccl_side::BoardDirectory;
using nccl_side::Plugin;
using nlohmann::json;

std::string Folder(const std::string& name) {
  const char* shared = std::getenv("SENTINEL_SHARED");
  return std::string(shared != nullptr ? shared : "../shared") + "/data/nccl-callbacks/" + name;
}

// Strings that live on, as NCCL's do.
const char* Static(const std::string& text) {
  static std::unordered_map<std::string, int>* kept = new std::unordered_map<std::string, int>;
  return kept->try_emplace(text).first->first.c_str();
}

int StateNumber(const std::string& name) {
  static const std::unordered_map<std::string, int> kNumbers = {
      {"SendGPUWait", 8},      {"SendWait", 9},      {"RecvWait", 10},
      {"RecvFlushWait", 11},   {"RecvGPUWait", 12},  {"OpInProgress", 19},
      {"SendPeerWait", 20},    {"KernelChStop", 22}, {"GroupStartApiStop", 23},
      {"GroupEndApiStart", 24}};
  const auto found = kNumbers.find(name);
  return found == kNumbers.end() ? 13 : found->second;
}

class Replay {
 public:
  Replay(const Plugin& plugin, int64_t pid) : plugin_(plugin), pid_(pid) {}

  void Line(const json& line) {
    const std::string& op = line["op"].get_ref<const std::string&>();
    if (op == "init") {
      comm_ = plugin_.Init(std::stoull(line["commId"].get<std::string>(), nullptr, 16), "",
                           line["nNodes"], line["nranks"], line["rank"]);
      recorded_pid_ = line["pid"];
    } else if (op == "start") {
      handles_[line["id"]] = Start(line);
    } else if (op == "state") {
      plugin_.State(handles_[line["id"]], StateNumber(line["state"]), kGarbage);
    } else if (op == "stop") {
      plugin_.Stop(handles_[line["id"]]);
    } else if (op == "finalize") {
      End();
    }
  }

  void End() {
    if (comm_.context != nullptr) plugin_.Finalize(comm_.context);
    comm_.context = nullptr;
  }

 private:
  void* Start(const json& line) {
    const std::string& type = line["type"].get_ref<const std::string&>();
    void* parent = handles_[line["parent"]];
    void* context = comm_.context;
    if (type == "GroupApi") return plugin_.GroupApi(context, line["depth"]);
    if (type == "CollApi") return plugin_.CollApi(context, parent, Fields(line));
    if (type == "Group") return plugin_.Group(context);
    if (type == "Coll")
      return plugin_.Coll(context, parent, handles_[line["group"]], line["drank"], Fields(line));
    if (type == "ProxyOp")
      return plugin_.ProxyOp(context, parent, line["pid"] == recorded_pid_ ? pid_ : 1, line["ch"],
                             line["peer"], line["nSteps"], line["isSend"] == 1);
    if (type == "ProxyStep") return plugin_.ProxyStep(context, parent, line["step"]);
    if (type == "KernelCh") return plugin_.KernelCh(context, parent, line["ch"]);
    const uint64_t bits = type == "KernelLaunch" ? nccl_side::kKernelLaunch : nccl_side::kProxyCtrl;
    return plugin_.Start(context, nccl_side::Descriptor(plugin_.abi(), bits, parent, 0));
  }

  static nccl_side::CollFields Fields(const json& line) {
    nccl_side::CollFields fields;
    fields.func = Static(line["func"]);
    fields.count = line["count"];
    fields.datatype = Static(line["dtype"]);
    fields.root = line["root"];
    if (line.contains("seq")) {
      fields.seq = line["seq"];
      fields.channels = line["nChannels"];
      fields.algorithm = Static(line["algo"]);
      fields.protocol = Static(line["proto"]);
    }
    return fields;
  }

  // What must never be looked at.
  static inline void* const kGarbage = reinterpret_cast<void*>(0x10);

  const Plugin& plugin_;
  const int64_t pid_;
  json recorded_pid_;
  Plugin::Comm comm_;
  std::unordered_map<uint64_t, void*> handles_{{0, nullptr}};
};

// Everything up to the recording's end or its finalize, whichever comes first.
BoardImage AtRest(const std::string& folder, int rank) {
  const BoardDirectory directory;
  const std::string path = Folder(folder) + "/rank" + std::to_string(rank) + ".jsonl.gz";
  gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) {
    ADD_FAILURE() << path << " is not there; SENTINEL_SHARED names the shared folder";
    return {};
  }
  const Plugin plugin = Plugin::Load(SENTINEL_PLUGIN, 5);
  Replay replay(plugin, getpid());
  char text[4096];
  BoardImage image;
  while (gzgets(file, text, sizeof(text)) != nullptr) {
    const json line = json::parse(text);
    if (line["op"] == "finalize") image = directory.Read();
    replay.Line(line);
  }
  gzclose(file);
  if (image.comms.empty()) image = directory.Read();
  replay.End();
  EXPECT_TRUE(directory.Files().empty()) << "the last finalize removes the board";
  return image;
}

struct Rest {
  uint32_t recv;
  StepState recv_state;
  uint32_t send;
  StepState send_state;
  bool kernels_open;
  uint32_t recv_in_state = 0;  // 0: not looked at
  uint32_t send_in_state = 0;
};

void ExpectStuck(const std::string& folder, int rank, const Rest& rest) {
  SCOPED_TRACE(folder + " rank " + std::to_string(rank));
  const BoardImage image = AtRest(folder, rank);
  ASSERT_EQ(1u, image.comms.size());
  const CommImage& comm = image.comms[0];
  EXPECT_EQ(rank, comm.rank);
  EXPECT_EQ(4, comm.nranks);
  EXPECT_TRUE(comm.line.live);
  EXPECT_EQ(11u, comm.line.operations_started);
  EXPECT_EQ(10u, comm.line.operations_finished);
  EXPECT_EQ(Func::kAllReduce, comm.line.open_func);
  EXPECT_EQ(24, comm.line.open_size_log2);
  EXPECT_FALSE(comm.truncated);
  ASSERT_EQ(11u, comm.operations.size());
  const OperationImage& last = comm.operations.back();
  EXPECT_EQ(10u, last.op.index);
  EXPECT_EQ(10u, last.op.call_index);
  EXPECT_EQ(10u, last.op.seq);
  EXPECT_FALSE(last.finished);
  EXPECT_EQ(2u, last.kernels_started);
  EXPECT_EQ(rest.kernels_open ? 0u : 2u, last.kernels_completed);
  ASSERT_EQ(4u, last.edges.size());
  for (const EdgeProgress& edge : last.edges) {
    const bool recv = edge.direction == Direction::kRecv;
    EXPECT_EQ(12u, edge.steps);
    EXPECT_EQ((rank + (recv ? 3 : 1)) % 4, edge.peer);
    EXPECT_EQ(recv ? rest.recv : rest.send, edge.done) << "channel " << edge.channel;
    EXPECT_EQ(recv ? rest.recv_state : rest.send_state, edge.state)
        << StepStateName(edge.state) << " on channel " << edge.channel;
    const uint32_t in_state = recv ? rest.recv_in_state : rest.send_in_state;
    if (in_state != 0) {
      EXPECT_EQ(in_state, edge.in_state) << "channel " << edge.channel;
    }
  }
}

void ExpectNeverEntered(const std::string& folder, int rank) {
  SCOPED_TRACE(folder + " rank " + std::to_string(rank));
  const BoardImage image = AtRest(folder, rank);
  ASSERT_EQ(1u, image.comms.size());
  const CommImage& comm = image.comms[0];
  EXPECT_EQ(10u, comm.line.operations_started);
  EXPECT_EQ(10u, comm.line.operations_finished);
  EXPECT_EQ(Func::kUnknown, comm.line.open_func);
  EXPECT_EQ(0u, comm.line.api_calls_open);
  EXPECT_EQ(10u, comm.line.api_calls);
  ASSERT_EQ(10u, comm.operations.size());
  EXPECT_EQ(9u, comm.operations.back().op.seq);
  for (const OperationImage& operation : comm.operations) {
    EXPECT_TRUE(operation.finished);
    EXPECT_TRUE(operation.edges.empty());
  }
}

using S = StepState;

TEST(Recordings, ARankThatNeverCallsShowsAllClosedAndTheOthersWaitForIt) {
  ExpectStuck("skip-large", 0, {2, S::kRecvWait, 4, S::kSendGpuWait, true});
  ExpectStuck("skip-large", 1, {4, S::kRecvWait, 6, S::kSendGpuWait, true});
  ExpectNeverEntered("skip-large", 2);
  ExpectStuck("skip-large", 3, {0, S::kRecvWait, 2, S::kSendGpuWait, true});
}

TEST(Recordings, AFrozenKernelShowsFourReceivedStepsThatItDoesNotConsume) {
  ExpectStuck("freeze-kernel-large", 0, {7, S::kRecvWait, 9, S::kSendGpuWait, true});
  ExpectStuck("freeze-kernel-large", 1, {9, S::kRecvWait, 11, S::kSendGpuWait, true});
  ExpectStuck("freeze-kernel-large", 2, {3, S::kRecvGpuWait, 5, S::kSendGpuWait, true, 4});
  ExpectStuck("freeze-kernel-large", 3, {5, S::kRecvWait, 7, S::kSendGpuWait, true});
}

TEST(Recordings, AnIsolatedNetworkShowsBothEdgesOfTheRank) {
  ExpectStuck("net-isolate-large", 0, {2, S::kRecvWait, 4, S::kSendGpuWait, true});
  ExpectStuck("net-isolate-large", 1, {4, S::kRecvWait, 3, S::kSendWait, true, 0, 3});
  ExpectStuck("net-isolate-large", 2, {0, S::kRecvWait, 2, S::kSendGpuWait, true});
  ExpectStuck("net-isolate-large", 3, {0, S::kRecvWait, 2, S::kSendGpuWait, true});
}

TEST(Recordings, AKilledRankLeavesAllClosedAndItsNeighbourSending) {
  ExpectStuck("kill-passive", 0, {2, S::kRecvWait, 4, S::kSendGpuWait, true});
  ExpectStuck("kill-passive", 1, {4, S::kRecvWait, 4, S::kSendWait, true, 0, 2});
  ExpectNeverEntered("kill-passive", 2);
  ExpectStuck("kill-passive", 3, {0, S::kRecvWait, 2, S::kSendGpuWait, true});
}

TEST(Recordings, HealthyRingsFinishEveryOperation) {
  const struct {
    const char* folder;
    uint64_t operations;
  } kHealthy[] = {{"healthy-small", 40}, {"healthy-large", 20}};
  for (const auto& healthy : kHealthy) {
    for (int rank = 0; rank < 4; ++rank) {
      SCOPED_TRACE(std::string(healthy.folder) + " rank " + std::to_string(rank));
      const BoardImage image = AtRest(healthy.folder, rank);
      ASSERT_EQ(1u, image.comms.size());
      EXPECT_EQ(healthy.operations, image.comms[0].line.operations_started);
      EXPECT_EQ(healthy.operations, image.comms[0].line.operations_finished);
      EXPECT_EQ(0u, image.header.dropped);
      EXPECT_FALSE(image.comms[0].truncated);
    }
  }
}

}  // namespace
}  // namespace sentinel
