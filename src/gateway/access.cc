#include "gateway/access.h"

#include <grp.h>
#include <pwd.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "gateway/browser_page.h"

namespace sentinel {
namespace {

template <typename Id>
std::optional<Id> Number(const std::string& text) {
  Id id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return id;
}

}  // namespace

std::string_view RoleName(Role role) {
  switch (role) {
    case Role::kNone:
      return "none";
    case Role::kView:
      return "view";
    case Role::kAck:
      return "ack";
    case Role::kAdmin:
      return "admin";
  }
  return "";
}

std::optional<Role> RoleFromName(std::string_view name) {
  for (const Role role : {Role::kNone, Role::kView, Role::kAck, Role::kAdmin}) {
    if (RoleName(role) == name) return role;
  }
  return std::nullopt;
}

Result<uid_t> FindUser(const std::string& name) {
  if (const auto number = Number<uid_t>(name)) return *number;
  const passwd* found = getpwnam(name.c_str());
  if (found != nullptr) return found->pw_uid;
  return Error{ErrorCode::kNotFound, "there is no user '" + name + "' on this host"};
}

Result<gid_t> FindGroup(const std::string& name) {
  if (const auto number = Number<gid_t>(name)) return *number;
  const group* found = getgrnam(name.c_str());
  if (found != nullptr) return found->gr_gid;
  return Error{ErrorCode::kNotFound, "there is no group '" + name + "' on this host"};
}

Actor Caller::Named(const std::string& says) const {
  Actor actor{who, from};
  if (who.empty()) {
    actor.by = says + " (unproven)";
  } else if (!says.empty()) {
    actor.by = who + " (" + says + ")";
  }
  return actor;
}

Access::Access(AccessConfig config, std::vector<KeyHolder> holders, uid_t own)
    : config_(std::move(config)), holders_(std::move(holders)), own_(own) {}

Role Access::OfUnix(const UnixPeer& peer) const {
  if (peer.uid == 0 || peer.uid == own_) return Role::kAdmin;
  Role role = config_.socket;
  for (const UnixGrant& grant : config_.users) {
    const bool fits =
        (grant.user && *grant.user == peer.uid) || (grant.group && peer.InGroup(*grant.group));
    if (fits) role = std::max(role, grant.role);
  }
  return role;
}

Role Access::OfCertificate(const std::string& name) const {
  Role role = Role::kNone;
  for (const KeyGrant& grant : config_.keys) {
    if (!grant.certificate.empty() && grant.certificate == name) role = std::max(role, grant.role);
  }
  return role;
}

Result<Caller> Access::Identify(const HttpRequest& request, WallTime now) const {
  Caller caller;
  caller.from = request.peer;
  if (request.unix_peer != nullptr) {
    caller.role = OfUnix(*request.unix_peer);
    caller.who = "uid " + std::to_string(request.unix_peer->uid);
    return caller;
  }
  if (!request.signer_error.empty()) return Error{ErrorCode::kDenied, request.signer_error};
  if (request.signer != nullptr) {
    // It covers neither path nor method: a captured unmute would be a mute, for half a minute and
    // as often as anybody likes.
    if (request.signer->version != 2) {
      return Error{ErrorCode::kDenied, "signature v1 is good for events alone; sign with v2"};
    }
    caller.who = "key " + request.signer->key.key;
    for (const KeyHolder& holder : holders_) {
      if (holder.keys.Holds(request.signer->key, now))
        caller.role = std::max(caller.role, holder.role);
    }
    return caller;
  }
  // What nothing proves is not believed of a page in a browser.
  if (FromAnotherSite(request)) return caller;
  caller.role = IsLoopback(request.peer) ? config_.loopback : config_.network;
  if (!request.certificate.empty()) {
    caller.who = "certificate " + request.certificate;
    caller.role = std::max(caller.role, OfCertificate(request.certificate));
  }
  return caller;
}

std::string RefusalOf(const Caller& caller, Role needed) {
  const std::string who = caller.who.empty() ? "nobody we know, from " + caller.from : caller.who;
  return "this needs the role " + std::string(RoleName(needed)) + "; you are " + who +
         " and have the role " + std::string(RoleName(caller.role)) +
         "; [access] of the gateway's configuration gives roles";
}

}  // namespace sentinel
