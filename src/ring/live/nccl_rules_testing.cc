#include "ring/live/nccl_rules_testing.h"

#include <algorithm>
#include <set>

namespace sentinel {
namespace {

using enum CallbackType;

constexpr int kSendGpuWait = 8, kSendWait = 9, kRecvWait = 10, kRecvFlushWait = 11,
              kRecvGpuWait = 12, kOpInProgress = 19, kSendPeerWait = 20, kKernelStop = 22,
              kGroupStartApiStop = 23, kGroupEndApiStart = 24;

struct Event {
  CallbackType type = kGroup;
  uint64_t parent = 0;
  uint32_t thread = 0;
  bool is_send = false;  // a ProxyOp, or the step of one
  int steps = 0;         // of a ProxyOp
  int next_step = 0;     // of a ProxyOp: the one to begin
  int open_steps = 0;
  int step = 0;  // of a ProxyStep
  bool stopped = false;
  std::vector<int> states;
};

const char* StateName(int state) {
  switch (state) {
    case kSendGpuWait:
      return "SendGPUWait";
    case kSendWait:
      return "SendWait";
    case kRecvWait:
      return "RecvWait";
    case kRecvFlushWait:
      return "RecvFlushWait";
    case kRecvGpuWait:
      return "RecvGPUWait";
    case kSendPeerWait:
      return "SendPeerWait";
    default:
      return "?";
  }
}

bool OnProgressThread(CallbackType type) {
  return type == kProxyOp || type == kProxyStep || type == kKernelCh || type == kProxyCtrl;
}

class Checker {
 public:
  explicit Checker(const RankRecording& rank) : rank_(rank) {}

  std::vector<std::string> Check(bool complete) {
    for (at_ = 0; at_ < rank_.callbacks.size(); ++at_) One(rank_.callbacks[at_]);
    if (complete) {
      for (const auto& [id, event] : events_) {
        if (!event.stopped && event.type != kProxyCtrl)
          Say("event " + std::to_string(id) + " never ends");
        if (event.type == kProxyOp && event.next_step != event.steps) Say("a ProxyOp ends early");
      }
      if (inits_ != finalizes_) Say("not every communicator is finalized");
    }
    return said_;
  }

 private:
  static constexpr size_t kSaidMax = 10;

  void Say(const std::string& what) {
    if (said_.size() < kSaidMax) said_.push_back("callback " + std::to_string(at_) + ": " + what);
  }
  void Expect(bool holds, const std::string& otherwise) {
    if (!holds) Say(otherwise);
  }
  CallbackType TypeOf(uint64_t id) const {
    auto found = events_.find(id);
    return found == events_.end() ? kNetPlugin : found->second.type;  // which nobody has as parent
  }

  void One(const Callback& callback) {
    const std::string thread = callback.thread_name;
    if (std::holds_alternative<InitCall>(callback.what)) {
      ++inits_;
      return;
    }
    if (std::holds_alternative<FinalizeCall>(callback.what)) {
      ++finalizes_;
      return;
    }
    Expect(finalizes_ < inits_, "something happens after the last finalize");
    // A progress thread that has just begun still has its maker's name, "NCCL Service".
    const bool progress = thread.starts_with("NCCL ");
    Expect(progress == OnProgressThread(callback.type), "on the wrong thread: " + thread);
    if (const auto* change = std::get_if<StateChange>(&callback.what)) {
      State(callback, change->state);
    } else if (std::holds_alternative<Stop>(callback.what)) {
      End(callback);
    } else {
      Begin(callback);
    }
  }

