// What the answer of a terminal or another receiver, or its silence, means for the message. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "http/client.h"

namespace sentinel {

enum class TerminalKind : uint8_t {
  kSentinel,  // ours: knows a message by its id, so saying it again is safe
  kPlain,     // knows only the five fields and the four headers; every message is a new one to it
};

enum class SendOutcome : uint8_t {
  kDelivered,    // 200: carried out
  kRejected,     // it will never take this message
  kRefused,      // 401, 403: not our key, or not our time; never final
  kUnavailable,  // not there, not able, or not now
  kUnconfirmed,  // a plain one got it whole and did not say 200: it may be shouting already
};
std::string_view SendOutcomeName(SendOutcome outcome);

struct SendResult {
  SendOutcome outcome = SendOutcome::kUnavailable;
  int status = 0;                       // of HTTP; 0: there was no answer
  std::optional<Duration> retry_after;  // what it asked for
  std::string error;                    // in words; empty if delivered
  Duration elapsed{0};
};

// Of an answer no more is read.
inline constexpr size_t kAnswerBytesMax = 64 * 1024;

SendResult JudgeAnswer(const HttpOutcome& outcome, TerminalKind kind);
// Of a receiver that knows a message by its id: every 2xx is success, everything else is not (a
// redirect is not followed), and nothing is ever "unconfirmed". What it answers with is the status,
// whatever becomes of the words behind it.
SendResult JudgeReceiver(const HttpOutcome& outcome);

}  // namespace sentinel
