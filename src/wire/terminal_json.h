// send_msg bodies (shared contract, section 4). Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "model/terminal_message.h"

namespace sentinel {

// Fields in the contract's order, no spaces: the bytes that are signed.
std::string WriteTerminalMessage(const TerminalMessage& message);

// kInvalidArgument for anything else, repeat_times outside 1..100 (0 where the audio is off) and
// text over 4096 bytes included. All five fields are needed, in any order; others are passed over,
// so that a later sender's alarm is not lost.
Result<TerminalMessage> ParseTerminalMessage(std::string_view body);

// "#RRGGBB"
std::string ColorHex(Color color);
Result<Color> ParseColor(std::string_view text);

}  // namespace sentinel
