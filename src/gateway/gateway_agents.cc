// What agents say, and what becomes of it.
#include <spdlog/spdlog.h>

#include <string>
#include <utility>
#include <variant>

#include "base/clock.h"
#include "gateway/gateway_on_loop.h"
#include "gateway/log_value.h"
#include "model/agent_message.h"

namespace sentinel {

void GatewayOnLoop::OnAgentMessage(const std::string& agent, UpMessage message) {
  Moment now = MomentNow();
  metrics_.agent_frames->Increment();
  agents_.OnHeard(agent, now.mono);
  correlator_.OnHeard(agent, now.mono);
  if (const Hello* hello = std::get_if<Hello>(&message)) {
    spdlog::info("event=agent_connected agent={} host={}", LogValue(agent), LogValue(hello->host));
    agents_.OnHello(agent, *hello, now.mono);
    book_.OnHostSeen(hello->host);
    // It may have been told as silent by an earlier process.
    book_.OnNodeBack(hello->host, now);
    TurnSoon();
  } else if (const Inventory* inventory = std::get_if<Inventory>(&message)) {
    agents_.OnInventory(agent, *inventory);
    correlator_.OnInventory(agent, *inventory, now.mono);
  } else if (const Heartbeat* heartbeat = std::get_if<Heartbeat>(&message)) {
    agents_.OnHeartbeat(agent, *heartbeat);
  } else if (const Digest* digest = std::get_if<Digest>(&message)) {
    correlator_.OnDigest(agent, *digest, now.mono);
  } else if (const CallOrder* order = std::get_if<CallOrder>(&message)) {
    correlator_.OnCallOrder(agent, *order, now.mono);
  } else if (const HostEvidence* evidence = std::get_if<HostEvidence>(&message)) {
    if (evidence->kind.starts_with("link_")) book_.OnPortEvent(evidence->host, now);
    correlator_.OnEvidence(agent, *evidence, now.mono);
  } else if (SpooledEvent* event = std::get_if<SpooledEvent>(&message)) {
    uint64_t spool_id = event->spool_id;
    intake_.Take(std::move(event->body),
                 [this, alive = alive_, agent, spool_id](const IntakeAnswer& answer) {
                   if (*alive) Ack(agent, spool_id, answer);
                 });
    return;
  }
  // Messages that arrive together are judged together.
  CorrelateSoon();
}

void GatewayOnLoop::Ack(const std::string& agent, uint64_t spool_id, const IntakeAnswer& answer) {
  EventAck ack;
  ack.spool_id = spool_id;
  ack.status = static_cast<uint32_t>(answer.status);
  ack.body = answer.body;
  agent_server_->Send(agent, ack);
}

void GatewayOnLoop::OnAgentGone(const std::string& agent) {
  spdlog::info("event=agent_gone agent={}", LogValue(agent));
  agents_.OnGone(agent);
  correlator_.OnDisconnected(agent, MonotonicNow());
  Correlate();
}

void GatewayOnLoop::OnAgentRefused(const std::string& peer, const std::string& why) {
  metrics_.agent_frames_bad->Increment();
  spdlog::warn("event=agent_refused peer={} why={}", LogValue(peer), LogValue(why));
}

}  // namespace sentinel
