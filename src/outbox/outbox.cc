#include "outbox/outbox.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace sentinel {
namespace {

// Of two that are as urgent, the one that tells of something new goes before the one that ends
// something or says what somebody did about it: after a restart there may be thousands of those.
int RankOf(const Notification& notification) {
  return -(2 * static_cast<int>(notification.urgency) + (IsAlarm(notification.reason) ? 1 : 0));
}

Severity UrgencyOf(int rank) { return static_cast<Severity>(-rank / 2); }

}  // namespace

Outbox::Outbox(RetryPolicy retry) : retry_(std::move(retry)), random_(retry_.seed) {}

void Outbox::Accept(Notification notification, Instant now) {
  Line& line = lines_[notification.terminal];
  Drop(&line, notification.incident);
  Item item;
  item.key = {RankOf(notification), next_order_++};
  item.notification = std::move(notification);
  Severity urgency = item.notification.urgency;
  if (!MakeRoom(&line, urgency)) {
    Shed(item);
    return;
  }
  if (urgency == Severity::kP0 && line.not_before > now) {
    // Bad news is worth another look at a terminal that did not answer a moment ago.
    Instant probe = line.last_attempt ? *line.last_attempt + retry_.probe_apart : now;
    line.not_before = std::min(line.not_before, std::max(now, probe));
  }
  Wait(&line, std::move(item));
}

void Outbox::Wait(Line* line, Item item) {
  line->by_incident[item.notification.incident] = item.key;
  Key key = item.key;
  line->waiting.emplace(key, std::move(item));
}

void Outbox::Cancel(const std::string& incident, const std::string& terminal) {
  auto found = lines_.find(terminal);
  if (found != lines_.end()) Drop(&found->second, incident);
}

void Outbox::Abandon(const std::string& terminal, const std::string& why) {
  auto found = lines_.find(terminal);
  if (found == lines_.end()) return;
  Line& line = found->second;
  if (line.in_flight) line.in_flight->superseded = true;
  for (const auto& [key, item] : line.waiting) Finish(item, NotificationState::kFailed, why, false);
  for (const Item& item : line.deferred) Finish(item, NotificationState::kFailed, why, false);
  line.waiting.clear();
  line.by_incident.clear();
  line.deferred.clear();
}

void Outbox::Drop(Line* line, const std::string& incident) {
  if (line->in_flight && line->in_flight->notification.incident == incident) {
    line->in_flight->superseded = true;
  }
  auto waiting = line->by_incident.find(incident);
  if (waiting != line->by_incident.end()) {
    auto item = line->waiting.find(waiting->second);
    Finish(item->second, NotificationState::kSuperseded, "", false);
    line->waiting.erase(item);
    line->by_incident.erase(waiting);
  }
  for (auto it = line->deferred.begin(); it != line->deferred.end();) {
    if (it->notification.incident == incident) {
      Finish(*it, NotificationState::kSuperseded, "", false);
      it = line->deferred.erase(it);
    } else {
      ++it;
    }
  }
}

bool Outbox::MakeRoom(Line* line, Severity newcomer) {
  if (line->waiting.size() < kOutboxWaitingMax) return true;
  int least = line->waiting.rbegin()->first.first;
  if (UrgencyOf(least) == Severity::kP0 || UrgencyOf(least) > newcomer) return false;
  auto oldest = line->waiting.lower_bound({least, 0});
  Shed(oldest->second);
  line->by_incident.erase(oldest->second.notification.incident);
  line->waiting.erase(oldest);
  return true;
}

std::vector<Delivery> Outbox::Due(Instant now) {
  std::vector<Delivery> due;
  for (auto& [terminal, line] : lines_) {
    if (line.in_flight || line.not_before > now) continue;
    for (auto it = line.deferred.begin(); it != line.deferred.end();) {
      if (it->not_before > now) {
        ++it;
        continue;
      }
      Wait(&line, std::move(*it));
      it = line.deferred.erase(it);
    }
    if (line.waiting.empty()) continue;
    auto first = line.waiting.begin();
    line.in_flight = std::move(first->second);
    line.by_incident.erase(line.in_flight->notification.incident);
    line.waiting.erase(first);
    line.last_attempt = now;
    DeliveryId id = next_delivery_++;
    terminal_of_[id] = terminal;
    due.push_back({id, line.in_flight->notification, ++line.in_flight->attempts});
  }
  return due;
}

