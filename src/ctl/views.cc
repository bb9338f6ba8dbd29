#include "ctl/views.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "ctl/json_fields.h"
#include "ctl/table.h"

namespace sentinel {
namespace {

using Json = nlohmann::json;

Paint PaintOf(const Json& incident) {
  if (Text(incident, "state") == "closed") return Paint::kDim;
  const std::string severity = Text(incident, "severity");
  if (severity == "P0") return Paint::kRed;
  return severity == "P1" ? Paint::kYellow : Paint::kNone;
}

// Its rank in the job, where that is known; else in its communicator.
std::string JobsRank(const Json& who) {
  const std::string rank = Text(who, "job_rank");
  return rank.empty() ? Text(who, "rank") : rank;
}

std::string Place(const Json& incident) {
  const Json& culprit = Field(incident, "culprit");
  std::string place;
  auto add = [&place](const std::string& word, const char* what) {
    if (word.empty()) return;
    if (!place.empty()) place += ' ';
    place += what + word;
  };
  add(Text(culprit, "rack"), "");
  add(Text(culprit, "host"), "");
  add(Text(culprit, "gpu"), "gpu ");
  add(Text(culprit, "nic"), "");
  add(JobsRank(culprit), "rank ");
  if (!place.empty()) return place;
  std::string one_of;
  for (const Json& suspect : List(incident, "suspects")) {
    one_of += (one_of.empty() ? "one of rank " : ", ") + JobsRank(suspect);
  }
  return one_of;
}

std::string What(const Json& incident) {
  const std::string hang_class = Text(incident, "class");
  const std::string type = Text(incident, "event_type");
  return hang_class.empty() ? type : type + '/' + hang_class;
}

std::string Since(const Json& incident) {
  for (const char* time : {"opened_at", "suspected_at", "last_seen_at"}) {
    if (const std::string at = Text(incident, time); !at.empty()) return ShortTime(at);
  }
  return "";
}

Cell Yes(const Json& object, const char* name, const char* yes, const char* no) {
  const bool is = Field(object, name) == true;
  return {is ? yes : no, is ? Paint::kGreen : Paint::kRed};
}

}  // namespace

std::string IncidentsView(const Json& answer, const ViewStyle& style) {
  Table table({"ID", "SINCE", "LEVEL", "STATE", "WHAT", "WHERE", "COUNT"});
  for (const Json& incident : List(answer, "incidents")) {
    const Paint paint = PaintOf(incident);
    table.Add({{Text(incident, "id"), Paint::kNone},
               {Since(incident), Paint::kNone},
               {Text(incident, "severity"), paint},
               {Text(incident, "state"), paint},
               {What(incident), Paint::kNone},
               {Place(incident), Paint::kNone},
               {Text(incident, "count"), Paint::kNone}});
  }
  return table.Print(style.colour, "no incidents");
}

std::string IncidentView(const Json& incident, const ViewStyle& style) {
  std::string out = IncidentsView({{"incidents", Json::array({incident})}}, style);
  out += '\n' + Painted(Text(incident, "text"), Paint::kNone, style.colour) + '\n';
  const char* language = style.wording == Wording::kChinese ? "zh" : "en";
  for (const Json& line : List(incident, "evidence")) {
    out += "  - " + Painted(Text(line, language), Paint::kNone, style.colour) + '\n';
  }
  if (const Json& by = Field(incident, "acknowledged"); by.is_object()) {
    out += "\nacknowledged " + ShortTime(Text(by, "at")) + " by " + Text(by, "by") + " at " +
           Text(by, "from") + '\n';
  }
  Table told({"TOLD", "TERMINAL", "WHY", "STATE", "ATTEMPTS", "ERROR"});
  for (const Json& notification : List(incident, "notifications")) {
    const bool failed = Text(notification, "state") == "failed";
    const std::string delivered = Text(notification, "delivered_at");
    told.Add({{ShortTime(delivered.empty() ? Text(notification, "created_at") : delivered), {}},
              {Text(notification, "terminal"), {}},
              {Text(notification, "reason"), {}},
              {Text(notification, "state"), failed ? Paint::kRed : Paint::kNone},
              {Text(notification, "attempts"), {}},
              {Text(notification, "error"), {}}});
  }
  return out + '\n' + told.Print(style.colour, "no terminal was told");
}

std::string TerminalsView(const Json& answer, const ViewStyle& style) {
  Table table({"TERMINAL", "ADDRESS", "KIND", "REACHABLE", "ANSWERED", "MUTED UNTIL", "ERROR"});
  for (const Json& terminal : List(answer, "terminals")) {
    table.Add({{Text(terminal, "name"), {}},
               {Text(terminal, "address"), {}},
               {Text(terminal, "kind"), {}},
               Yes(terminal, "reachable", "yes", "no"),
               {ShortTime(Text(terminal, "answered_at")), {}},
               {ShortTime(Text(terminal, "muted_until_at")), Paint::kYellow},
               {Text(terminal, "error"), {}}});
  }
  return table.Print(style.colour, "no terminals are configured");
}

std::string AgentsView(const Json& answer, const ViewStyle& style) {
  Table table(
      {"AGENT", "HOST", "CONNECTED", "HEARD MS AGO", "BOARDS", "RANKS", "QUEUED", "DROPPED"});
  for (const Json& agent : List(answer, "agents")) {
    table.Add({{Text(agent, "id"), {}},
               {Text(agent, "host"), {}},
               Yes(agent, "connected", "yes", "no"),
               {Text(agent, "heard_ms"), {}},
               {Text(agent, "boards"), {}},
               {Text(agent, "members"), {}},
               {Text(agent, "events_queued"), {}},
               {Text(agent, "dropped"), {}}});
  }
  return table.Print(style.colour, "no agent has been heard of");
}

std::string ChangesView(const Json& before, const Json& after, const ViewStyle& style) {
  auto mark = [](const Json& incident) {
    return Text(incident, "state") + ' ' + Text(incident, "severity") + ' ' + What(incident) + ' ' +
           Place(incident);
  };
  std::map<std::string, std::string> known;
  for (const Json& incident : List(before, "incidents")) {
    known[Text(incident, "id")] = mark(incident);
  }
  std::vector<const Json*> changed;
  for (const Json& incident : List(after, "incidents")) {
    auto found = known.find(Text(incident, "id"));
    // What had closed before we looked is no news.
    if (found == known.end() ? Text(incident, "state") != "closed"
                             : found->second != mark(incident)) {
      changed.push_back(&incident);
    }
  }
  std::reverse(changed.begin(), changed.end());
  std::string out;
  for (const Json* incident : changed) {
    std::string words = Text(*incident, "severity") + ' ' + Text(*incident, "state");
    if (const std::string why = Text(*incident, "close_reason"); !why.empty())
      words += " (" + why + ')';
    out += ShortTime(Text(after, "now_at")) + "  " + Text(*incident, "id") + "  " +
           Painted(words, PaintOf(*incident), style.colour) + "  " +
           Painted(What(*incident) + "  " + Place(*incident), Paint::kNone, style.colour) + '\n';
  }
  return out;
}

}  // namespace sentinel
