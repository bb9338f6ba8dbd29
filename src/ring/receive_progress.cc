#include "ring/receive_progress.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

namespace sentinel {
namespace {

class Indexer {
 public:
  explicit Indexer(const RankRecording& rank) : rank_(rank) {}

  ProgressIndex Run() {
    for (size_t i = 0; i < rank_.callbacks.size(); ++i) {
      const Callback& callback = rank_.callbacks[i];
      if (callback.Starts()) {
        OnStart(callback, i);
      } else if (const auto* change = std::get_if<StateChange>(&callback.what)) {
        OnState(callback, *change, i);
      } else if (std::holds_alternative<Stop>(callback.what)) {
        OnStop(callback, i);
      }
    }
    for (const auto& [id, event] : events_) {
      if (event.completion) index_.completions.push_back(*event.completion);
    }
    std::sort(index_.completions.begin(), index_.completions.end());
    return std::move(index_);
  }

 private:
  struct Event {
    CallbackType type = CallbackType::kGroup;
    uint64_t parent = 0;
    bool stopped = false;
    bool is_receive = false;                  // of a ProxyOp
    int steps_started = 0;                    // of a ProxyOp
    int step = 0;                             // of a ProxyStep
    size_t open_children = 0;                 // of an operation: kernels and proxies
    std::optional<size_t> completion;         // of an operation: the callback that left none open
    std::unordered_map<int, int> last_state;  // of a receiving ProxyOp: by step
  };

  void OnStart(const Callback& callback, size_t i) {
    Event event;
    event.type = callback.type;
    event.parent = callback.parent;
    if (callback.type == CallbackType::kColl || callback.type == CallbackType::kP2p) {
      index_.moves.push_back(i);
    } else if (callback.type == CallbackType::kKernelCh) {
      index_.moves.push_back(i);
      TakeUp(callback.parent);
    } else if (const auto* proxy = std::get_if<ProxyOpStart>(&callback.what)) {
      event.is_receive = !proxy->is_send;
      TakeUp(callback.parent);
    } else if (const auto* step = std::get_if<ProxyStepStart>(&callback.what)) {
      event.step = step->step;
      Event* op = Find(callback.parent);
      if (op != nullptr && op->is_receive && step->step >= op->steps_started) {
        op->steps_started = step->step + 1;
        index_.moves.push_back(i);
      }
    }
    events_[callback.id] = std::move(event);
  }

  void OnState(const Callback& callback, const StateChange& change, size_t i) {
    Event* event = Find(callback.id);
    if (event == nullptr) return;
    if (event->type == CallbackType::kKernelCh) index_.moves.push_back(i);
    if (event->type != CallbackType::kProxyStep) return;
    Event* op = Find(event->parent);
    if (op == nullptr || !op->is_receive) return;
    auto [known, first] = op->last_state.try_emplace(event->step, change.state);
    if (!first && known->second == change.state) return;
    known->second = change.state;
    index_.moves.push_back(i);
  }

  void OnStop(const Callback& callback, size_t i) {
    Event* event = Find(callback.id);
    if (event == nullptr || event->stopped) return;
    event->stopped = true;
    if (event->type == CallbackType::kKernelCh) {
      index_.moves.push_back(i);
    } else if (event->type == CallbackType::kProxyStep) {
      const Event* op = Find(event->parent);
      if (op != nullptr && op->is_receive) index_.moves.push_back(i);
    }
    if (event->type == CallbackType::kKernelCh || event->type == CallbackType::kProxyOp) {
      Event* operation = Find(event->parent);
      if (operation == nullptr || operation->open_children == 0) return;
      // A kernel may start after a proxy has finished: the last such moment counts.
      if (--operation->open_children == 0) operation->completion = i;
    }
  }

  void TakeUp(uint64_t operation_id) {
    Event* operation = Find(operation_id);
    if (operation == nullptr) return;
    ++operation->open_children;
    operation->completion.reset();
  }

  Event* Find(uint64_t id) {
    auto found = events_.find(id);
    return found == events_.end() ? nullptr : &found->second;
  }

  const RankRecording& rank_;
  std::unordered_map<uint64_t, Event> events_;
  ProgressIndex index_;
};

}  // namespace

ProgressIndex IndexProgress(const RankRecording& rank) { return Indexer(rank).Run(); }

}  // namespace sentinel
