#include "gateway/access.h"

#include <grp.h>
#include <pwd.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace sentinel {
namespace {

template <typename Id>
std::optional<Id> Number(const std::string& text) {
  Id id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return id;
}

bool Loopback(std::string_view peer) {
  return peer.starts_with("127.") || peer == "::1" || peer.starts_with("::ffff:127.");
}

bool IsAddress(std::string_view host) {
  if (host.starts_with('[')) return true;
  const std::string_view name = host.substr(0, host.rfind(':'));
  return name == "localhost" || (!name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= '0' && c <= '9') || c == '.';
         }));
}

// A page of another site that is open in a browser on this host can send requests here, and under a
// name of its own that leads here it can read the answers. What nothing proves is then not
// believed.
bool FromAnotherSite(const HttpRequest& request) {
  const std::string_view host = request.Header("Host");
  const std::string_view origin = request.Header("Origin");
  if (!origin.empty() && origin != "http://" + std::string(host) &&
      origin != "https://" + std::string(host)) {
    return true;
  }
  return Loopback(request.peer) && !host.empty() && !IsAddress(host);
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
    caller.who = "key " + request.signer->key.key;
    for (const KeyHolder& holder : holders_) {
      if (holder.keys.Holds(request.signer->key, now))
        caller.role = std::max(caller.role, holder.role);
    }
    return caller;
  }
  if (FromAnotherSite(request)) return caller;
  caller.role = Loopback(request.peer) ? config_.loopback : config_.network;
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
