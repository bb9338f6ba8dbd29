#include "terminal/api.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/digest.h"
#include "terminal/page.h"
#include "wire/terminal_json.h"

namespace sentinel {
namespace {

using Json = nlohmann::ordered_json;
using Responder = std::unique_ptr<HttpResponder>;

constexpr size_t kIdBytesMax = 128;
constexpr uint64_t kMutedForMaxMs = 24 * 3600 * 1000;  // no mute is near as long

HttpResponse Answer(int status, const Json& json) {
  HttpResponse response =
      JsonResponse(status, json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  response.headers["Cache-Control"] = "no-store";
  return response;
}

HttpResponse Refuse(int status, const std::string& why) {
  Json json;
  json["error"] = why;
  return Answer(status, json);
}

// Whether the request comes from somebody who holds our secret. Over the raw bytes, before anything
// is parsed.
Status Authentic(const Terminal& terminal, const HttpRequest& request) {
  if (!ConstantTimeEqual(request.Header("X-API-Key"), terminal.keys().key)) {
    return Error{ErrorCode::kDenied, "X-API-Key is missing or wrong"};
  }
  return VerifyV1(terminal.keys().secret, request.Header("X-Timestamp"), request.body,
                  request.Header("X-Signature"), WallNow());
}

Result<std::string> Id(const HttpRequest& request, const char* header) {
  std::string id(request.Header(header));
  bool fits = id.size() <= kIdBytesMax && std::all_of(id.begin(), id.end(), [](unsigned char c) {
                return c > 0x20 && c < 0x7f;
              });
  if (fits) return id;
  return Error{ErrorCode::kInvalidArgument,
               std::string(header) + " must be at most 128 printable ASCII characters"};
}

Result<FloorMessage> Read(const HttpRequest& request) {
  FloorMessage message;
  message.body = TRY(ParseTerminalMessage(request.body));
  message.severity = DeriveSeverity(message.body);
  message.message_id = TRY(Id(request, "X-Message-Id"));
  message.incident_id = TRY(Id(request, "X-Incident-Id"));
  // A sender without ids cannot repeat a message but by sending the very bytes again, signature and
  // all; so does whoever has recorded them.
  if (message.message_id.empty()) {
    message.message_id = "v1:" + std::string(request.Header("X-Signature"));
  }
  if (std::string_view text = request.Header("X-Severity"); !text.empty()) {
    std::optional<Severity> severity = SeverityFromName(text);
    if (!severity) {
      return Error{ErrorCode::kInvalidArgument, "X-Severity must be P0, P1, NOTICE or NORMAL"};
    }
    message.severity = *severity;
    message = WithOwnLight(std::move(message));
  }
  if (std::string_view text = request.Header("X-Sequence"); !text.empty()) {
    uint64_t sequence = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), sequence);
    if (error != std::errc() || end != text.data() + text.size()) {
      return Error{ErrorCode::kInvalidArgument, "X-Sequence must be a decimal number"};
    }
    message.sequence = sequence;
  }
  return message;
}

void AddMutedUntil(const Terminal& terminal, Json* json) {
  std::optional<WallTime> until = terminal.MutedUntil();
  (*json)["muted_until_at"] = until ? Json(FormatRfc3339(*until)) : Json(nullptr);
}

HttpResponse SendMessage(Terminal& terminal, const HttpRequest& request) {
  Status authentic = Authentic(terminal, request);
  if (!authentic.ok()) {
    spdlog::warn("event=message_refused status=401 peer={} why=\"{}\"", request.peer,
                 authentic.error().message);
    return Refuse(401, authentic.error().message);
  }
  terminal.GatewayHeard();
  Result<FloorMessage> message = Read(request);
  if (!message.ok()) {
    spdlog::warn("event=message_refused status=400 peer={} why=\"{}\"", request.peer,
                 message.error().message);
    return Refuse(400, message.error().message);
  }
  Terminal::Answer taken = terminal.Message(std::move(message).value());
  Json json;
  json["id"] = taken.id;
  json["state"] = DispositionName(taken.disposition);
  AddMutedUntil(terminal, &json);
  return Answer(200, json);
}

// What the gateway knows of a press before we were started; the rest of a ping's body is not ours.
std::optional<Duration> MutedFor(const std::string& body) {
  const Json json = Json::parse(body, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  auto left = json.find("muted_for_ms");
  if (left == json.end() || !left->is_number_unsigned()) return std::nullopt;
  return std::chrono::milliseconds(std::min<uint64_t>(left->get<uint64_t>(), kMutedForMaxMs));
}

HttpResponse Ping(Terminal& terminal, const HttpRequest& request) {
  Status authentic = Authentic(terminal, request);
  if (!authentic.ok()) return Refuse(401, authentic.error().message);
  terminal.GatewayHeard();
  if (std::optional<Duration> muted = MutedFor(request.body)) terminal.Mute(*muted);
  Json json;
  json["name"] = terminal.config().name;
  json["boot_id"] = terminal.boot_id();
  json["now_at"] = FormatRfc3339(WallNow());
  AddMutedUntil(terminal, &json);
  return Answer(200, json);
}

bool Loopback(const std::string& peer) {
  return peer.starts_with("127.") || peer == "::1" || peer.starts_with("::ffff:127.") ||
         peer.starts_with("unix");
}

bool HostIsAddressOrOurs(std::string_view host, const std::string& name) {
  std::string_view without_port = host.substr(0, host.rfind(':'));
  if (host.starts_with("[")) return true;
  if (without_port == "localhost" || without_port == name) return true;
  return !without_port.empty() && std::all_of(without_port.begin(), without_port.end(), [](char c) {
    return (c >= '0' && c <= '9') || c == '.';
  });
}

// A press is signed, or comes from the page itself: from the place where buttons may be pressed,
// and not from another site open in the same browser (Origin), nor under a name that only leads
// here (Host).
Status MayPress(const Terminal& terminal, const HttpRequest& request) {
  if (!request.Header("X-Signature").empty()) return Authentic(terminal, request);
  if (terminal.config().button_from == ButtonFrom::kLoopback && !Loopback(request.peer)) {
    return Error{ErrorCode::kDenied,
                 "the button is pressed on this machine, or with a signature (button.from)"};
  }
  std::string_view host = request.Header("Host");
  std::string_view origin = request.Header("Origin");
  bool same_site = origin.empty() || origin == "http://" + std::string(host);
  if (!same_site || !HostIsAddressOrOurs(host, terminal.config().name)) {
    return Error{ErrorCode::kDenied, "the button is pressed on this terminal's own page"};
  }
  return {};
}

HttpResponse Acknowledge(Terminal& terminal, const HttpRequest& request) {
  Status may = MayPress(terminal, request);
  if (!may.ok()) {
    spdlog::warn("event=press_refused peer={} why=\"{}\"", request.peer, may.error().message);
    return Refuse(403, may.error().message);
  }
  Floor::Press press = terminal.Press();
  Json json;
  json["acknowledged"] = press.acknowledged;
  json["incidents"] = press.incidents;
  AddMutedUntil(terminal, &json);
  return Answer(200, json);
}

HttpResponse StatusOf(Terminal& terminal, const HttpRequest& request) {
  // A gateway that signs its look at us is heard from; anybody may look without.
  bool is_signed = !request.Header("X-Signature").empty();
  if (is_signed && Authentic(terminal, request).ok()) terminal.GatewayHeard();
  HttpResponse response = JsonResponse(200, terminal.StatusText(StatusExtent::kFull));
  response.headers["Cache-Control"] = "no-store";
  return response;
}

HttpResponse SoundOf(Terminal& terminal, const HttpRequest& request) {
  std::string name = request.path.substr(request.path.rfind('/') + 1);
  constexpr std::string_view kExtension = ".wav";
  if (!name.ends_with(kExtension)) return Refuse(404, "no such sound");
  name.resize(name.size() - kExtension.size());
  std::shared_ptr<const Pcm> sound = terminal.Sound(name);
  if (!sound) return Refuse(404, "no such sound, or it has been forgotten");
  HttpResponse response;
  response.content_type = "audio/wav";
  response.headers["Cache-Control"] = "no-store";
  response.body = WriteWav(*sound);
  return response;
}

}  // namespace

HttpRouter TerminalRoutes(Terminal& terminal) {
  HttpRouter router;
  auto add = [&](std::string method, std::string path,
                 HttpResponse (*handle)(Terminal&, const HttpRequest&)) {
    router.Add(std::move(method), std::move(path),
               [&terminal, handle](const HttpRequest& request, const Responder& responder) {
                 responder->Send(handle(terminal, request));
               });
  };
  add("POST", "/api/v1/send_msg", SendMessage);
  add("POST", "/api/v1/ping", Ping);
  add("POST", "/api/v1/ack", Acknowledge);
  add("GET", "/api/v1/status", StatusOf);
  add("GET", "/api/v1/speech/*", SoundOf);
  add("GET", "/healthz", [](Terminal& t, const HttpRequest&) {
    return t.healthy() ? TextResponse(200, "ok\n") : TextResponse(503, "the light stands still\n");
  });
  for (const char* path : {"/", "/terminal.css", "/terminal.js"}) {
    add("GET", path, [](Terminal&, const HttpRequest& request) {
      std::optional<HttpResponse> file = PageFile(request.path);
      return file ? std::move(*file) : TextResponse(404, "not found\n");
    });
  }
  router.Add("GET", "/api/v1/frames", [&terminal](const HttpRequest&, const Responder& responder) {
    if (!terminal.AddPage(*responder)) {
      responder->Send(Refuse(503, "too many pages are open"));
    }
  });
  return router;
}

}  // namespace sentinel
