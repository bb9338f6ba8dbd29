#include "ring/judge.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/clock.h"

namespace sentinel {
namespace {

// Answers may raise new questions; a gateway would ask them a moment later.
constexpr int kQuestionRoundsMax = 3;

CorrelateOptions Options() {
  CorrelateOptions options;
  options.late_history_min = Judge::kLateHistoryMin;
  return options;
}

}  // namespace

Judge::Judge(const std::vector<Node>& nodes) : correlator_(Options()) {
  for (const Node& node : nodes) {
    NodeWatchOptions options;
    options.host = node.host;
    options.board_dir = node.board_dir;
    agents_.push_back({node.host, NodeWatch::Create(std::move(options))});
  }
}

Judge::~Judge() { Stop(); }

void Judge::Start() {
  thread_ = std::thread([this] { Body(); });
}

std::vector<Judged> Judge::Stop() {
  ending_ = true;
  if (thread_.joinable()) thread_.join();
  return std::move(judged_);
}

void Judge::Body() {
  Instant next = MonotonicNow();
  while (!ending_) {
    const Instant now = MonotonicNow();
    Round(now);
    next = std::max(next + kScanPeriod, now);
    std::this_thread::sleep_for(next - MonotonicNow());
  }
}

void Judge::Round(Instant now) {
  for (Agent& agent : agents_) {
    correlator_.OnHeard(agent.id, now);
    Hear(agent.id, agent.watch->Scan(now), now);
  }
  for (int round = 0; round < kQuestionRoundsMax; ++round) {
    const std::vector<Correlator::Request> requests = Decide(now);
    if (requests.empty()) break;
    for (const Correlator::Request& request : requests) {
      auto asked = std::find_if(agents_.begin(), agents_.end(),
                                [&](const Agent& agent) { return agent.id == request.agent; });
      if (asked == agents_.end()) continue;
      Hear(asked->id, asked->watch->Answer(request.request, now), now);
    }
  }
  const std::vector<Verdict> open = correlator_.Open(now);
  undecided_ = std::any_of(open.begin(), open.end(), [](const Verdict& verdict) {
    return verdict.stage == VerdictStage::kSuspected || verdict.stage == VerdictStage::kConfirmed;
  });
}

void Judge::Hear(const AgentId& agent, const std::vector<UpMessage>& messages, Instant now) {
  for (const UpMessage& message : messages) {
    if (const auto* inventory = std::get_if<Inventory>(&message)) {
      correlator_.OnInventory(agent, *inventory, now);
    } else if (const auto* digest = std::get_if<Digest>(&message)) {
      correlator_.OnDigest(agent, *digest, now);
    } else if (const auto* order = std::get_if<CallOrder>(&message)) {
      correlator_.OnCallOrder(agent, *order, now);
    } else if (const auto* evidence = std::get_if<HostEvidence>(&message)) {
      correlator_.OnEvidence(agent, *evidence, now);
    }
  }
}

std::vector<Correlator::Request> Judge::Decide(Instant now) {
  Correlator::Actions actions = correlator_.Advance(now);
  for (Verdict& verdict : actions.verdicts) judged_.push_back({now, std::move(verdict)});
  return std::move(actions.requests);
}

}  // namespace sentinel
