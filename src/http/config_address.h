// Addresses in a daemon's configuration: what nobody could listen on or call is refused where it is
// written.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "http/message.h"

namespace sentinel {

// What a key's text becomes, for TomlReader::Parsed.
using AddressParser = std::function<Result<Endpoint>(const std::string&)>;

// Whether what is listened on may be a host's name, which is resolved at the start.
enum class ServedNames { kResolved, kNone };

// To be listened on: an IP address, `localhost` or, where that is resolved, a name, each with a
// port (0: any that is free), either behind tls:, or unix: and an absolute path.
AddressParser ServedAddress(uint16_t default_port, ServedNames names = ServedNames::kResolved);

// To be called: an IP address of some host, or a name, which is resolved with every attempt, each
// with a port, either behind tls:, or unix: and an absolute path.
AddressParser CalledAddress(uint16_t default_port);

// The absolute path of a Unix socket.
Result<std::string> SocketPath(const std::string& path);

// What would keep this host from using them as it stands, in words; nothing if all is well.
// Warnings only: who checks a configuration need not be on the daemon's host, an interface may come
// up later, and a name that is called may resolve later. Asks the host's resolver, which may take
// its time.
std::vector<std::string> AddressWarnings(const std::vector<Endpoint>& served,
                                         const std::vector<Endpoint>& called);

}  // namespace sentinel
