#include "correlate/tree_judge.h"

#include "correlate/edge_states.h"

namespace sentinel {

Finding JudgeByGuilt(const Scene& scene) {
  Finding f;
  f.op = scene.op;
  std::vector<Rank> not_entered, proxy, not_started, flush, gpu;
  bool unknown = false;
  for (const Scene::Seat& seat : scene.seats()) {
    switch (scene.StandingOf(seat)) {
      case Standing::kMissing:
        unknown = true;
        if (f.missing.size() <= kSuspectsMax) f.missing.push_back(seat.rank);
        continue;
      case Standing::kNotEntered:
        if (not_entered.size() <= kSuspectsMax) not_entered.push_back(seat.rank);
        continue;
      case Standing::kFinished:
        continue;
      case Standing::kEnqueued:
      case Standing::kInside:
        break;
    }
    const Digest& d = seat.report->digest();
    if (d.edges.empty()) {
      if (d.phase == Phase::kEnqueued && proxy.size() <= kSuspectsMax) proxy.push_back(seat.rank);
      continue;
    }
    bool starved = false;
    bool delivered = false;
    bool sends_held = false;
    for (const EdgeProgress& e : d.edges) {
      starved |= WaitsForSender(e);
      delivered |= e.done < e.steps && e.state == StepState::kRecvGpuWait;
      sends_held |= e.direction == Direction::kSend && e.done < e.steps && HandedToNic(e);
      if (e.done < e.steps && e.state == StepState::kRecvFlushWait) AddOnce(&flush, seat.rank);
    }
    if (!delivered) continue;
    if (GpuClass(d) == HangClass::kGpuNotStarted) {
      AddOnce(&not_started, seat.rank);
    } else if (!starved && !sends_held) {
      AddOnce(&gpu, seat.rank);
    }
  }
  const auto settle = [&f](HangClass hang_class, const std::vector<Rank>& ranks) {
    f.hang_class = hang_class;
    if (ranks.size() == 1) {
      f.rank = ranks.front();
    } else {
      f.suspects = ranks;
    }
  };
  if (!not_entered.empty()) {
    settle(HangClass::kNotEntered, not_entered);
  } else if (!proxy.empty()) {
    settle(HangClass::kProxyStuck, proxy);
  } else if (!not_started.empty()) {
    settle(HangClass::kGpuNotStarted, not_started);
  } else if (std::vector<Edge> guilty = GuiltyEdges(scene); !guilty.empty()) {
    f.hang_class = HangClass::kNetwork;
    f.edges = {guilty.front()};
    f.waiter = guilty.front().to;
    ShareEdges(scene, &f);
  } else if (!flush.empty()) {
    settle(HangClass::kPcie, flush);
  } else if (!gpu.empty() && !unknown) {
    settle(HangClass::kGpuStuck, gpu);
  } else if (unknown) {
    f.suspects = f.missing;
  }
  return f;
}

}  // namespace sentinel
