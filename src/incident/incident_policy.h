// What a site decides of its incidents, and what of them nobody decides: the windows, leases and
// pauses by which the book of incidents goes.
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "base/time.h"
#include "incident/event_table.h"
#include "incident/quiet_hours.h"
#include "incident/ring_rule.h"

namespace sentinel {

struct IncidentPolicy {
  Duration debounce = std::chrono::seconds(120);
  Duration lease = std::chrono::minutes(10);  // of a sender that never says `resolved`
  Duration voice_hold = std::chrono::seconds(10);
  // A job that stood still has recovered when it has moved for so long; while it is suspected to
  // stand still again that is open, but not for longer than kRecoveryHoldMax.
  Duration recovery_hold = std::chrono::seconds(1);
  // A source that fires again so soon after its end reopens its incident.
  Duration reopen_within = std::chrono::seconds(30);
  Duration retry_failed_after = std::chrono::seconds(10);  // a repeat may ring again so long after
                                                           // a delivery was given up
  // A P0 that nobody acknowledges rings again so long after it was first delivered, then regularly.
  std::vector<Duration> repeat_after = {std::chrono::minutes(5), std::chrono::minutes(15)};
  Duration repeat_every = std::chrono::minutes(60);
  // After a press of the button the terminal is silent for so long; a new P0 is heard once, and no
  // more than one in mute_break_gap.
  Duration mute = std::chrono::minutes(15);
  Duration mute_break_gap = std::chrono::minutes(1);
  bool strict_mute = false;  // not even a new P0
  // Cards of one host with the same fault within so long are one sentence.
  Duration cards_together = std::chrono::seconds(1);
  // Only P0 is spoken then; what is left is told when they end. None: every hour is loud.
  std::optional<QuietHours> quiet;
  Language language = Language::kChinese;
  EventTable table;
  // What a host that was down has hidden is told so long after it is back, unless it has ended.
  Duration host_back_grace = std::chrono::seconds(30);
  RingRule ring;  // whose hang may ring; that of others is a NOTICE
};

constexpr Duration kRecoveryHoldMax = std::chrono::seconds(10);
// The terminal that was pressed ends its mute by itself: the reminder comes this much later, so
// that it is not taken for one more thing to be silent about.
constexpr Duration kMuteMargin = std::chrono::seconds(1);
// By so much the clocks of a terminal and ours may differ without a press being taken for old.
constexpr Duration kPressClockSlack = std::chrono::minutes(1);

}  // namespace sentinel
