#include "agent/event_queue.h"

#include <algorithm>

namespace sentinel {
namespace {

// Whether sending the same bytes again could have another outcome.
bool Final(uint32_t status) { return status == 200 || status == 400 || status == 413; }

}  // namespace

EventQueue::EventQueue(EventQueueOptions options, uint64_t first_id)
    : options_(options), next_id_(first_id) {}

Result<uint64_t> EventQueue::Reserve(size_t bytes) const {
  if (events_.size() >= options_.events_max || bytes_ + bytes > options_.bytes_max) {
    return Error{ErrorCode::kExhausted,
                 std::to_string(events_.size()) + " events wait for the gateway"};
  }
  return next_id_;
}

void EventQueue::Add(uint64_t id, std::string body) {
  next_id_ = std::max(next_id_, id + 1);
  bytes_ += body.size();
  events_[id].body = std::move(body);
}

std::vector<SpooledEvent> EventQueue::Due(Instant now) {
  std::vector<SpooledEvent> due;
  if (!connected_) return due;
  size_t in_flight = 0;
  for (auto& [id, entry] : events_) {
    if (entry.in_flight && now >= entry.next) entry.in_flight = false;  // no answer came
    if (entry.in_flight) {
      ++in_flight;
      continue;
    }
    if (in_flight >= options_.in_flight_max) break;
    if (now < entry.next) continue;
    entry.in_flight = true;
    entry.next = now + options_.again_after;
    ++in_flight;
    due.push_back({id, entry.body});
  }
  return due;
}

bool EventQueue::Answered(const EventAck& ack, Instant now) {
  const auto found = events_.find(ack.spool_id);
  if (found == events_.end()) return false;
  if (Final(ack.status)) {
    bytes_ -= found->second.body.size();
    events_.erase(found);
    return true;
  }
  found->second.in_flight = false;
  found->second.next = now + options_.again_after;
  return false;
}

void EventQueue::Connected() { connected_ = true; }

void EventQueue::Disconnected() {
  connected_ = false;
  for (auto& [id, entry] : events_) {
    entry.in_flight = false;
    entry.next = Instant{};
  }
}

}  // namespace sentinel
