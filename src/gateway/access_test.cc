#include "gateway/access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace sentinel {
namespace {

using testing::HasSubstr;

constexpr uid_t kOwn = 990;
constexpr WallTime kNow{std::chrono::milliseconds(1795996334000)};

HttpRequest OverSocket(uid_t uid, std::vector<gid_t> groups = {}) {
  HttpRequest request;
  request.peer = "unix uid=" + std::to_string(uid) + " pid=7";
  request.unix_peer = std::make_shared<const UnixPeer>(UnixPeer{uid, 100, 7, std::move(groups)});
  return request;
}

HttpRequest OverTcp(const std::string& peer) {
  HttpRequest request;
  request.peer = peer;
  request.headers["Host"] = "127.0.0.1:8080";
  return request;
}

class AccessTest : public testing::Test {
 protected:
  Result<Caller> Ask(const HttpRequest& request) const {
    return Access(config_, holders_, kOwn).Identify(request, kNow);
  }
  Role RoleOf(const HttpRequest& request) const { return Ask(request)->role; }
  AccessConfig config_;
  std::vector<KeyHolder> holders_;
};

TEST_F(AccessTest, RootAndTheGatewaysOwnUserAreAdmins) {
  EXPECT_EQ(RoleOf(OverSocket(0)), Role::kAdmin);
  EXPECT_EQ(RoleOf(OverSocket(kOwn)), Role::kAdmin);
  EXPECT_EQ(RoleOf(OverSocket(1000)), Role::kView);
}

TEST_F(AccessTest, AUserGetsTheHighestOfWhatItAndItsGroupsAreGiven) {
  config_.users = {{1000, std::nullopt, Role::kView},
                   {std::nullopt, 27, Role::kAck},
                   {std::nullopt, 100, Role::kView}};
  EXPECT_EQ(RoleOf(OverSocket(1000)), Role::kView);
  EXPECT_EQ(RoleOf(OverSocket(1000, {4, 27})), Role::kAck);
  EXPECT_EQ(RoleOf(OverSocket(1001, {27})), Role::kAck);
  config_.socket = Role::kNone;
  config_.users.pop_back();
  EXPECT_EQ(RoleOf(OverSocket(1001)), Role::kNone);
}

TEST_F(AccessTest, WithoutAKeyThePlaceDecides) {
  EXPECT_EQ(RoleOf(OverTcp("127.0.0.1")), Role::kAck);
  EXPECT_EQ(RoleOf(OverTcp("::1")), Role::kAck);
  EXPECT_EQ(RoleOf(OverTcp("::ffff:127.0.0.1")), Role::kAck);
  EXPECT_EQ(RoleOf(OverTcp("10.0.0.5")), Role::kNone);
  EXPECT_EQ(RoleOf(OverTcp("1.127.0.0")), Role::kNone);
  config_.network = Role::kView;
  EXPECT_EQ(RoleOf(OverTcp("10.0.0.5")), Role::kView);
}

HttpRequest SignedBy(const KeyPair& key, const std::string& peer) {
  HttpRequest request = OverTcp(peer);
  request.signer = std::make_shared<const HttpSigner>(HttpSigner{key, 2});
  return request;
}

TEST_F(AccessTest, AKeyCountsForWhatItIsGivenAndForNothingElse) {
  const KeyPair ops{"ops-1", "0123456789abcdef0123456789abcdef"};
  const KeyPair wall{"wall", "123456789abcdef0123456789abcdef0"};
  holders_ = {{KeyRing(ops), Role::kAdmin}, {KeyRing(wall), Role::kView}};
  EXPECT_EQ(RoleOf(SignedBy(ops, "10.0.0.5")), Role::kAdmin);
  EXPECT_EQ(RoleOf(SignedBy(wall, "127.0.0.1")), Role::kView);
  EXPECT_EQ(RoleOf(SignedBy({"ops-1", "another secret of the same name"}, "127.0.0.1")),
            Role::kNone);
  EXPECT_EQ(Ask(SignedBy(ops, "10.0.0.5"))->Named("alice").by, "key ops-1 (alice)");
  HttpRequest forged = OverTcp("127.0.0.1");
  forged.signer_error = "the signature does not match";
  EXPECT_EQ(Ask(forged).error().code, ErrorCode::kDenied);
}

TEST_F(AccessTest, WhoSignsV1IsNoOperator) {
  const KeyPair ops{"ops-1", "0123456789abcdef0123456789abcdef"};
  holders_ = {{KeyRing(ops), Role::kAdmin}};
  HttpRequest request = OverTcp("127.0.0.1");
  request.signer = std::make_shared<const HttpSigner>(HttpSigner{ops, 1});
  const Result<Caller> caller = Ask(request);
  ASSERT_FALSE(caller.ok());
  EXPECT_THAT(caller.error().message, HasSubstr("v1"));
}

TEST_F(AccessTest, ACertificateIsSomebodyAndHasTheRoleItIsGiven) {
  HttpRequest request = OverTcp("10.0.0.5");
  request.certificate = "wall-1";
  EXPECT_EQ(RoleOf(request), Role::kNone);
  EXPECT_EQ(Ask(request)->who, "certificate wall-1");
  config_.keys = {{"", "wall-1", Role::kAck}, {"", "wall-2", Role::kAdmin}};
  EXPECT_EQ(RoleOf(request), Role::kAck);
}

TEST_F(AccessTest, APageOfAnotherSiteInABrowserOnThisHostIsNobody) {
  HttpRequest request = OverTcp("127.0.0.1");
  request.headers["Origin"] = "http://127.0.0.1:8080";
  EXPECT_EQ(RoleOf(request), Role::kAck);
  request.headers["Origin"] = "https://elsewhere.example";
  EXPECT_EQ(RoleOf(request), Role::kNone);
  request = OverTcp("127.0.0.1");
  request.headers["Host"] = "rebound.example:8080";
  EXPECT_EQ(RoleOf(request), Role::kNone);
}

TEST_F(AccessTest, TheTrailTellsWhatIsProvenFromWhatIsSaid) {
  EXPECT_EQ(Ask(OverSocket(1000))->Named("alice").by, "uid 1000 (alice)");
  EXPECT_EQ(Ask(OverSocket(1000))->Named("").by, "uid 1000");
  const Actor unproven = Ask(OverTcp("127.0.0.1"))->Named("alice");
  EXPECT_EQ(unproven.by, "alice (unproven)");
  EXPECT_EQ(unproven.from, "127.0.0.1");
}

TEST_F(AccessTest, ARefusalSaysWhatIsMissing) {
  EXPECT_EQ(RefusalOf(*Ask(OverSocket(1000)), Role::kAdmin),
            "this needs the role admin; you are uid 1000 and have the role view; [access] of the "
            "gateway's configuration gives roles");
}

TEST(AccessNames, UsersAndGroupsAreFoundByNameOrNumber) {
  EXPECT_EQ(*FindUser("root"), 0u);
  EXPECT_EQ(*FindGroup("root"), 0u);
  EXPECT_EQ(*FindUser("4711"), 4711u);
  EXPECT_THAT(FindGroup("no-such-group-here").error().message, HasSubstr("no-such-group-here"));
}

}  // namespace
}  // namespace sentinel
