#include "terminal/api.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/clock.h"
#include "terminal/page.h"
#include "wire/json_text.h"
#include "wire/talk_json.h"
#include "wire/terminal_json.h"

namespace sentinel {
namespace {

using Responder = std::unique_ptr<HttpResponder>;

constexpr size_t kIdBytesMax = 128;

HttpResponse Answer(int status, const OrderedJson& json) {
  HttpResponse response = JsonResponse(status, Dump(json));
  response.headers["Cache-Control"] = "no-store";
  return response;
}

HttpResponse Refuse(int status, const std::string& why) {
  OrderedJson json;
  json["error"] = why;
  return Answer(status, json);
}

// Whether the request comes from somebody who holds our secret, by which version of the signature.
// What the signature does not cover is gone from it afterwards.
Result<int> Authentic(Terminal& terminal, HttpRequest* request) {
  auto signer = terminal.authenticator().Check(request, MomentNow());
  if (!signer.ok()) return signer.error();
  return signer->version;
}

// Beside send_msg, which old senders know, nothing depends on v1: it does not cover what a request
// asks for.
Status AuthenticV2(Terminal& terminal, HttpRequest* request) {
  const int version = TRY(Authentic(terminal, request));
  if (version == 2) return {};
  return Error{ErrorCode::kDenied, "signature v1 is good for send_msg alone"};
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

// What a message without a name of its own is known by. A sender without ids cannot repeat one but
// by sending the very bytes again, signature and all; so does whoever has recorded them. v2 is
// taken once anyhow, and whoever stands between may change v1's field beside it: there it is the
// nonce, which is covered.
std::string NameOfUnnamed(const HttpRequest& request, int version) {
  if (version == 2) return "v2:" + std::string(request.Header(kNonceHeader));
  return "v1:" + std::string(request.Header("X-Signature"));
}

Result<FloorMessage> Read(const HttpRequest& request, int version) {
  FloorMessage message;
  message.body = TRY(ParseTerminalMessage(request.body));
  message.severity = DeriveSeverity(message.body);
  message.message_id = TRY(Id(request, "X-Message-Id"));
  message.incident_id = TRY(Id(request, "X-Incident-Id"));
  if (message.message_id.empty()) message.message_id = NameOfUnnamed(request, version);
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

void AddMutedUntil(const Terminal& terminal, OrderedJson* json) {
  std::optional<WallTime> until = terminal.MutedUntil();
  (*json)["muted_until_at"] = until ? OrderedJson(FormatRfc3339(*until)) : OrderedJson(nullptr);
}

HttpResponse SendMessage(Terminal& terminal, HttpRequest& request) {
  const Result<int> authentic = Authentic(terminal, &request);
  if (!authentic.ok()) {
    spdlog::warn("event=message_refused status=401 peer={} why=\"{}\"", request.peer,
                 authentic.error().message);
    return Refuse(401, authentic.error().message);
  }
  terminal.GatewayHeard();
  Result<FloorMessage> message = Read(request, *authentic);
  if (!message.ok()) {
    spdlog::warn("event=message_refused status=400 peer={} why=\"{}\"", request.peer,
                 message.error().message);
    return Refuse(400, message.error().message);
  }
  Terminal::Answer taken = terminal.Message(std::move(message).value());
  OrderedJson json;
  json["id"] = taken.id;
  json["state"] = DispositionName(taken.disposition);
  AddMutedUntil(terminal, &json);
  return Answer(200, json);
}

// What the gateway knows of a press before we were started, or has been told by command; the rest
// of a ping's body is not ours.
void TakeMute(Terminal& terminal, const std::string& body) {
  const PingBody ping = ParsePing(body);
  if (!ping.muted_for) return;
  if (*ping.muted_for == Duration(0)) return terminal.Unmute();
  terminal.Mute(*ping.muted_for);
  if (ping.hush) terminal.Hush();
}

HttpResponse Ping(Terminal& terminal, HttpRequest& request) {
  Status authentic = AuthenticV2(terminal, &request);
  if (!authentic.ok()) return Refuse(401, authentic.error().message);
  terminal.GatewayHeard();
  TakeMute(terminal, request.body);
  OrderedJson json;
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

bool IsSigned(const HttpRequest& request) {
  return !request.Header("X-Signature").empty() || !request.Header(kSignatureHeader).empty();
}

// A press is signed, or comes from the page itself: from the place where buttons may be pressed,
// and not from another site open in the same browser (Origin), nor under a name that only leads
// here (Host).
Status MayPress(Terminal& terminal, HttpRequest& request) {
  if (IsSigned(request)) return AuthenticV2(terminal, &request);
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

HttpResponse Acknowledge(Terminal& terminal, HttpRequest& request) {
  Status may = MayPress(terminal, request);
  if (!may.ok()) {
    spdlog::warn("event=press_refused peer={} why=\"{}\"", request.peer, may.error().message);
    return Refuse(403, may.error().message);
  }
  Floor::Press press = terminal.Press();
  OrderedJson json;
  json["acknowledged"] = press.acknowledged;
  json["incidents"] = press.incidents;
  AddMutedUntil(terminal, &json);
  return Answer(200, json);
}

HttpResponse StatusOf(Terminal& terminal, HttpRequest& request) {
  // A gateway that signs its look at us is heard from; anybody may look without.
  if (IsSigned(request) && AuthenticV2(terminal, &request).ok()) terminal.GatewayHeard();
  HttpResponse response = JsonResponse(200, terminal.StatusText(StatusExtent::kFull));
  response.headers["Cache-Control"] = "no-store";
  return response;
}

HttpResponse SoundOf(Terminal& terminal, HttpRequest& request) {
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
                 HttpResponse (*handle)(Terminal&, HttpRequest&)) {
    router.Add(std::move(method), std::move(path),
               [&terminal, handle](HttpRequest request, const Responder& responder) {
                 responder->Send(handle(terminal, request));
               });
  };
  add("POST", "/api/v1/send_msg", SendMessage);
  add("POST", "/api/v1/ping", Ping);
  add("POST", "/api/v1/ack", Acknowledge);
  add("GET", "/api/v1/status", StatusOf);
  add("GET", "/api/v1/speech/*", SoundOf);
  add("GET", "/api/v1/time", [](Terminal& t, HttpRequest& request) {
    return t.authenticator().Time(request, MomentNow());
  });
  add("GET", "/healthz", [](Terminal& t, HttpRequest&) {
    return t.healthy() ? TextResponse(200, "ok\n") : TextResponse(503, "the light stands still\n");
  });
  for (const char* path : {"/", "/terminal.css", "/terminal.js"}) {
    add("GET", path, [](Terminal&, HttpRequest& request) {
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
