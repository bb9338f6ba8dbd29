#include "ring/live/port_reservation.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace sentinel {

Result<PortReservation> PortReservation::Take(size_t ports) {
  PortReservation reservation;
  for (size_t i = 0; i < ports; ++i) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return Error{ErrorCode::kIo, std::string("socket: ") + std::strerror(errno)};
    reservation.sockets_.push_back(fd);
    const int one = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* const general = reinterpret_cast<sockaddr*>(&address);
    if (bind(fd, general, length) != 0 || getsockname(fd, general, &length) != 0) {
      return Error{ErrorCode::kIo, std::string("a port on loopback: ") + std::strerror(errno)};
    }
    reservation.ports_.push_back(ntohs(address.sin_port));
  }
  return reservation;
}

PortReservation::~PortReservation() {
  for (const int fd : sockets_) close(fd);
}

}  // namespace sentinel
