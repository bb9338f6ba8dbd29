// Lamp messages: whatever is accepted is within its bounds and reads back the same.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "signature/signature_v1.h"
#include "wire/terminal_json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view body(reinterpret_cast<const char*>(data), size);
  sentinel::WallTime now{std::chrono::seconds(1795996334)};
  // Whatever the signature holds, it is not ours.
  CHECK(!sentinel::VerifyV1("secret", "1795996334", body, body, now).ok());
  sentinel::Result<sentinel::TerminalMessage> message = sentinel::ParseTerminalMessage(body);
  if (!message.ok()) {
    CHECK(!message.error().message.empty());
    return 0;
  }
  CHECK(message->text.size() <= 4096);
  int least = message->audio_mode == sentinel::AudioMode::kOff ? 0 : 1;
  CHECK(message->repeat_times >= least && message->repeat_times <= 100);
  std::string written = sentinel::WriteTerminalMessage(*message);
  sentinel::Result<sentinel::TerminalMessage> again = sentinel::ParseTerminalMessage(written);
  CHECK(again.ok());
  CHECK(*again == *message);
  return 0;
}
