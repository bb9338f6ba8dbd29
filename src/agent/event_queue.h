// Events that came in on the agent's own socket, on their way to the gateway: kept until it has
// answered.
//
// At least once, in order: an event leaves after an answer that another try would not change. Pure;
// what it holds is also on disk, by whoever owns it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/agent_message.h"

namespace sentinel {

struct EventQueueOptions {
  size_t events_max = 1024;
  size_t bytes_max = 4u << 20;
  size_t in_flight_max = 32;
  Duration again_after = std::chrono::seconds(5);  // an answer that said "later", or none at all
};

class EventQueue {
 public:
  // Ids rise from `first_id` on; they must not repeat over restarts while the gateway remembers
  // them.
  EventQueue(EventQueueOptions options, uint64_t first_id);

  // The id it will have. kExhausted if there is no room: the sender is told to come again.
  Result<uint64_t> Reserve(size_t bytes) const;
  // Takes over the event of that reservation, or one left by an earlier run.
  void Add(uint64_t id, std::string body);

  // What to send at `now`, oldest first. Nothing while there is no connection.
  std::vector<SpooledEvent> Due(Instant now);
  // True if the event is done with: take it off the disk.
  bool Answered(const EventAck& ack, Instant now);

  void Connected();
  void Disconnected();

  size_t size() const { return events_.size(); }

 private:
  struct Entry {
    std::string body;
    bool in_flight = false;
    Instant next;
  };

  EventQueueOptions options_;
  std::map<uint64_t, Entry> events_;
  size_t bytes_ = 0;
  uint64_t next_id_;
  bool connected_ = false;
};

}  // namespace sentinel
