// A short script for tests: one AllReduce of one channel, received from rank 1.
#pragma once

#include <string>
#include <vector>

#include "ring/callback_json.h"

namespace sentinel {

constexpr int64_t kScriptStartNs = 1'000'000'000'000'000'000;

// Times are `t0` plus the line's place in microseconds.
inline std::vector<std::string> OneAllReduceLines(Rank rank = 0, int64_t t0 = kScriptStartNs,
                                                  int64_t foreign_pid = 0) {
  std::vector<std::string> lines;
  int64_t t = t0;
  const auto add = [&](const char* thread, int tid, const std::string& rest) {
    t += 1000;
    lines.push_back("{\"t\":" + std::to_string(t) + ",\"rank\":" + std::to_string(rank) +
                    ",\"tid\":" + std::to_string(tid) + ",\"thr\":\"" + thread + "\"," + rest +
                    "}");
  };
  const char* app = "train";
  const char* proxy = "NCCL Progress 1";
  const std::string pid = std::to_string(foreign_pid == 0 ? 7 : foreign_pid);
  add(app, 7,
      R"("op":"init","commId":"0x5b22be658d62ced2","commName":"dp","nNodes":2,"nranks":2,"pid":7)");
  add(app, 7, R"("op":"start","id":1,"type":"GroupApi","parent":0,"graph":0,"depth":1)");
  add(app, 7, R"("op":"state","id":1,"type":"GroupApi","state":"GroupStartApiStop")");
  add(app, 7,
      R"("op":"start","id":2,"type":"CollApi","parent":1,"func":"AllReduce","count":64,)"
      R"("dtype":"ncclFloat32","root":0,"stream":"0x10")");
  add(app, 7, R"("op":"stop","id":2,"type":"CollApi")");
  add(app, 7, R"("op":"start","id":3,"type":"KernelLaunch","parent":1,"stream":"0x10")");
  add(app, 7, R"("op":"stop","id":3,"type":"KernelLaunch")");
  add(app, 7, R"("op":"start","id":4,"type":"Group","parent":0)");
  add(app, 7,
      R"("op":"start","id":5,"type":"Coll","parent":2,"drank":0,"seq":3,"func":"AllReduce",)"
      R"("sendBuff":"0x1","recvBuff":"0x2","count":64,"root":0,"dtype":"ncclFloat32",)"
      R"("nChannels":1,"nWarps":9,"algo":"RING","proto":"SIMPLE","group":4)");
  add(app, 7, R"("op":"stop","id":5,"type":"Coll")");
  add(app, 7, R"("op":"stop","id":4,"type":"Group")");
  add(proxy, 9,
      R"("op":"start","id":6,"type":"ProxyOp","parent":5,"drank":0,"pid":)" + pid +
          R"(,"ch":0,"peer":1,"nSteps":1,"chunkSize":64,"isSend":0)");
  add(proxy, 9, R"("op":"state","id":6,"type":"ProxyOp","state":"OpInProgress")");
  add(app, 7, R"("op":"stop","id":1,"type":"GroupApi")");
  add(proxy, 9, R"("op":"start","id":7,"type":"ProxyStep","parent":6,"step":0)");
  add(proxy, 9, R"("op":"state","id":7,"type":"ProxyStep","state":"RecvWait","transSize":5)");
  add(proxy, 9, R"("op":"start","id":8,"type":"ProxyStep","parent":6,"step":0)");
  add(proxy, 9, R"("op":"state","id":8,"type":"ProxyStep","state":"RecvWait","transSize":5)");
  add(proxy, 9, R"("op":"start","id":9,"type":"KernelCh","parent":5,"ch":0,"pTimer":77)");
  add(proxy, 9, R"("op":"state","id":8,"type":"ProxyStep","state":"RecvGPUWait","transSize":256)");
  add(proxy, 9, R"("op":"stop","id":8,"type":"ProxyStep")");
  add(proxy, 9, R"("op":"stop","id":6,"type":"ProxyOp")");
  add(proxy, 9, R"("op":"state","id":9,"type":"KernelCh","state":"KernelChStop","pTimer":88)");
  add(proxy, 9, R"("op":"stop","id":9,"type":"KernelCh")");
  add(app, 7, R"("op":"finalize")");
  return lines;
}

inline RankRecording OneAllReduce(int64_t t0 = kScriptStartNs, int64_t foreign_pid = 0) {
  RankRecording rank;
  rank.rank = 0;
  for (const std::string& line : OneAllReduceLines(0, t0, foreign_pid)) {
    CHECK(AppendCallback(line, rank).ok());
  }
  return rank;
}

}  // namespace sentinel
