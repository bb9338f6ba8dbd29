// Who may do what to a gateway: a caller is known by what the kernel says of the other end of a
// Unix socket, by the key a request is signed with, or by nothing but where it comes from.
//
// Senders of events and the buttons of terminals are not callers: their paths have rules of their
// own. Pure but for the names of users and groups, which are looked up when a configuration is
// read.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "http/message.h"
#include "model/audit.h"
#include "signature/key_ring.h"

namespace sentinel {

// Each may do what those before it may.
enum class Role : uint8_t {
  kNone,
  kView,   // read
  kAck,    // acknowledge, mute, unmute
  kAdmin,  // silence, drain, test, look into the configuration
};
std::string_view RoleName(Role role);  // "none" "view" "ack" "admin"
std::optional<Role> RoleFromName(std::string_view name);

// A user or a group of this host.
struct UnixGrant {
  std::optional<uid_t> user;
  std::optional<gid_t> group;
  Role role = Role::kView;
};
// Whoever signs with a key of that file or folder, or whose connection has shown the certificate of
// that common name; one of the two.
struct KeyGrant {
  std::string key_file;
  std::string certificate;
  Role role = Role::kView;
};
// The keys of such a file.
struct KeyHolder {
  KeyRing keys;
  Role role = Role::kView;
};

// Root and the user the gateway runs as are always admins on the Unix socket.
struct AccessConfig {
  Role socket = Role::kView;   // whoever else can open the Unix socket
  Role loopback = Role::kAck;  // over TCP from this host, without a key
  Role network = Role::kNone;  // over TCP from another host, without a key
  std::vector<UnixGrant> users;
  std::vector<KeyGrant> keys;
};

// By name or decimal number. kNotFound if this host has none of that name.
Result<uid_t> FindUser(const std::string& name);
Result<gid_t> FindGroup(const std::string& name);

struct Caller {
  Role role = Role::kNone;
  // "uid 1000", "key ops-1", "certificate wall-1", or "" where nothing proves it.
  std::string who;
  std::string from;  // "unix uid=1000 pid=42", an address

  // For the audit trail: who it is, and who it says it is.
  Actor Named(const std::string& says) const;
};

class Access {
 public:
  // `holders`: the keys that the configuration gives roles to. `own`: the user we run as.
  Access(AccessConfig config, std::vector<KeyHolder> holders, uid_t own);

  // kDenied: signed, but not so that it can be believed.
  Result<Caller> Identify(const HttpRequest& request, WallTime now) const;

 private:
  Role OfUnix(const UnixPeer& peer) const;
  Role OfCertificate(const std::string& name) const;

  AccessConfig config_;
  std::vector<KeyHolder> holders_;
  uid_t own_;
};

// What is missing, and who can give it.
std::string RefusalOf(const Caller& caller, Role needed);

}  // namespace sentinel
