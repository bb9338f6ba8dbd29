#include "ctl/policy_views.h"

#include <nlohmann/json.hpp>

#include "base/length.h"
#include "ctl/json_fields.h"
#include "ctl/table.h"

namespace sentinel {
namespace {

using Json = nlohmann::json;

std::string Line(const std::string& words, Paint paint, const ViewStyle& style) {
  return Painted(words, paint, style.colour) + '\n';
}

std::string MatcherWords(const Json& silence) {
  const Json& matcher = Field(silence, "matcher");
  std::string words;
  for (const char* field : {"host", "rack", "type", "job"}) {
    const std::string value = Text(matcher, field);
    if (!value.empty()) words += (words.empty() ? "" : " ") + std::string(field) + '=' + value;
  }
  return words;
}

std::string EndOf(const Json& silence) {
  const std::string expires = Text(silence, "expires_at");
  return expires.empty() ? "taken back" : ShortTime(expires);
}

Paint PaintOfPhase(const std::string& phase) {
  if (phase == "active") return Paint::kYellow;
  return phase == "over" ? Paint::kDim : Paint::kNone;
}

std::string Pair(const char* name, const std::string& value, Paint paint, const ViewStyle& style) {
  if (value.empty()) return "";
  std::string label = name;
  label.resize(10, ' ');
  return Painted(label, Paint::kDim, style.colour) + Line(value, paint, style);
}

}  // namespace

std::string SilencesView(const Json& answer, const ViewStyle& style) {
  Table table({"ID", "PHASE", "WHAT", "NODE", "FROM", "UNTIL", "BY", "COMMENT"});
  for (const Json& silence : List(answer, "silences")) {
    const std::string phase = Text(silence, "phase");
    table.Add({{Text(silence, "id"), {}},
               {phase, PaintOfPhase(phase)},
               {MatcherWords(silence), {}},
               {Text(silence, "node_state"), {}},
               {ShortTime(Text(silence, "starts_at")), {}},
               {EndOf(silence), {}},
               {Text(silence, "author"), {}},
               {Text(silence, "comment"), {}}});
  }
  return table.Print(style.colour, "nothing is silenced");
}

std::string SilenceView(const Json& silence, const ViewStyle& style) {
  return Line("silence " + Text(silence, "id") + " for " + MatcherWords(silence) + ", until " +
                  EndOf(silence),
              Paint::kYellow, style);
}

std::string ExpiredView(const Json& answer, const ViewStyle& style) {
  return Line("silence " + Text(answer, "expired") + " is over", Paint::kGreen, style);
}

std::string NodeView(const Json& answer, const ViewStyle& style) {
  const std::string state = Text(answer, "state");
  return Line(Text(answer, "host") + " is " + state,
              state == "in-service" ? Paint::kGreen : Paint::kYellow, style);
}

std::string AuditView(const Json& answer, const ViewStyle& style) {
  Table table({"AT", "BY", "FROM", "DID", "TO", "DETAIL"});
  for (const Json& line : List(answer, "audit")) {
    table.Add({{ShortTime(Text(line, "at")), {}},
               {Text(line, "by"), {}},
               {Text(line, "from"), {}},
               {Text(line, "action"), {}},
               {Text(line, "subject"), {}},
               {Text(line, "detail"), {}}});
  }
  return table.Print(style.colour, "nobody has done anything yet");
}

std::string RouteTestView(const Json& answer, const ViewStyle& style) {
  const std::string level = Text(answer, "severity");
  const Paint loud = level == "P0" ? Paint::kRed : level == "P1" ? Paint::kYellow : Paint::kNone;
  std::string out = Pair("event", Text(answer, "event_type"), Paint::kNone, style);
  out += Pair("level", level + ", " + Text(answer, "severity_why"), loud, style);
  std::string what = Text(answer, "what");
  if (const std::string incident = Text(answer, "incident"); !incident.empty()) {
    what += " (incident " + incident + ')';
  }
  out += Pair("result", what, Paint::kNone, style);
  out += Pair("identity", Text(answer, "identity"), Paint::kNone, style);
  if (const Json& window = Field(answer, "debounce_ms"); window.is_number_integer()) {
    out += Pair("debounce", FormatLength(std::chrono::milliseconds(window.get<int64_t>())),
                Paint::kNone, style);
  }
  if (const Json& quiet = Field(answer, "quiet"); quiet.is_object()) {
    out += Pair("quiet", Text(quiet, "reason") + ' ' + Text(quiet, "by"), Paint::kYellow, style);
  }
  out += Pair("text", Text(answer, "text"), Paint::kNone, style);
  Table table({"TERMINAL", "LIGHT", "VOICE", "WINDOW MS LEFT", "WHY", "VOICE WHY"});
  for (const Json& terminal : List(answer, "terminals")) {
    const bool light = Field(terminal, "light") == true;
    const bool voice = Field(terminal, "voice") == true;
    table.Add({{Text(terminal, "name"), {}},
               {light ? "yes" : "no", light ? loud : Paint::kDim},
               {voice ? "yes" : "no", voice ? loud : Paint::kDim},
               {Text(terminal, "debounce_left_ms"), {}},
               {Text(terminal, "why"), {}},
               {Text(terminal, "voice_why"), {}}});
  }
  return out + '\n' + table.Print(style.colour, "no terminal would be told");
}

}  // namespace sentinel
