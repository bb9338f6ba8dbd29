// Notifications on their way to a lamp, kept until the lamp has answered.
//
// At least once: a notification leaves only with the driver's answer, so a lamp may hear it twice
// and tells them apart by its id. Pure: the caller brings the time and performs what is returned.
//
// Each terminal has its own line, with at most one attempt under way: the most urgent first, of
// those what alarms before what ends an alarm, then in the order of acceptance. A terminal that
// does not answer is tried again with growing pauses, and at once when a new P0 comes for it.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/time.h"
#include "model/incident.h"

namespace sentinel {

struct RetryPolicy {
  // 0.2, 0.5, 1, 2, 4 … 30 s, each ± jitter.
  std::vector<Duration> pauses = {std::chrono::milliseconds(200), std::chrono::milliseconds(500),
                                  std::chrono::seconds(1),        std::chrono::seconds(2),
                                  std::chrono::seconds(4),        std::chrono::seconds(8),
                                  std::chrono::seconds(16),       std::chrono::seconds(30)};
  double jitter = 0.25;
  // After a time-out in which the lamp may have obeyed: again so long after, then given up.
  std::vector<Duration> unconfirmed_pauses = {std::chrono::seconds(10), std::chrono::seconds(60)};
  Duration retry_after_max = std::chrono::minutes(5);     // a lamp cannot ask for more patience
  Duration probe_apart = std::chrono::milliseconds(200);  // between attempts a new P0 brings on
  uint64_t seed = 1;
};

// Waiting notifications of one terminal. Beyond it the least urgent, oldest one is given up; where
// nothing lesser waits, a P0 is kept and it is the newcomer that is refused.
constexpr size_t kOutboxWaitingMax = 4096;

using DeliveryId = uint64_t;

struct Delivery {
  DeliveryId id = 0;
  Notification notification;
  uint32_t attempt = 1;
};

// Why an attempt failed, as far as it matters for what comes next.
enum class DeliveryFailure : uint8_t {
  kRetry,        // not there, not willing, or not able now
  kUnconfirmed,  // sent whole, no answer, and the lamp could not tell a repeat from a new alarm
  kRefused,      // it will never take this message (400, 413)
};

struct DeliveryError {
  DeliveryFailure failure = DeliveryFailure::kRetry;
  std::string message;
  std::optional<Duration> retry_after;  // what it asked for
};

class Outbox {
 public:
  explicit Outbox(RetryPolicy retry);
  // For pauses that begin from here on.
  void Reconfigure(RetryPolicy retry) { retry_ = std::move(retry); }

  // The notification is ours from here on. It supersedes an older one of the same incident and
  // terminal, at once or, if that is under way, when its attempt fails.
  void Accept(Notification notification, Instant now);
  // Nothing more goes to this terminal: what waits for it is given up for that reason, and so is
  // what is under way unless it succeeds.
  void Abandon(const std::string& terminal, const std::string& why);
  // What waits of this incident for this terminal is pointless now.
  void Cancel(const std::string& incident, const std::string& terminal);

  // What to send at `now`. Each delivery is answered once, with Delivered or Failed.
  std::vector<Delivery> Due(Instant now);
  void Delivered(DeliveryId id, Instant now);
  void Failed(DeliveryId id, const DeliveryError& error, Instant now);

  // When to call Due again; nothing if there is nothing to wait for but answers.
  std::optional<Instant> NextWake() const;

  // What became of notifications, each told once, in order.
  struct Outcome {
    std::string message;  // the notification's id
    std::string terminal;
    NotificationState state = NotificationState::kDelivered;
    std::string error;
    bool unconfirmed = false;  // with kFailed: it may have been carried out
    bool shed = false;         // with kFailed: there was no room
    bool refused = false;      // with kFailed: the terminal will not have it
  };
  std::vector<Outcome> TakeOutcomes();

  size_t waiting() const;  // those under way included
  size_t waiting(const std::string& terminal) const;
  uint64_t shed() const { return shed_; }

 private:
  using Key = std::pair<int, uint64_t>;  // rank, the lowest first, then the order of acceptance
  struct Item {
    Notification notification;
    Key key;
    uint32_t attempts = 0;
    size_t unconfirmed = 0;  // attempts that ended so
    Instant not_before;
    bool superseded = false;  // to be dropped unless its running attempt succeeds
  };
  struct Line {
    std::map<Key, Item> waiting;                       // at most one of an incident
    std::unordered_map<std::string, Key> by_incident;  // of those
    std::vector<Item> deferred;                        // unconfirmed, until their time has come
    std::optional<Item> in_flight;
    size_t failures = 0;  // in a row
    Instant not_before;
    std::optional<Instant> last_attempt;
  };

  void Drop(Line* line, const std::string& incident);
  void Wait(Line* line, Item item);
  bool MakeRoom(Line* line, Severity newcomer);
  Item Land(DeliveryId id, Line** line);
  void Finish(const Item& item, NotificationState state, std::string error, bool unconfirmed);
  void Shed(const Item& item);
  Duration Jittered(Duration pause);

  RetryPolicy retry_;
  std::map<std::string, Line> lines_;  // by terminal
  std::map<DeliveryId, std::string> terminal_of_;
  uint64_t next_order_ = 1;
  DeliveryId next_delivery_ = 1;
  uint64_t random_;
  uint64_t shed_ = 0;
  std::vector<Outcome> outcomes_;
};

}  // namespace sentinel
