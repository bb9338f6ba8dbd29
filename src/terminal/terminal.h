// A terminal assembled: the floor decides; this brings it messages, presses and time, and carries
// out what it says.
//
// Everything runs on the io_context's thread; only the voice has a thread of its own.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/result.h"
#include "base/time.h"
#include "floor/floor.h"
#include "http/request_authenticator.h"
#include "http/server.h"
#include "light/frame_sink.h"
#include "terminal/announcer.h"
#include "terminal/config.h"
#include "terminal/gateway_link.h"
#include "terminal/history.h"
#include "terminal/page_feed.h"
#include "terminal/status_json.h"

namespace sentinel {

// What a terminal is handed; none of it may be missing but where it says so.
struct TerminalParts {
  TlsContexts tls;
  KeyRing keys;
  std::unique_ptr<SpeechEngine> engine;
  std::unique_ptr<SoundSink> sound;  // none: the voice is off
  std::unique_ptr<FrameSink> light;  // none: the page alone shows frames
};

class Terminal {
 public:
  // Listens and shows its first frame; it lives as long as the io_context runs.
  static Result<std::unique_ptr<Terminal>> Create(boost::asio::io_context& io,
                                                  const TerminalConfig& config,
                                                  TerminalParts parts);
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  uint16_t port() const { return server_->port(); }
  // Takes no more requests, closes pages, falls silent.
  void Stop();

  // What the HTTP interface asks for.
  struct Answer {
    std::string id;
    Disposition disposition = Disposition::kPlaying;
  };
  Answer Message(FloorMessage message);
  Floor::Press Press();
  void GatewayHeard();
  void Mute(Duration left);
  void Unmute();
  void Hush();
  std::string StatusText(StatusExtent extent) const;
  bool AddPage(HttpResponder& responder);
  bool healthy() const;  // the light is being rendered

  const TerminalConfig& config() const { return config_; }
  RequestAuthenticator& authenticator() { return authenticator_; }
  const std::string& boot_id() const { return boot_id_; }
  std::optional<WallTime> MutedUntil() const;
  std::shared_ptr<const Pcm> Sound(const std::string& name) const { return announcer_.Sound(name); }

 private:
  Terminal(boost::asio::io_context& io, const TerminalConfig& config, TerminalParts parts);

  void Tick();
  void ScheduleTick();
  // Renders, shows and lets the voice begin: at every tick, and at once when something arrives.
  void Perform(bool to_pages);
  void Spoke(const SpeechEvent& event);
  void TellPages();

  TerminalConfig config_;
  std::string boot_id_;
  Moment started_;
  RequestAuthenticator authenticator_;
  Floor floor_;
  History history_;
  std::unique_ptr<FrameSink> light_;
  std::string light_trouble_;
  Frame shown_{};
  PageFeed feed_;
  std::string told_;  // the part of the status that pages were told last
  std::optional<GatewayLink> link_;
  Instant ticked_;
  Instant next_tick_;
  boost::asio::steady_timer timer_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  Announcer announcer_;
  std::unique_ptr<HttpServer> server_;
};

}  // namespace sentinel
