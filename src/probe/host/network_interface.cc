#include "probe/host/network_interface.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "probe/host/proc_files.h"

namespace sentinel {
namespace {

Error Refused(const std::string& interface) {
  return {ErrorCode::kUnavailable,
          "cannot leave by interface " + interface + ": " + std::strerror(errno)};
}

}  // namespace

Status BindToInterface(int socket, const std::string& interface) {
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  if (inet_pton(AF_INET, interface.c_str(), &v4.sin_addr) == 1) {
    if (bind(socket, reinterpret_cast<const sockaddr*>(&v4), sizeof v4) != 0)
      return Refused(interface);
    return {};
  }
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  if (inet_pton(AF_INET6, interface.c_str(), &v6.sin6_addr) == 1) {
    if (bind(socket, reinterpret_cast<const sockaddr*>(&v6), sizeof v6) != 0)
      return Refused(interface);
    return {};
  }
  if (setsockopt(socket, SOL_SOCKET, SO_BINDTODEVICE, interface.c_str(),
                 static_cast<socklen_t>(interface.size())) != 0) {
    return Refused(interface);
  }
  return {};
}

std::string AddressText(const sockaddr* address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address->sa_family == AF_INET) {
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(address)->sin_addr, text, sizeof text);
  } else if (address->sa_family == AF_INET6) {
    inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr, text,
              sizeof text);
  }
  return text;
}

std::string InterfaceOf(const std::string& address) {
  ifaddrs* first = nullptr;
  if (address.empty() || getifaddrs(&first) != 0) return "";
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> all(first, freeifaddrs);
  for (const ifaddrs* each = first; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr != nullptr && AddressText(each->ifa_addr) == address) return each->ifa_name;
  }
  return "";
}

bool IsTrainingInterface(const std::string& interface, const std::string& sysfs) {
  if (interface.empty() || interface.find('/') != std::string::npos) return false;
  const std::string folder = sysfs + "/class/net/" + interface;
  if (access((folder + "/device/infiniband").c_str(), F_OK) == 0) return true;
  const Result<std::string> type = ReadWhole(folder + "/type", 64);
  return type.ok() && type->rfind(std::to_string(ARPHRD_INFINIBAND), 0) == 0;
}

}  // namespace sentinel
