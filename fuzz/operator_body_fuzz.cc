// Bodies of operators' requests: reading one ends in a value within its bounds or in words, and a
// silence that is taken can be shown and read again.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "gateway/body_reader.h"
#include "web/silence_json.h"

namespace {

using namespace sentinel;

constexpr WallTime kNow{std::chrono::seconds(1795996334)};

void ReadBody(std::string_view body) {
  Result<BodyReader> reader = BodyReader::Parse(body);
  if (!reader.ok()) {
    CHECK(!reader.error().message.empty());
    return;
  }
  std::string terminal;
  std::vector<std::string> incidents;
  bool all = false;
  std::optional<Duration> length;
  std::optional<WallTime> at;
  reader->Text("terminal", &terminal);
  reader->Texts("incidents", &incidents);
  reader->Flag("all", &all);
  reader->Millis("for_ms", 1000, 900'000, &length);
  reader->At("at", &at);
  const Status finished = reader->Finish();
  if (!finished.ok()) {
    CHECK(!finished.error().message.empty());
    return;
  }
  CHECK(terminal.size() <= kBodyTextBytesMax && incidents.size() <= kBodyListMax);
  if (length) CHECK(*length >= std::chrono::seconds(1) && *length <= std::chrono::minutes(15));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  ReadBody(body);
  const Result<Silence> silence = ParseSilence(body, kNow);
  if (!silence.ok()) {
    CHECK(!silence.error().message.empty());
    return 0;
  }
  const Result<Silence> again = ParseSilence(SilenceJson(*silence, SilencePhase::kPending), kNow);
  CHECK(again.ok());
  CHECK(again->matcher == silence->matcher && again->state == silence->state);
  return 0;
}
