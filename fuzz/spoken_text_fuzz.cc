// Names and sentences that strangers wrote: what is made of them for people is valid, bounded and
// the same when it is made fit once more; whatever is spoken or drawn ends.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "floor/matrix_text.h"
#include "incident/speech_text.h"
#include "speech/runs.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sentinel;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string clean = Sanitise(text, kSpokenFieldMax);
  CHECK(clean.size() <= 4 * kSpokenFieldMax);
  CHECK(clean.find_first_of("[]\r\n\t") == std::string::npos);
  CHECK(Sanitise(clean, kSpokenFieldMax) == clean);
  CHECK(SpokenRack(text).size() <= 4 * kSpokenFieldMax);
  const std::string host = CleanHost(text);
  CHECK(Sanitise(host, kSpokenHostMax) == host);
  CHECK(IdentityHost(IdentityHost(text)).size() <= text.size());
  SpeechFields fields;
  fields.host = clean;
  // A template is the site's own; one that is accepted can be filled in.
  if (CheckTemplate(text).ok()) static_cast<void>(FillIn(text, fields));
  const std::vector<SpeechRun> runs = SplitRuns(text);
  CHECK(runs.size() <= kRunsMax);
  static_cast<void>(SpokenText(runs));
  const std::string drawn = MatrixText(text);
  CHECK(drawn.size() <= kMatrixTextMax);
  const TextStrip strip(drawn);
  CHECK(strip.empty() == drawn.empty());
  return 0;
}
