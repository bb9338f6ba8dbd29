// Ports on loopback for processes that are yet to listen there, which nobody else is given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.h"

namespace sentinel {

class PortReservation {
 public:
  // Holds each port with a socket that is bound and does not listen; a process that binds it with
  // SO_REUSEADDR may listen beside that.
  static Result<PortReservation> Take(size_t ports);

  PortReservation(PortReservation&& other) noexcept = default;
  PortReservation& operator=(PortReservation&&) = delete;
  ~PortReservation();

  const std::vector<uint16_t>& ports() const { return ports_; }

 private:
  PortReservation() = default;

  std::vector<int> sockets_;
  std::vector<uint16_t> ports_;
};

}  // namespace sentinel
