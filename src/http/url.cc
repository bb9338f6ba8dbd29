#include "http/url.h"

#include <algorithm>

namespace sentinel {
namespace {

constexpr std::string_view kPlain = "http://";
constexpr std::string_view kSecure = "https://";
constexpr uint16_t kHttpPort = 80;
constexpr uint16_t kHttpsPort = 443;
constexpr size_t kUrlBytesMax = 2048;

Error Wrong(std::string_view text, const std::string& why) {
  return Error{ErrorCode::kInvalidArgument, "'" + std::string(text) + "' is not an address: " +
                                                why + " (expected http[s]://host[:port]/path)"};
}

}  // namespace

std::string HttpUrl::ToString() const {
  Endpoint named = endpoint;
  named.tls = false;  // the scheme says it
  return std::string(endpoint.tls ? kSecure : kPlain) + named.ToString() + path +
         (query.empty() ? "" : "?" + query);
}

Result<HttpUrl> ParseHttpUrl(std::string_view text) {
  if (text.size() > kUrlBytesMax) return Wrong(text.substr(0, 64), "it is too long");
  const bool secure = text.starts_with(kSecure);
  if (!secure && !text.starts_with(kPlain)) {
    return Wrong(text, "it begins with neither http:// nor https://");
  }
  const bool printable =
      std::all_of(text.begin(), text.end(), [](unsigned char c) { return c > 0x20 && c < 0x7f; });
  if (!printable) return Wrong(text, "it holds a blank or a character that is not ASCII");
  if (text.find('#') != std::string_view::npos) return Wrong(text, "it has a fragment");
  std::string_view rest = text.substr((secure ? kSecure : kPlain).size());
  const size_t end = rest.find_first_of("/?");
  if (rest.substr(0, end).find('@') != std::string_view::npos) {
    // Whoever reads the complaint need not know the password.
    return Wrong("…", "a user and a password have no place in it; messages are signed");
  }
  HttpUrl url;
  url.endpoint = TRY(ParseEndpoint(rest.substr(0, end), secure ? kHttpsPort : kHttpPort));
  if (url.endpoint.unix_socket || url.endpoint.port == 0) return Wrong(text, "it names no port");
  if (url.endpoint.tls) return Wrong(text, "https:// says that it is TLS, not tls:");
  url.endpoint.tls = secure;
  if (end == std::string_view::npos) return url;
  rest.remove_prefix(end);
  const size_t question = rest.find('?');
  if (question != 0) url.path = rest.substr(0, question);
  if (question != std::string_view::npos) url.query = rest.substr(question + 1);
  return url;
}

}  // namespace sentinel
