#include "ctl/hand_views.h"

#include <nlohmann/json.hpp>

#include "ctl/json_fields.h"
#include "ctl/table.h"

namespace sentinel {
namespace {

using Json = nlohmann::json;

std::string Line(const std::string& words, Paint paint, const ViewStyle& style) {
  return Painted(words, paint, style.colour) + '\n';
}

}  // namespace

std::string AckView(const Json& answer, const ViewStyle& style) {
  const Json& incidents = List(answer, "incidents");
  if (incidents.empty()) return Line("nothing is open there", Paint::kNone, style);
  std::string words = "acknowledged " + Text(answer, "acknowledged") + " of";
  for (const Json& id : incidents) {
    if (id.is_string()) words += ' ' + id.get<std::string>();
  }
  return Line(words, Paint::kGreen, style);
}

std::string MuteView(const Json& answer, const ViewStyle& style) {
  return Line(Text(answer, "terminal") + " is muted until " +
                  ShortTime(Text(answer, "muted_until_at")) + " UTC",
              Paint::kYellow, style);
}

std::string UnmuteView(const Json& answer, const ViewStyle& style) {
  const bool was_muted = Field(answer, "was_muted") == true;
  return Line(Text(answer, "terminal") +
                  (was_muted ? " is not muted any more" : " was not muted, as far as we know"),
              Paint::kGreen, style);
}

std::string TestView(const Json& answer, const ViewStyle& style) {
  const std::string what = Text(answer, "what");
  std::string words = Text(answer, "terminal") + " has taken the test of its " +
                      (what == "speech" ? "voice" : what) + " after " +
                      Text(answer, "delivered_ms") + " ms";
  const std::string muted = Text(answer, "muted_until_at");
  if (what != "speech" || muted.empty()) return Line(words, Paint::kGreen, style);
  words += "; it is muted until " + ShortTime(muted) + " UTC and says nothing";
  return Line(words, Paint::kYellow, style);
}

}  // namespace sentinel