// Takes the attempt's item off the line.
Outbox::Item Outbox::Land(DeliveryId id, Line** line) {
  auto found = terminal_of_.find(id);
  CHECK(found != terminal_of_.end());
  *line = &lines_[found->second];
  terminal_of_.erase(found);
  CHECK((*line)->in_flight.has_value());
  Item item = std::move(*(*line)->in_flight);
  (*line)->in_flight.reset();
  return item;
}

void Outbox::Delivered(DeliveryId id, Instant now) {
  Line* line = nullptr;
  Item item = Land(id, &line);
  line->failures = 0;
  line->not_before = now;
  Finish(item, NotificationState::kDelivered, "", false);
}

void Outbox::Failed(DeliveryId id, const DeliveryError& error, Instant now) {
  Line* line = nullptr;
  Item item = Land(id, &line);
  bool refused = error.failure == DeliveryFailure::kRefused;
  if (refused) {
    // It answered: the line is good, this message is not.
    line->failures = 0;
    line->not_before = now;
  } else {
    size_t step = std::min(line->failures++, retry_.pauses.size() - 1);
    Duration pause = Jittered(retry_.pauses[step]);
    if (error.retry_after) {
      pause = std::max(pause, std::min(*error.retry_after, retry_.retry_after_max));
    }
    line->not_before = now + pause;
  }

  if (item.superseded) {
    Finish(item, NotificationState::kSuperseded, error.message, false);
  } else if (refused) {
    Finish(item, NotificationState::kFailed, error.message, false);
    outcomes_.back().refused = true;
  } else if (error.failure == DeliveryFailure::kUnconfirmed) {
    if (item.unconfirmed >= retry_.unconfirmed_pauses.size()) {
      Finish(item, NotificationState::kFailed, error.message, true);
      return;
    }
    item.not_before = now + retry_.unconfirmed_pauses[item.unconfirmed++];
    line->deferred.push_back(std::move(item));
  } else {
    Wait(line, std::move(item));
  }
}

std::optional<Instant> Outbox::NextWake() const {
  std::optional<Instant> wake;
  for (const auto& [terminal, line] : lines_) {
    if (line.in_flight) continue;
    std::optional<Instant> first;
    if (!line.waiting.empty()) first = line.not_before;
    for (const Item& item : line.deferred) {
      Instant at = std::max(item.not_before, line.not_before);
      if (!first || at < *first) first = at;
    }
    if (first && (!wake || *first < *wake)) wake = first;
  }
  return wake;
}

void Outbox::Finish(const Item& item, NotificationState state, std::string error,
                    bool unconfirmed) {
  outcomes_.push_back({item.notification.id, item.notification.terminal, state, std::move(error),
                       unconfirmed, false, false});
}

void Outbox::Shed(const Item& item) {
  ++shed_;
  outcomes_.push_back({item.notification.id, item.notification.terminal, NotificationState::kFailed,
                       "the outbox of this terminal is full", false, true, false});
}

std::vector<Outbox::Outcome> Outbox::TakeOutcomes() { return std::exchange(outcomes_, {}); }

size_t Outbox::waiting() const {
  size_t count = 0;
  for (const auto& [terminal, line] : lines_) count += waiting(terminal);
  return count;
}

size_t Outbox::waiting(const std::string& terminal) const {
  auto found = lines_.find(terminal);
  if (found == lines_.end()) return 0;
  const Line& line = found->second;
  return line.waiting.size() + line.deferred.size() + (line.in_flight ? 1 : 0);
}

// SplitMix64: the same seed, the same pauses.
Duration Outbox::Jittered(Duration pause) {
  random_ += 0x9E3779B97F4A7C15;
  uint64_t z = random_;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  z ^= z >> 31;
  double unit = static_cast<double>(z >> 11) / static_cast<double>(uint64_t{1} << 53);
  double factor = 1.0 + retry_.jitter * (2.0 * unit - 1.0);
  return Duration(static_cast<int64_t>(static_cast<double>(pause.count()) * factor));
}

}  // namespace sentinel
