#include "http/unix_peer.h"

#include <sys/socket.h>

#include <algorithm>

namespace sentinel {

bool UnixPeer::InGroup(gid_t group) const {
  return gid == group || std::find(groups.begin(), groups.end(), group) != groups.end();
}

std::optional<UnixPeer> PeerOf(int socket) {
  int family = 0;
  socklen_t size = sizeof family;
  if (getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &family, &size) != 0 || family != AF_UNIX) {
    return std::nullopt;
  }
  ucred credentials{};
  size = sizeof credentials;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return std::nullopt;
  UnixPeer peer;
  peer.uid = credentials.uid;
  peer.gid = credentials.gid;
  peer.pid = credentials.pid;
  std::vector<gid_t> groups(kPeerGroupsMax);
  size = static_cast<socklen_t>(groups.size() * sizeof(gid_t));
  if (getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &size) == 0) {
    groups.resize(size / sizeof(gid_t));
    peer.groups = std::move(groups);
  }
  return peer;
}

}  // namespace sentinel
