// Who is at the other end of a Unix socket, as the kernel knows it: nobody can claim to be another.
#pragma once

#include <sys/types.h>

#include <optional>
#include <vector>

namespace sentinel {

// Supplementary groups that are asked for; a peer in more of them is known by its uid and gid
// alone.
constexpr size_t kPeerGroupsMax = 1024;

struct UnixPeer {
  uid_t uid = 0;
  gid_t gid = 0;
  pid_t pid = 0;
  std::vector<gid_t> groups;  // supplementary

  bool InGroup(gid_t group) const;
};

// As of when it connected. Nothing for what is no Unix socket.
std::optional<UnixPeer> PeerOf(int socket);

}  // namespace sentinel