  void Begin(const Callback& callback) {
    Event event;
    event.type = callback.type;
    event.parent = callback.parent;
    event.thread = callback.thread;
    const bool rank_told = callback.type == kColl || callback.type == kP2p ||
                           callback.type == kProxyOp || callback.type == kProxyStep;
    Expect(rank_told || callback.rank == 0, "a rank where NCCL leaves 0");
    const CallbackType parent = TypeOf(callback.parent);
    switch (callback.type) {
      case kGroupApi:
        Expect(callback.parent == 0, "GroupApi has a parent");
        group_api_ = callback.id;
        launches_ = 0;
        break;
      case kCollApi:
      case kP2pApi:
        Expect(callback.parent == group_api_ && Has(group_api_, kGroupStartApiStop),
               "a call outside a group");
        Expect(!Has(group_api_, kGroupEndApiStart), "a call after the group's end");
        break;
      case kKernelLaunch:
        Expect(callback.parent == group_api_ && Has(group_api_, kGroupEndApiStart),
               "a launch before the group's end");
        ++launches_;
        break;
      case kGroup:
        Expect(callback.parent == 0 && launches_ > 0, "Group before the launch");
        group_ = callback.id;
        break;
      case kColl: {
        const auto& coll = std::get<CollStart>(callback.what);
        Expect(parent == kCollApi && events_[callback.parent].stopped, "Coll before its call");
        Expect(coll.group == group_, "Coll in another Group");
        Expect(coll.seq == next_seq_[{coll.func, coll.count}]++, "a sequence number out of turn");
        break;
      }
      case kP2p:
        Expect(parent == kP2pApi && events_[callback.parent].stopped, "P2p before its call");
        Expect(std::get<P2pStart>(callback.what).group == group_, "P2p in another Group");
        break;
      case kProxyOp: {
        const auto& op = std::get<ProxyOpStart>(callback.what);
        Expect(parent == kColl || parent == kP2p, "a ProxyOp of nothing");
        event.is_send = op.is_send;
        event.steps = op.steps;
        slots_[callback.id] = parent == kColl ? 4 : 8;
        break;
      }
      case kProxyStep: {
        Event& op = events_[callback.parent];
        const int step = std::get<ProxyStepStart>(callback.what).step;
        Expect(parent == kProxyOp && Has(callback.parent, kOpInProgress), "a step before its op");
        Expect(step == op.next_step && step < op.steps, "a step out of turn");
        ++op.next_step;
        ++op.open_steps;
        Expect(op.open_steps <= slots_[callback.parent], "more steps open than a buffer holds");
        event.is_send = op.is_send;
        event.step = step;
        break;
      }
      case kKernelCh:
        Expect(parent == kColl || parent == kP2p, "a kernel of nothing");
        break;
      case kProxyCtrl:
      case kNetPlugin:
        break;
    }
    events_[callback.id] = std::move(event);
  }

  bool Has(uint64_t id, int state) {
    const std::vector<int>& states = events_[id].states;
    return std::find(states.begin(), states.end(), state) != states.end();
  }

  void State(const Callback& callback, int state) {
    Event& event = events_[callback.id];
    Expect(!event.stopped, "a state after the end");
    if (event.type == kProxyStep) {
      const int last = event.states.empty() ? 0 : event.states.back();
      const bool repeats = last == kSendPeerWait && state == kSendPeerWait;
      const int before = state == kSendPeerWait    ? kSendGpuWait
                         : state == kSendWait      ? kSendPeerWait
                         : state == kRecvFlushWait ? kRecvWait
                         : state == kRecvGpuWait   ? kRecvFlushWait
                                                   : 0;
      Expect(repeats || last == before,
             std::string("a step comes to ") + StateName(state) + " from " + StateName(last));
      const bool of_sends = state == kSendGpuWait || state == kSendWait || state == kSendPeerWait;
      Expect(of_sends == event.is_send, "a state of the other direction");
      if (repeats) return;
    }
    event.states.push_back(state);
  }

  void End(const Callback& callback) {
    Event& event = events_[callback.id];
    Expect(!event.stopped, "a second end");
    event.stopped = true;
    const int last = event.states.empty() ? 0 : event.states.back();
    if (event.type == kProxyStep) {
      Expect(last == (event.is_send ? kSendWait : kRecvGpuWait),
             std::string("a step ends in ") + StateName(last));
      Event& op = events_[event.parent];
      --op.open_steps;
    }
    if (event.type == kProxyOp) Expect(event.open_steps == 0, "a ProxyOp ends before its steps");
    if (event.type == kKernelCh) Expect(last == kKernelStop, "a kernel ends without saying so");
    if (event.type == kGroupApi) Expect(callback.id == group_api_, "groups overlap");
  }

