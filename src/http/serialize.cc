#include "http/serialize.h"

#include <charconv>

namespace sentinel {
namespace {

std::string_view ReasonPhrase(int status) {
  switch (status) {
    case 100:
      return "Continue";
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 301:
      return "Moved Permanently";
    case 302:
      return "Found";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 422:
      return "Unprocessable Content";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 502:
      return "Bad Gateway";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    default:
      return "Unknown";
  }
}

void AppendNumber(size_t number, int base, std::string* out) {
  char digits[24];
  auto [end, error] = std::to_chars(digits, digits + sizeof digits, number, base);
  static_cast<void>(error);  // 24 digits hold every size_t
  out->append(digits, end);
}

// A line break inside a name or value becomes a space: a value never makes a header of its own.
void AppendLineSafe(std::string_view text, std::string* out) {
  for (char c : text) {
    bool control = static_cast<unsigned char>(c) < 0x20 && c != '\t';
    out->push_back(control || c == 0x7f ? ' ' : c);
  }
}

void AppendHeader(std::string_view name, std::string_view value, std::string* out) {
  AppendLineSafe(name, out);
  out->append(": ");
  AppendLineSafe(value, out);
  out->append("\r\n");
}

bool HasNoBody(int status) { return status / 100 == 1 || status == 204 || status == 304; }

}  // namespace

void AppendResponse(const HttpResponse& response, BodyFraming framing, ConnectionFate fate,
                    std::string_view date, std::string* out) {
  constexpr size_t kHeadReserve = 256;
  size_t needed = out->size() + kHeadReserve + response.body.size();
  if (out->capacity() < needed) out->reserve(needed);
  out->append("HTTP/1.1 ");
  AppendNumber(static_cast<size_t>(response.status), 10, out);
  out->push_back(' ');
  out->append(ReasonPhrase(response.status));
  out->append("\r\nDate: ");
  out->append(date);
  out->append("\r\n");
  if (!response.content_type.empty() && !HasNoBody(response.status)) {
    AppendHeader("Content-Type", response.content_type, out);
  }
  for (const auto& [name, value] : response.headers) AppendHeader(name, value, out);
  if (fate == ConnectionFate::kClose) out->append("Connection: close\r\n");
  if (fate == ConnectionFate::kKeepHttp10) out->append("Connection: keep-alive\r\n");
  switch (framing) {
    case BodyFraming::kLength:
    case BodyFraming::kNoBody:
      if (!HasNoBody(response.status)) {
        out->append("Content-Length: ");
        AppendNumber(response.body.size(), 10, out);
        out->append("\r\n");
      }
      out->append("\r\n");
      if (framing == BodyFraming::kLength && !HasNoBody(response.status)) {
        out->append(response.body);
      }
      return;
    case BodyFraming::kChunked:
      out->append("Transfer-Encoding: chunked\r\n\r\n");
      return;
    case BodyFraming::kUntilEnd:
      out->append("\r\n");
      return;
  }
}

void AppendChunk(std::string_view chunk, std::string* out) {
  AppendNumber(chunk.size(), 16, out);
  out->append("\r\n");
  out->append(chunk);
  out->append("\r\n");
}

std::string SerializeRequest(const HttpRequest& request, std::string_view host) {
  std::string out;
  AppendLineSafe(request.method, &out);
  out.push_back(' ');
  AppendLineSafe(request.path.empty() ? "/" : request.path, &out);
  if (!request.query.empty()) {
    out.push_back('?');
    AppendLineSafe(request.query, &out);
  }
  out.append(" HTTP/1.1\r\n");
  AppendHeader("Host", host, &out);
  for (const auto& [name, value] : request.headers) AppendHeader(name, value, &out);
  if (!request.body.empty() || (request.method != "GET" && request.method != "HEAD")) {
    out.append("Content-Length: ");
    AppendNumber(request.body.size(), 10, &out);
    out.append("\r\n");
  }
  out.append("Connection: close\r\n\r\n");
  out.append(request.body);
  return out;
}

}  // namespace sentinel
