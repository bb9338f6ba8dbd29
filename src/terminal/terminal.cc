#include "terminal/terminal.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <random>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "terminal/api.h"
#include "wire/terminal_json.h"

namespace sentinel {
namespace {

// Without a frame for so long the light counts as standing still.
constexpr Duration kLightAlive = std::chrono::seconds(1);
// Of signed messages; beyond it the time they may be on their way becomes shorter.
constexpr size_t kNoncesMax = 16'384;

// Tells this run of the program from any other.
std::string MakeBootId() {
  std::random_device device;
  constexpr char kHex[] = "0123456789abcdef";
  std::string id;
  for (int i = 0; i < 16; i++) id += kHex[device() & 15];
  return id;
}

FloorOptions OptionsOf(const TerminalConfig& config) {
  FloorOptions options;
  options.gateway_expected = config.gateway.has_value();
  options.strict_mute = config.strict_mute;
  return options;
}

AnnouncerOptions OptionsOf(const TerminalConfig& config, const std::string& boot_id) {
  AnnouncerOptions options;
  options.loud_below_full_db = config.loud_below_full_db;
  options.normal_below_full_db = config.normal_below_full_db;
  options.sound_prefix = boot_id.substr(0, 8);
  return options;
}

const char* StateName(SpeechEvent::Kind kind) {
  switch (kind) {
    case SpeechEvent::Kind::kBegan:
      return "began";
    case SpeechEvent::Kind::kReady:
      return "ready";
    case SpeechEvent::Kind::kEnded:
      return "ended";
  }
  return "";
}

}  // namespace

Terminal::Terminal(boost::asio::io_context& io, const TerminalConfig& config, TerminalParts parts)
    : config_(config),
      boot_id_(MakeBootId()),
      started_(MomentNow()),
      authenticator_({{config.name, boot_id_, kNoncesMax}, config.signature}, {parts.keys},
                     started_),
      floor_(OptionsOf(config), started_.mono),
      light_(std::move(parts.light)),
      next_tick_(started_.mono),
      timer_(io),
      announcer_(io, OptionsOf(config, boot_id_), std::move(parts.engine), std::move(parts.sound),
                 [this](const SpeechEvent& event) { Spoke(event); }) {
  if (config_.gateway) {
    link_.emplace(io,
                  SignedClientOptions{*config_.gateway, parts.keys, std::string(kGatewayAudience),
                                      config_.signature, parts.tls.client},
                  config_.name,
                  [this](Duration left) { floor_.ShortenMute(MonotonicNow() + left); });
  }
}

Terminal::~Terminal() { *alive_ = false; }

Result<std::unique_ptr<Terminal>> Terminal::Create(boost::asio::io_context& io,
                                                   const TerminalConfig& config,
                                                   TerminalParts parts) {
  std::shared_ptr<TlsContext> tls = parts.tls.server;
  std::unique_ptr<Terminal> terminal(new Terminal(io, config, std::move(parts)));
  terminal->server_ = TRY(HttpServer::Listen(
      io, config.listen, HttpLimits{},
      SignAnswers(terminal->authenticator_, TerminalRoutes(*terminal)), std::move(tls)));
  terminal->Tick();
  return terminal;
}

void Terminal::Stop() {
  server_->Stop();
  feed_.Close();
  timer_.cancel();
}

void Terminal::Tick() {
  Perform(/*to_pages=*/true);
  ScheduleTick();
}

void Terminal::ScheduleTick() {
  // A tick that comes late does not make the next ones come in a bunch.
  next_tick_ = std::max(next_tick_ + kFramePeriod, ticked_);
  timer_.expires_at(std::chrono::steady_clock::time_point(
      std::chrono::duration_cast<std::chrono::steady_clock::duration>(next_tick_.since_boot)));
  timer_.async_wait([this, alive = alive_](boost::system::error_code cancelled) {
    if (!cancelled && *alive) Tick();
  });
}

void Terminal::Perform(bool to_pages) {
  Instant now = MonotonicNow();
  ticked_ = now;
  Floor::Rendered rendered = floor_.Render(now);
  if (light_ && rendered.frame != shown_) {
    Status shown = light_->Show(rendered.frame);
    std::string trouble = shown.ok() ? "" : shown.error().message;
    if (!trouble.empty() && trouble != light_trouble_) {
      spdlog::error("event=light_trouble why=\"{}\"", trouble);
    }
    light_trouble_ = trouble;
  }
  shown_ = rendered.frame;
  if (!rendered.lit.empty()) {
    Instant seen = MonotonicNow();
    for (uint64_t serial : rendered.lit) history_.Seen(serial, seen);
  }
  for (const SpeechOrder& order : floor_.Speech(now)) announcer_.Perform(order);
  if (!to_pages) return;
  feed_.SendFrame(rendered.frame, now);
  TellPages();
}

void Terminal::TellPages() {
  if (feed_.pages() == 0) return;
  std::string state = StatusText(StatusExtent::kState);
  if (state == told_) return;
  told_ = std::move(state);
  feed_.SendEvent("status", told_, ticked_);
}

Terminal::Answer Terminal::Message(FloorMessage message) {
  Instant received = MonotonicNow();
  HistoryEntry entry;
  entry.message = message;
  entry.received = received;
  Floor::Taken taken = floor_.Accept(std::move(message), received);
  entry.serial = taken.serial;
  entry.disposition = taken.disposition;
  Answer answer{entry.message.message_id, taken.disposition};
  spdlog::info(
      "event=message id={} incident={} severity={} color={} mode={} audio={} state={} text=\"{}\"",
      answer.id, entry.message.incident_id.empty() ? "-" : entry.message.incident_id,
      SeverityName(entry.message.severity), ColorHex(entry.message.body.color),
      LightModeName(entry.message.body.light_mode), AudioModeName(entry.message.body.audio_mode),
      DispositionName(taken.disposition), entry.message.body.text);
  if (taken.disposition != Disposition::kDuplicate) {
    history_.Add(std::move(entry));
    Perform(/*to_pages=*/false);
  }
  return answer;
}

Floor::Press Terminal::Press() {
  Floor::Press press = floor_.Pressed(MonotonicNow());
  spdlog::info("event=press acknowledged={} incidents={}", press.acknowledged,
               press.incidents.size());
  if (press.acknowledged && link_) link_->Acknowledge(press.incidents, WallNow());
  Perform(/*to_pages=*/false);
  return press;
}

void Terminal::GatewayHeard() { floor_.Heard(MonotonicNow()); }

void Terminal::Mute(Duration left) {
  const Instant now = MonotonicNow();
  floor_.Mute(now + left, now);
}

void Terminal::Unmute() {
  if (floor_.muted_until()) spdlog::info("event=unmuted");
  floor_.Unmute();
}

void Terminal::Hush() {
  spdlog::info("event=hushed");
  floor_.Hush();
  Perform(/*to_pages=*/false);
}

std::string Terminal::StatusText(StatusExtent extent) const {
  StatusView view{config_,       boot_id_, started_,   MomentNow(),
                  floor_,        history_, announcer_, link_ ? &*link_ : nullptr,
                  light_trouble_};
  return WriteStatus(view, extent);
}

std::optional<WallTime> Terminal::MutedUntil() const { return MuteEnd(floor_, MomentNow()); }

bool Terminal::AddPage(HttpResponder& responder) {
  return feed_.Add(responder, StatusText(StatusExtent::kState), MonotonicNow());
}

bool Terminal::healthy() const { return MonotonicNow() - ticked_ < kLightAlive; }

void Terminal::Spoke(const SpeechEvent& event) {
  Instant now = MonotonicNow();
  if (event.kind == SpeechEvent::Kind::kBegan) {
    history_.Heard(event.say.serial, event.at, event.spoken);
    spdlog::info("event=speaking sound={} severity={} spoken=\"{}\"", event.sound,
                 SeverityName(event.say.severity), event.spoken);
  }
  nlohmann::ordered_json json;
  json["state"] = StateName(event.kind);
  json["sound"] = event.sound;
  json["severity"] = SeverityName(event.say.severity);
  json["text"] = event.say.text;
  json["spoken"] = event.spoken;
  feed_.SendEvent("speech", json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace),
                  now);
  if (event.kind == SpeechEvent::Kind::kEnded) floor_.Spoken(event.say.id, now);
}

}  // namespace sentinel
