// What a terminal and a gateway say to each other beside alarms: a body is tried as each of a
// press, a ping, its answer and a clock, and ends in a value within its bounds or in words.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "wire/talk_json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sentinel;
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  const Result<PressBody> press = ParsePress(body);
  CHECK(press.ok() ? press->incidents.size() <= kPressIncidentsMax
                   : !press.error().message.empty());

  const PingBody ping = ParsePing(body);
  if (ping.muted_for) CHECK(*ping.muted_for >= Duration(0) && *ping.muted_for <= kMutedForMax);
  if (ping.hush) CHECK(ping.muted_for && *ping.muted_for > Duration(0));

  const Result<std::string> boot_id = ParsePong(body);
  CHECK(boot_id.ok() ? !boot_id->empty() && boot_id->size() <= kBootIdBytesMax
                     : !boot_id.error().message.empty());

  const Result<TimeAnswer> answer = ParseTimeAnswer(body);
  if (answer.ok()) {
    // What is a clock is an answer to a ping, too, of the same life.
    CHECK(boot_id.ok() && *boot_id == answer->boot_id);
    CHECK(answer->since_epoch.count() >= 0);
    CHECK(answer->since_epoch < std::chrono::hours(24) * 366 * 8030);
  } else {
    CHECK(!answer.error().message.empty());
  }
  return 0;
}
