#include "ring/judgement_report.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "wire/json_text.h"

namespace sentinel {
namespace {

// What a stall is named by.
using StallName = std::pair<CommKey, uint64_t>;

StallName NameOf(const Verdict& verdict) { return {verdict.comm, verdict.epoch}; }

OrderedJson EdgeJson(const std::optional<Edge>& edge) {
  if (!edge) return nullptr;
  return OrderedJson::array({edge->from, edge->to});
}

OrderedJson MillisOrNull(const std::optional<Duration>& duration) {
  return duration ? OrderedJson(ToMillis(*duration)) : OrderedJson(nullptr);
}

std::string CulpritText(const Verdict& verdict) {
  std::string text(HangClassName(verdict.hang_class));
  if (verdict.culprit.rank) {
    text += ", rank " + std::to_string(*verdict.culprit.rank) + " on " + verdict.culprit.place.host;
  } else {
    text += ", one of ranks";
    for (const Rank suspect : verdict.suspects) text += " " + std::to_string(suspect);
  }
  if (verdict.culprit.edge) {
    text += ", edge " + std::to_string(verdict.culprit.edge->from) + " -> " +
            std::to_string(verdict.culprit.edge->to);
  }
  return text;
}

std::vector<JudgementReport::Step> StepsOf(const std::vector<Judged>& judged, Instant start) {
  const auto told = [](const JudgementReport::Step& step) {
    return std::tie(step.stage, step.hang_class, step.rank, step.epoch);
  };
  std::vector<JudgementReport::Step> steps;
  for (const Judged& entry : judged) {
    const Verdict& verdict = entry.verdict;
    const JudgementReport::Step step{entry.when - start, verdict.stage, verdict.hang_class,
                                     verdict.culprit.rank, verdict.epoch};
    if (steps.empty() || told(steps.back()) != told(step)) steps.push_back(step);
  }
  return steps;
}

}  // namespace

JudgementReport SumUp(const std::vector<Judged>& judged, const ProgressWatch& progress,
                      Instant start, std::optional<Instant> mismatch) {
  JudgementReport report;
  report.steps = StepsOf(judged, start);
  const auto red = std::find_if(judged.begin(), judged.end(), [](const Judged& entry) {
    return entry.verdict.stage == VerdictStage::kRed;
  });
  std::set<StallName> suspected;
  std::set<StallName> turned_red;
  for (const Judged& entry : judged) {
    const bool is_red = entry.verdict.stage == VerdictStage::kRed;
    (is_red ? turned_red : suspected).insert(NameOf(entry.verdict));
  }
  report.suspicions = static_cast<int>(
      std::count_if(suspected.begin(), suspected.end(),
                    [&](const StallName& name) { return !turned_red.contains(name); }));
  if (red == judged.end()) return report;

  const StallName name = NameOf(red->verdict);
  report.stalled_at = progress.LastMoveBefore(red->when);
  if (red->verdict.hang_class == HangClass::kMismatch && mismatch && *mismatch <= red->when) {
    report.stalled_at = mismatch;
  }
  bool first = true;
  for (const Judged& entry : judged) {
    if (NameOf(entry.verdict) != name) continue;
    if (std::exchange(first, false) && report.stalled_at) {
      // A suspicion may be older than the last twitch of some innocent rank.
      report.suspect = std::max(entry.when - *report.stalled_at, Duration(0));
    }
    if (entry.verdict.stage == VerdictStage::kRed) report.verdict = entry.verdict;
    if (entry.verdict.stage == VerdictStage::kHealed) report.healed = true;
  }
  if (report.stalled_at) report.red = red->when - *report.stalled_at;
  return report;
}

std::string ReportJson(const JudgementReport& report) {
  OrderedJson json;
  json["recording"] = report.recording;
  json["ranks"] = report.ranks;
  json["class"] = nullptr;
  json["culprit"] = nullptr;
  json["suspect_ms"] = MillisOrNull(report.suspect);
  json["red_ms"] = MillisOrNull(report.red);
  json["evidence"] = OrderedJson::array();
  if (report.verdict) {
    const Verdict& verdict = *report.verdict;
    json["class"] = HangClassName(verdict.hang_class);
    json["culprit"] = {
        {"rank", verdict.culprit.rank ? OrderedJson(*verdict.culprit.rank) : OrderedJson(nullptr)},
        {"host", TextOrNull(verdict.culprit.place.host)},
        {"edge", EdgeJson(verdict.culprit.edge)}};
    for (const EvidenceLine& line : verdict.evidence) json["evidence"].push_back(line.en);
    json["suspects"] = verdict.suspects;
    json["signature"] =
        verdict.signature ? OrderedJson(HangClassName(*verdict.signature)) : OrderedJson(nullptr);
    json["confidence"] = verdict.confidence;
  }
  json["healed"] = report.healed;
  json["suspicions"] = report.suspicions;
  json["timeline"] = OrderedJson::array();
  for (const JudgementReport::Step& step : report.steps) {
    json["timeline"].push_back(
        {{"at_ms", ToMillis(step.since_start)},
         {"epoch", step.epoch},
         {"stage", VerdictStageName(step.stage)},
         {"class", HangClassName(step.hang_class)},
         {"rank", step.rank ? OrderedJson(*step.rank) : OrderedJson(nullptr)}});
  }
  return json.dump(1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

std::string ReportText(const JudgementReport& report) {
  std::string text = report.recording + ", " + std::to_string(report.ranks) + " ranks: ";
  if (!report.verdict) {
    text += "no stall that would light a lamp";
  } else {
    text += CulpritText(*report.verdict);
    if (report.suspect && report.red) {
      text += "\n  suspected " + std::to_string(ToMillis(*report.suspect)) + " ms and red " +
              std::to_string(ToMillis(*report.red)) + " ms after " +
              (report.verdict->hang_class == HangClass::kMismatch ? "the call that differs"
                                                                  : "the ring's last progress");
    }
    for (const EvidenceLine& line : report.verdict->evidence) text += "\n  " + line.en;
    if (report.healed) text += "\n  it moved again afterwards";
  }
  if (report.suspicions > 0) {
    text += "\n  suspicions that came to nothing: " + std::to_string(report.suspicions);
  }
  return text + "\n";
}

}  // namespace sentinel
