// GET /api/v1/status as JSON (docs/formats/terminal.md).
#pragma once

#include <optional>
#include <string>

#include "base/time.h"
#include "floor/floor.h"
#include "terminal/announcer.h"
#include "terminal/config.h"
#include "terminal/gateway_link.h"
#include "terminal/history.h"

namespace sentinel {

struct StatusView {
  const TerminalConfig& config;
  const std::string& boot_id;
  Moment started;
  Moment now;
  const Floor& floor;
  const History& history;
  const Announcer& announcer;
  const GatewayLink* link;  // none: no gateway is configured
  const std::string& light_trouble;
};

enum class StatusExtent {
  kState,  // what a page shows; equal strings mean that nothing changed
  kFull,   // with clocks and the history
};

std::string WriteStatus(const StatusView& view, StatusExtent extent);

// When the mute of a floor ends, in civil time.
std::optional<WallTime> MuteEnd(const Floor& floor, Moment now);

}  // namespace sentinel
