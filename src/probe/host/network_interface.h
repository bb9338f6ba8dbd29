// The interface a connection leaves by: chosen, found out, and told apart from those that carry
// training traffic.
#pragma once

#include <string>

#include "base/result.h"

struct sockaddr;

namespace sentinel {

// Makes a socket that is not connected yet leave by `interface`: a name (SO_BINDTODEVICE) or one of
// this host's addresses.
Status BindToInterface(int socket, const std::string& interface);

// "10.0.0.5", "fe80::1"; "" for a Unix socket.
std::string AddressText(const sockaddr* address);

// The interface that has this address; "" if none has.
std::string InterfaceOf(const std::string& address);

// Whether it is a port of an InfiniBand or RoCE card: the training network, where monitoring has no
// business. `sysfs` is other than /sys in tests alone.
bool IsTrainingInterface(const std::string& interface, const std::string& sysfs = "/sys");

}  // namespace sentinel
