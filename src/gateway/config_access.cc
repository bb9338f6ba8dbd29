#include "gateway/config_access.h"

#include <string>
#include <utility>

namespace sentinel {
namespace {

Result<Role> RoleOf(const std::string& name) {
  const std::optional<Role> role = RoleFromName(name);
  if (role) return *role;
  return Error{ErrorCode::kInvalidArgument, "one of none, view, ack, admin is expected"};
}

}  // namespace

void ReadAccess(TomlReader* reader, AccessConfig* access) {
  reader->Parsed("socket", RoleOf, &access->socket);
  reader->Parsed("loopback", RoleOf, &access->loopback);
  reader->Parsed("network", RoleOf, &access->network);
  reader->Sections("users", [access](TomlReader& table) {
    UnixGrant grant;
    table.Parsed("user", FindUser, &grant.user);
    table.Parsed("group", FindGroup, &grant.group);
    table.Parsed("role", RoleOf, &grant.role);
    if (grant.user.has_value() == grant.group.has_value()) {
      table.Conflict("role", "either a user or a group is expected");
    }
    access->users.push_back(grant);
  });
  reader->Sections("keys", [access](TomlReader& table) {
    KeyGrant grant;
    table.File("key_file", &grant.key_file);
    table.Text("certificate", &grant.certificate);
    table.Parsed("role", RoleOf, &grant.role);
    if (grant.key_file.empty() == grant.certificate.empty()) {
      table.Conflict("role", "either a key_file or a certificate is expected");
    }
    access->keys.push_back(std::move(grant));
  });
}

}  // namespace sentinel
