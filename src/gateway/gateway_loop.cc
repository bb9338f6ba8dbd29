// What the gateway does again and again: a turn after whatever happened, a pass each second.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/post.hpp>

#include "base/clock.h"
#include "gateway/gateway_on_loop.h"
#include "gateway/log_value.h"

namespace sentinel {
namespace {

constexpr auto kTick = std::chrono::seconds(1);
// Rounds of "the outbox tells the book, the book tells the outbox" in one turn; the rest in the
// next.
constexpr int kRoundsMax = 16;

}  // namespace

void GatewayOnLoop::Turn() {
  if (turning_) return TurnSoon();
  turning_ = true;
  Moment now = MomentNow();
  book_.Advance(now);
  std::vector<std::string> touched;
  for (int round = 0; round < kRoundsMax; ++round) {
    IncidentBook::Actions actions = book_.TakeActions();
    for (const IncidentBook::Cancel& cancel : actions.cancels) deliveries_.Cancel(cancel);
    for (Notification& notification : actions.notifications) {
      deliveries_.Accept(std::move(notification), now.mono);
    }
    for (const IncidentBook::Change& change : actions.changes) {
      log_.Tell(change, config_.incidents.table);
      outputs_.OnChange(change.incident);
    }
    touched.insert(touched.end(), actions.touched.begin(), actions.touched.end());
    keeper_.KeepLater(actions.later);
    notes_.Keep(actions);
    // What rings goes out before what is written.
    bool told = deliveries_.Pump(now);
    if (!told && actions.notifications.empty() && actions.cancels.empty()) break;
  }
  std::sort(touched.begin(), touched.end());
  touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
  keeper_.Keep(touched);
  turning_ = false;
  Arm();
}

void GatewayOnLoop::TurnSoon() {
  if (turn_soon_) return;
  turn_soon_ = true;
  boost::asio::post(io_, [this, alive = alive_] {
    if (!*alive) return;
    turn_soon_ = false;
    Turn();
  });
}

void GatewayOnLoop::Correlate() {
  Moment now = MomentNow();
  Correlator::Actions actions = correlator_.Advance(now.mono);
  for (const Correlator::Request& request : actions.requests) {
    agent_server_->Send(request.agent, request.request);
  }
  for (const Verdict& verdict : actions.verdicts) {
    // Only what would ring asks whose job it is.
    JobFacts job;
    if (verdict.stage == VerdictStage::kRed) {
      job = correlator_.ExtentOf(verdict.comm);
      job.owner = agents_.OwnerOf(verdict.comm.job);
    }
    book_.OnVerdict(verdict, job, now);
  }
  if (actions.verdicts.empty()) {
    Arm();
  } else {
    Turn();
  }
}

void GatewayOnLoop::CorrelateSoon() {
  if (correlate_soon_) return;
  correlate_soon_ = true;
  boost::asio::post(io_, [this, alive = alive_] {
    if (!*alive) return;
    correlate_soon_ = false;
    Correlate();
  });
}

// One timer for everybody who wants to be woken.
void GatewayOnLoop::Arm() {
  std::optional<Instant> wake;
  for (const std::optional<Instant>& at :
       {book_.NextWake(), deliveries_.NextWake(), correlator_.NextWake()}) {
    if (at && (!wake || *at < *wake)) wake = at;
  }
  if (!wake || (armed_ && *armed_ <= *wake && *armed_ > MonotonicNow())) return;
  armed_ = wake;
  wake_.expires_at(std::chrono::steady_clock::time_point(
      std::chrono::duration_cast<std::chrono::steady_clock::duration>(wake->since_boot)));
  wake_.async_wait([this, alive = alive_](boost::system::error_code error) {
    if (error || !*alive) return;
    armed_.reset();
    std::optional<Instant> due = correlator_.NextWake();
    if (due && *due <= MonotonicNow()) Correlate();
    Turn();
  });
}

void GatewayOnLoop::Tick() {
  Moment now = MomentNow();
  Measure(now);
  store_watch_.Look(store_->health());
  log_.Tick();
  CheckSilence(now);
  if (book_.ClockWasSet(now)) Turn();
  keeper_.Tick();
  tick_.expires_after(kTick);
  tick_.async_wait([this, alive = alive_](boost::system::error_code error) {
    if (!error && *alive) Tick();
  });
}

void GatewayOnLoop::Measure(Moment now) {
  metrics_.heartbeats->Increment();
  metrics_.last_pass->Set(static_cast<double>(now.wall.since_epoch.count()) / 1000.0);
  metrics_.incidents_open->Set(static_cast<double>(book_.open()));
  metrics_.agents_connected->Set(static_cast<double>(agents_.connected()));
  const std::vector<TerminalStatus> terminals = deliveries_.Status();
  double reachable = 0;
  for (const TerminalStatus& status : terminals) reachable += status.reachable ? 1 : 0;
  metrics_.terminals_configured->Set(static_cast<double>(terminals.size()));
  metrics_.terminals_reachable->Set(reachable);
}

void GatewayOnLoop::CheckSilence(Moment now) {
  const std::vector<std::string> hosts =
      agents_.Silent(now.mono, config_.detection.node_silent_after);
  const SilentNodes::News news = silent_nodes_.Update(hosts, config_.incidents.language);
  if (news.back.empty() && news.silent.empty()) return;
  for (const std::string& host : news.back) book_.OnNodeBack(host, now);
  for (const std::string& host : news.silent) {
    spdlog::error("event=node_silent host={} silent={}", LogValue(host), hosts.size());
    book_.OnNodeSilent(host, now);
  }
  Turn();
}

}  // namespace sentinel
