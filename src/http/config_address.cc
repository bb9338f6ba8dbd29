#include "http/config_address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "config/host_name.h"

namespace sentinel {
namespace {

constexpr size_t kLabelBytesMax = 63;

Error Unfit(std::string what) { return {ErrorCode::kInvalidArgument, std::move(what)}; }

bool IsV4(const std::string& host) {
  in_addr address{};
  return inet_pton(AF_INET, host.c_str(), &address) == 1;
}

// Also with a zone behind it: fe80::1%eno1.
bool IsV6(const std::string& host) {
  in6_addr address{};
  return inet_pton(AF_INET6, host.substr(0, host.find('%')).c_str(), &address) == 1;
}

bool IsLiteral(const std::string& host) { return IsV4(host) || IsV6(host); }

// However it is written: [::0] and [0:0:0:0:0:0:0:0] are [::].
bool IsAny(const std::string& host) {
  in_addr v4{};
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) return v4.s_addr == INADDR_ANY;
  in6_addr v6{};
  return inet_pton(AF_INET6, host.c_str(), &v6) == 1 &&
         std::memcmp(&v6, &in6addr_any, sizeof v6) == 0;
}

bool IsLabel(std::string_view label) {
  return !label.empty() && label.size() <= kLabelBytesMax && label.front() != '-' &&
         label.back() != '-' && std::all_of(label.begin(), label.end(), [](unsigned char c) {
           return isalnum(c) || c == '-' || c == '_';
         });
}

bool IsHostName(std::string_view host) {
  if (host.ends_with('.')) host.remove_suffix(1);
  if (host.empty() || host.size() > kHostNameBytesMax) return false;
  while (true) {
    const size_t dot = host.find('.');
    if (!IsLabel(host.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    host.remove_prefix(dot + 1);
  }
}

Status CheckHost(const std::string& text, const std::string& host) {
  if (text.find('[') != std::string::npos) {
    if (IsV6(host)) return {};
    return Unfit("'" + text + "': '" + host + "' is not an IPv6 address");
  }
  if (host.find_first_not_of("0123456789.") == std::string::npos) {
    if (IsV4(host)) return {};
    return Unfit("'" + text + "': '" + host + "' is not an IPv4 address");
  }
  if (IsHostName(host)) return {};
  return Unfit("'" + text + "': '" + host +
               "' is neither an IP address nor a host name (letters, digits, '-', '_' and '.')");
}

Result<Endpoint> AnyAddress(const std::string& text, uint16_t default_port) {
  Endpoint endpoint = TRY(ParseEndpoint(text, default_port));
  if (endpoint.unix_socket) {
    TRY(SocketPath(endpoint.host));
  } else {
    TRY(CheckHost(text, endpoint.host));
  }
  return endpoint;
}

using Addresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

// Empty with the resolver's words in `why` if there are none.
Addresses Resolve(const Endpoint& endpoint, std::string* why) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = IsLiteral(endpoint.host) ? AI_NUMERICHOST : 0;
  addrinfo* found = nullptr;
  const int failed = getaddrinfo(endpoint.host.c_str(), nullptr, &wanted, &found);
  if (failed != 0) {
    *why = failed == EAI_SYSTEM ? std::strerror(errno) : gai_strerror(failed);
    return {nullptr, freeaddrinfo};
  }
  return {found, freeaddrinfo};
}

// Whether this host has that address: a socket is bound to it, at any port, and closed.
Status IsHere(const addrinfo& address) {
  const int fd = socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return Error{ErrorCode::kIo, std::strerror(errno)};
  Status here;
  if (bind(fd, address.ai_addr, address.ai_addrlen) != 0) {
    here = Error{ErrorCode::kIo, std::strerror(errno)};
  }
  close(fd);
  return here;
}

std::string SocketWarning(const Endpoint& endpoint) {
  const std::string& path = endpoint.host;
  struct stat found {};
  if (lstat(path.c_str(), &found) == 0) {
    return S_ISSOCK(found.st_mode) ? "" : "the path is taken by something that is no socket";
  }
  const std::string folder = path.substr(0, std::max<size_t>(path.rfind('/'), 1));
  if (stat(folder.c_str(), &found) != 0) return folder + ": " + std::strerror(errno);
  return S_ISDIR(found.st_mode) ? "" : folder + ": " + std::strerror(ENOTDIR);
}

std::string Numeric(const addrinfo& address) {
  char text[NI_MAXHOST] = "";
  const int failed = getnameinfo(address.ai_addr, address.ai_addrlen, text, sizeof text, nullptr, 0,
                                 NI_NUMERICHOST);
  return failed == 0 ? text : "";
}

// What is listened on, address and port as numbers, and how it is written.
using Taken = std::map<std::pair<std::string, uint16_t>, std::string>;

std::string ServedWarning(const Endpoint& endpoint, Taken* taken) {
  if (endpoint.unix_socket) return SocketWarning(endpoint);
  std::string why;
  const Addresses addresses = Resolve(endpoint, &why);
  if (addresses == nullptr) return "it does not resolve now: " + why + "; the start needs it";
  const Status here = IsHere(*addresses);
  if (!here.ok()) return "it is no address of this host now: " + here.error().message;
  if (endpoint.port == 0) return "";  // any that is free
  const auto [other, fresh] =
      taken->try_emplace({Numeric(*addresses), endpoint.port}, endpoint.ToString());
  if (fresh) return "";
  return "it is " + other->first.first + " now, which " + other->second +
         " listens on as well; the start needs an address for each";
}

std::string CalledWarning(const Endpoint& endpoint) {
  if (endpoint.unix_socket || IsLiteral(endpoint.host)) return "";
  std::string why;
  if (Resolve(endpoint, &why) != nullptr) return "";
  return "it does not resolve now: " + why + "; it is asked for again with every attempt";
}

}  // namespace

Result<std::string> SocketPath(const std::string& path) {
  if (!path.starts_with('/') || path.ends_with('/')) {
    return Unfit("'" + path + "': the absolute path of a socket is expected");
  }
  const Result<Endpoint> endpoint = ParseEndpoint("unix:" + path, 0);
  if (!endpoint.ok()) return Unfit("'" + path + "': longer than a socket's path may be, 107 bytes");
  return path;
}

AddressParser ServedAddress(uint16_t default_port, ServedNames names) {
  return [default_port, names](const std::string& text) -> Result<Endpoint> {
    Endpoint endpoint = TRY(AnyAddress(text, default_port));
    const bool named =
        !endpoint.unix_socket && !IsLiteral(endpoint.host) && endpoint.host != "localhost";
    if (named && names == ServedNames::kNone) {
      return Unfit("'" + text + "': an IP address of this host is expected, [v6] in brackets, " +
                   "either behind tls:, or unix:/path");
    }
    return endpoint;
  };
}

AddressParser CalledAddress(uint16_t default_port) {
  return [default_port](const std::string& text) -> Result<Endpoint> {
    Endpoint endpoint = TRY(AnyAddress(text, default_port));
    if (endpoint.unix_socket) return endpoint;
    if (endpoint.port == 0) return Unfit("'" + text + "': a port from 1 to 65535 is expected");
    if (IsAny(endpoint.host)) {
      return Unfit("'" + text + "' means every address of a host: one of them is expected");
    }
    return endpoint;
  };
}

std::vector<std::string> AddressWarnings(const std::vector<Endpoint>& served,
                                         const std::vector<Endpoint>& called) {
  std::vector<std::string> warnings;
  std::set<std::string> told;  // a host stands for all its ports
  const auto tell = [&](const Endpoint& endpoint, const std::string& warning) {
    if (!warning.empty()) warnings.push_back(endpoint.ToString() + ": " + warning);
  };
  Taken taken;
  for (const Endpoint& endpoint : served) tell(endpoint, ServedWarning(endpoint, &taken));
  for (const Endpoint& endpoint : called) {
    if (told.insert(endpoint.host).second) tell(endpoint, CalledWarning(endpoint));
  }
  return warnings;
}

}  // namespace sentinel
