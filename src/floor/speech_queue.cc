#include "floor/speech_queue.h"

#include <algorithm>
#include <tuple>

namespace sentinel {

void SpeechQueue::Add(Sentence sentence) {
  Drop(sentence.incident_id);
  if (items_.size() >= kSentencesMax) {
    auto least = std::min_element(items_.begin(), items_.end(), [](const Item& a, const Item& b) {
      return std::make_tuple(a.sentence.severity, a.order) <
             std::make_tuple(b.sentence.severity, b.order);
    });
    items_.erase(least);
  }
  Item item;
  item.sentence = std::move(sentence);
  item.order = next_order_++;
  items_.push_back(std::move(item));
}

void SpeechQueue::Drop(const std::string& incident_id) {
  std::erase_if(items_, [&](const Item& item) { return item.sentence.incident_id == incident_id; });
}

void SpeechQueue::DropAll() { items_.clear(); }

void SpeechQueue::DropRecoveries() {
  std::erase_if(items_,
                [](const Item& item) { return item.sentence.severity == Severity::kNormal; });
}

std::vector<SpeechOrder> SpeechQueue::Due(Instant now) {
  std::vector<SpeechOrder> orders;
  const Item* next = Next(now);
  if (current_) {
    bool dropped = Find(current_->order) == nullptr;
    bool outranked = next != nullptr && next->sentence.severity == Severity::kP0 &&
                     current_->severity < Severity::kP0;
    if (!dropped && !outranked) return orders;
    orders.push_back(Hush{current_->say_id});
    current_.reset();
    next = Next(now);
  }
  if (next == nullptr) return orders;
  current_ = Current{next_say_id_++, next->order, next->sentence.severity};
  Say say;
  say.id = current_->say_id;
  say.serial = next->sentence.serial;
  say.text = next->sentence.text;
  say.severity = next->sentence.severity;
  say.loudness = next->sentence.loudness;
  orders.push_back(std::move(say));
  return orders;
}

void SpeechQueue::Finished(uint64_t say_id, Instant now) {
  if (!current_ || current_->say_id != say_id) return;  // hushed before
  Item* item = Find(current_->order);
  current_.reset();
  if (item == nullptr) return;
  item->said++;
  item->sentence.not_before = now + kRepeatGap;
  if (item->said >= item->sentence.times) {
    items_.erase(items_.begin() + (item - items_.data()));
  }
}

bool SpeechQueue::Leads(uint64_t serial, Instant now) const {
  const Item* next = Next(now);
  bool interrupts = next != nullptr && current_ && next->sentence.severity == Severity::kP0 &&
                    current_->severity < Severity::kP0;
  if (current_ && !interrupts) {
    for (const Item& item : items_) {
      if (item.order == current_->order) return item.sentence.serial == serial;
    }
  }
  return next != nullptr && next->sentence.serial == serial;
}

const SpeechQueue::Item* SpeechQueue::Next(Instant now) const {
  const Item* best = nullptr;
  auto rank = [](const Item& item) {
    return std::make_tuple(-static_cast<int>(item.sentence.severity), item.said, item.order);
  };
  for (const Item& item : items_) {
    if (item.sentence.not_before > now) continue;
    if (best == nullptr || rank(item) < rank(*best)) best = &item;
  }
  return best;
}

SpeechQueue::Item* SpeechQueue::Find(uint64_t order) {
  for (Item& item : items_) {
    if (item.order == order) return &item;
  }
  return nullptr;
}

}  // namespace sentinel
