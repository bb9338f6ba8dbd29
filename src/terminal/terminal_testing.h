// A terminal on loopback with a lamp and a voice that only remember, for tests.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "http/client.h"
#include "http/signed_message.h"
#include "http/test_peer.h"
#include "terminal/terminal.h"
#include "wire/terminal_json.h"

namespace sentinel {

using Json = nlohmann::json;

inline const KeyPair kKeys{"hall-key", "hall-secret"};

class ToneEngine : public SpeechEngine {
 public:
  Result<Pcm> Synthesise(const SpeechRun&) override { return Pcm(220, 8000); }
};

// Takes everything and says at once that it was heard, or never.
class FakeSound : public SoundSink {
 public:
  explicit FakeSound(bool endless) : endless_(endless) {}
  Status Begin(const std::string&) override { return {}; }
  Result<size_t> Write(const int16_t*, size_t count, Duration) override { return count; }
  bool Drained(Duration) override { return !endless_; }
  void Cut() override {}
  std::string name() const override { return "fake"; }

 private:
  bool endless_;
};

class LastFrame : public FrameSink {
 public:
  explicit LastFrame(Frame* frame) : frame_(frame) {}
  Status Show(const Frame& frame) override {
    *frame_ = frame;
    return {};
  }

 private:
  Frame* frame_;
};

class TerminalTest : public testing::Test {
 protected:
  void Start(TerminalConfig config = {}, bool endless_sound = false) {
    config.name = "hall-1";
    config.listen = Endpoint{"127.0.0.1", 0, false};
    TerminalParts parts;
    parts.keys = kKeys;
    parts.engine = std::make_unique<ToneEngine>();
    parts.sound = std::make_unique<FakeSound>(endless_sound);
    parts.light = std::make_unique<LastFrame>(&frame_);
    auto made = Terminal::Create(io_, config, std::move(parts));
    ASSERT_TRUE(made.ok()) << made.error().message;
    terminal_ = std::move(made).value();
  }

  HttpResponse Fetch(HttpRequest request) {
    std::optional<HttpOutcome> outcome;
    HttpFetch(io_, Endpoint{"127.0.0.1", terminal_->port(), false}, std::move(request), {},
              [&](HttpOutcome got) { outcome = std::move(got); });
    RunUntil(io_, [&] { return outcome.has_value(); });
    if (!outcome || !outcome->response.ok()) {
      ADD_FAILURE() << (outcome ? outcome->response.error().message : "no answer");
      return {};
    }
    return *outcome->response;
  }

  HttpResponse Get(const std::string& path) {
    HttpRequest request;
    request.method = "GET";
    request.path = path;
    return Fetch(std::move(request));
  }

  static HttpRequest Post(const std::string& path, std::string body) {
    HttpRequest request;
    request.method = "POST";
    request.path = path;
    request.headers["Content-Type"] = "application/json";
    request.body = std::move(body);
    return request;
  }
  // As an existing sender does it.
  static HttpRequest SignedV1(const std::string& path, std::string body,
                              std::chrono::seconds skew = std::chrono::seconds(0)) {
    HttpRequest request = Post(path, std::move(body));
    auto now = std::chrono::duration_cast<std::chrono::seconds>(WallNow().since_epoch) + skew;
    AddSignatureV1(&request, kKeys, now.count());
    return request;
  }
  static HttpRequest Signed(HttpRequest request) {
    AddSignatureV2(&request, "hall-1", {kKeys}, WallNow().since_epoch.count());
    return request;
  }
  static HttpRequest Signed(const std::string& path, std::string body) {
    return Signed(Post(path, std::move(body)));
  }

  static std::string P0(const std::string& host = "gpu-worker-08") {
    return WriteTerminalMessage({"机架 A03 节点 " + host + " 触发通信死锁", Color{255, 0, 0},
                                 LightMode::kFlash, AudioMode::kCycle, 3});
  }

  HttpResponse Send(const std::string& body, const std::string& message_id = "",
                    const std::string& incident = "", const std::string& sequence = "") {
    HttpRequest request = Post("/api/v1/send_msg", body);
    if (!message_id.empty()) request.headers["X-Message-Id"] = message_id;
    if (!incident.empty()) request.headers["X-Incident-Id"] = incident;
    if (!sequence.empty()) request.headers["X-Sequence"] = sequence;
    return Fetch(Signed(std::move(request)));
  }

  static std::string StateOf(const HttpResponse& response) {
    return Json::parse(response.body)["state"];
  }
  Json StatusNow() { return Json::parse(Get("/api/v1/status").body); }

  boost::asio::io_context io_;
  Frame frame_{};
  std::unique_ptr<Terminal> terminal_;
};

}  // namespace sentinel
