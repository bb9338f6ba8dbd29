#include "gateway/test_messages.h"

#include <utility>

#include "base/clock.h"
#include "base/digest.h"
#include "incident/lamp.h"

namespace sentinel {
namespace {

constexpr const char* kOn = "-on";
constexpr const char* kOff = "-off";

std::string TextOf(TestMessages::What what, const std::string& terminal, Language language) {
  const bool lamp = what == TestMessages::What::kLamp;
  if (language == Language::kChinese) {
    return "测试消息 TEST，终端 " + terminal + (lamp ? " 灯光测试" : " 语音测试") +
           "，不是告警，请勿处置";
  }
  return "TEST message, the " + std::string(lamp ? "lamp" : "voice") + " of terminal " + terminal +
         " is being tried, this is no alarm";
}

}  // namespace

TestMessages::TestMessages(boost::asio::io_context& io, Deliveries& deliveries, Store& store,
                           const Language& language, std::function<void()> turn)
    : io_(io),
      deliveries_(deliveries),
      store_(store),
      language_(language),
      turn_(std::move(turn)) {}

TestMessages::~TestMessages() { *alive_ = false; }

Status TestMessages::Start(const std::string& terminal, What what, Done done) {
  if (!deliveries_.Knows(terminal)) {
    return Error{ErrorCode::kNotFound, "there is no terminal '" + terminal + "'"};
  }
  if (running_.contains(terminal)) {
    return Error{ErrorCode::kUnavailable, "a test of " + terminal + " has not ended yet"};
  }
  const Moment now = MomentNow();
  Running& running = running_[terminal];
  running.id = "test-" + Sha256Hex(terminal + '/' + std::to_string(now.wall.since_epoch.count()) +
                                   '/' + std::to_string(next_++))
                             .substr(0, 16);
  running.what = what;
  running.started = now.mono;
  running.done = std::move(done);
  running.timer = std::make_unique<boost::asio::steady_timer>(io_);
  Wake(terminal, kTestAnswerMax);
  if (what == What::kSpeech) {
    Noted(terminal, running.id);
    return {};
  }
  // Known to the disk before the lamp is lit, unless the disk refuses: whoever comes after us is to
  // put it out.
  store_.PutNote({kTestNote + terminal, running.id},
                 [this, alive = alive_, terminal, id = running.id](const Status& /*written*/) {
                   if (!*alive) return;
                   Noted(terminal, id);
                   turn_();
                 });
  return {};
}

void TestMessages::Noted(const std::string& terminal, const std::string& id) {
  const auto found = running_.find(terminal);
  if (found == running_.end() || found->second.id != id) return;
  found->second.phase = Phase::kSent;
  Send(terminal, found->second);
}

void TestMessages::Resume(const std::string& terminal, const std::string& id) {
  if (id.empty()) return;
  if (!deliveries_.Knows(terminal)) {
    store_.PutNote({kTestNote + terminal, ""}, {});
    return;
  }
  Running& running = running_[terminal];
  running.id = id;
  running.timer = std::make_unique<boost::asio::steady_timer>(io_);
  End(terminal, running);
}

// A message of such an incident is the last that waits for its terminal.
void TestMessages::Send(const std::string& terminal, const Running& running) {
  Notification notification;
  const bool off = running.phase == Phase::kEnding;
  notification.id = running.id + (off ? kOff : kOn);
  notification.incident = running.id;
  notification.terminal = terminal;
  notification.reason = NotifyReason::kTest;
  notification.sequence = off ? 2 : 1;
  notification.created = MomentNow();
  if (off) {
    notification.message = OffMessage(language_);
  } else {
    const std::string text = TextOf(running.what, terminal, language_);
    // The light of a warning: nobody runs for it, and it needs the red of the lamp and its green.
    const bool lamp = running.what == What::kLamp;
    notification.severity = lamp ? Severity::kP1 : Severity::kNotice;
    notification.message = LightMessage(notification.severity, false, text);
    if (!lamp) notification.message.audio_mode = AudioMode::kOnce;
  }
  const Instant now = notification.created.mono;
  deliveries_.Accept(std::move(notification), now);
}

void TestMessages::Wake(const std::string& terminal, Duration after) {
  boost::asio::steady_timer& timer = *running_.at(terminal).timer;
  timer.expires_after(std::chrono::duration_cast<std::chrono::steady_clock::duration>(after));
  timer.async_wait([this, alive = alive_, terminal](boost::system::error_code error) {
    if (error || !*alive) return;
    OnTimer(terminal);
    turn_();
  });
}

void TestMessages::OnTimer(const std::string& terminal) {
  auto found = running_.find(terminal);
  if (found == running_.end()) return;
  switch (found->second.phase) {
    case Phase::kNoting:
      Tell(found->second, {false, MonotonicNow() - found->second.started,
                           "the disk has not taken note of it; nothing was lit"});
      return Forget(terminal);
    case Phase::kSent:
      return GiveUp(terminal, "it has not answered within " +
                                  std::to_string(ToMillis(kTestAnswerMax) / 1000) + " s" +
                                  deliveries_.TroubleOf(terminal));
    case Phase::kLit:
      return End(terminal, found->second);
    case Phase::kEnding:
      return;
  }
}

void TestMessages::OnOutcome(const Outbox::Outcome& outcome) {
  for (auto& [terminal, running] : running_) {
    const bool on = outcome.message == running.id + kOn;
    if (!on && outcome.message != running.id + kOff) continue;
    const std::string name = terminal;
    switch (outcome.state) {
      case NotificationState::kDelivered:
        return on ? Delivered(name, running) : Forget(name);
      case NotificationState::kFailed:
        return on ? GiveUp(name, outcome.error) : Forget(name);
      case NotificationState::kSuperseded:
      case NotificationState::kPending:
        return;
    }
  }
}

void TestMessages::Delivered(const std::string& terminal, Running& running) {
  if (running.phase != Phase::kSent) return;
  Tell(running, {true, MonotonicNow() - running.started, ""});
  if (running.what == What::kSpeech) return Forget(terminal);
  running.phase = Phase::kLit;
  Wake(terminal, kTestLit);
}

void TestMessages::GiveUp(const std::string& terminal, const std::string& error) {
  Running& running = running_.at(terminal);
  if (running.phase != Phase::kSent) return;
  Tell(running, {false, MonotonicNow() - running.started, error});
  if (running.what == What::kLamp) return End(terminal, running);  // it may be lit all the same
  deliveries_.Cancel({running.id, terminal});
  Forget(terminal);
}

void TestMessages::End(const std::string& terminal, Running& running) {
  running.phase = Phase::kEnding;
  Send(terminal, running);
}

void TestMessages::Forget(const std::string& terminal) {
  auto found = running_.find(terminal);
  if (found->second.what == What::kLamp) store_.PutNote({kTestNote + terminal, ""}, {});
  running_.erase(found);
}

void TestMessages::Tell(Running& running, const Report& report) {
  if (running.done) std::exchange(running.done, {})(report);
}

}  // namespace sentinel
