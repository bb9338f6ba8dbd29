// Sockets of this machine alone.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

#include "base/result.h"

namespace sentinel {

inline sockaddr_in Loopback(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

// What errno says of a call that has just failed.
inline Error IoError(const char* what) {
  return Error{ErrorCode::kIo, std::string(what) + ": " + std::strerror(errno)};
}

}  // namespace sentinel