  const RankRecording& rank_;
  size_t at_ = 0;
  std::vector<std::string> said_;
  std::map<uint64_t, Event> events_;
  std::map<uint64_t, int> slots_;
  std::map<std::pair<std::string, uint64_t>, uint64_t>
      next_seq_;  // counts tell communicators apart
  uint64_t group_api_ = 0;
  uint64_t group_ = 0;
  int launches_ = 0;
  int inits_ = 0;
  int finalizes_ = 0;
};

}  // namespace

std::vector<std::string> BreaksOfNcclRules(const RankRecording& rank, bool complete) {
  return Checker(rank).Check(complete);
}

std::optional<OpenOperation> OldestOpen(const RankRecording& rank) {
  struct Side {
    uint64_t coll = 0;
    int channel = 0;
    bool is_send = false;
    int steps = 0;
    std::map<int, std::pair<bool, int>> seen;  // by step: ended, newest state
  };
  std::map<uint64_t, OpenOperation> colls;  // by id, which grows with time
  std::map<uint64_t, Side> sides;           // by id of the ProxyOp
  std::map<uint64_t, std::pair<uint64_t, int>> steps;
  std::map<uint64_t, uint64_t> kernels;  // to their Coll
  std::map<uint64_t, int> kernels_ended;
  std::map<uint64_t, int> channels;
  for (const Callback& callback : rank.callbacks) {
    if (const auto* coll = std::get_if<CollStart>(&callback.what)) {
      colls[callback.id].func = coll->func;
      colls[callback.id].seq = coll->seq;
      channels[callback.id] = coll->channels;
    } else if (const auto* op = std::get_if<ProxyOpStart>(&callback.what)) {
      if (!colls.contains(callback.parent)) continue;
      colls[callback.parent].proxies = true;
      sides[callback.id] = {callback.parent, op->channel, op->is_send, op->steps, {}};
    } else if (const auto* step = std::get_if<ProxyStepStart>(&callback.what)) {
      if (!sides.contains(callback.parent)) continue;
      steps[callback.id] = {callback.parent, step->step};
      sides[callback.parent].seen[step->step] = {false, 0};
    } else if (std::holds_alternative<KernelChStart>(callback.what)) {
      if (!colls.contains(callback.parent)) continue;
      colls[callback.parent].kernel = true;
      kernels[callback.id] = callback.parent;
    } else if (const auto* change = std::get_if<StateChange>(&callback.what)) {
      if (auto found = steps.find(callback.id); found != steps.end()) {
        sides[found->second.first].seen[found->second.second].second = change->state;
      }
    } else if (std::holds_alternative<Stop>(callback.what)) {
      if (auto found = steps.find(callback.id); found != steps.end()) {
        sides[found->second.first].seen[found->second.second].first = true;
      }
      if (auto found = kernels.find(callback.id); found != kernels.end()) {
        ++kernels_ended[found->second];
      }
    }
  }
  for (auto& [id, coll] : colls) {
    if (kernels_ended[id] == channels[id]) continue;
    for (const auto& [op, side] : sides) {
      if (side.coll != id) continue;
      Standstill standstill;
      while (side.seen.contains(standstill.step) && side.seen.at(standstill.step).first) {
        ++standstill.step;
      }
      const auto first = side.seen.find(standstill.step);
      standstill.state = first == side.seen.end() ? "-" : StateName(first->second.second);
      for (const auto& [step, seen] : side.seen) standstill.open += seen.first ? 0 : 1;
      (side.is_send ? coll.send : coll.receive)[side.channel] = standstill;
    }
    return coll;
  }
  return std::nullopt;
}

}  // namespace sentinel
