#include "ctl/certificate_authority.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

#include "base/clock.h"
#include "base/testing_folder.h"
#include "http/client.h"
#include "http/server.h"
#include "http/test_peer.h"
#include "http/tls.h"

namespace sentinel {
namespace {

using std::chrono::days;
using testing::HasSubstr;

class CertificateAuthorityTest : public testing::Test {
 protected:
  CertificateAuthorityTest() {
    Status made = CertificateAuthority::Init(ca_, "site", days(3650), WallNow());
    EXPECT_TRUE(made.ok()) << made.error().message;
  }

  TlsFiles Issue(const std::string& name, CertificateUse use, const std::string& ca_folder = "",
                 WallTime now = WallNow()) {
    const std::string& folder = ca_folder.empty() ? ca_ : ca_folder;
    CertificateRequest request;
    request.name = name;
    request.hosts = {"127.0.0.1", "hall-1.example"};
    request.use = use;
    request.valid = days(10);
    auto files = CertificateAuthority(folder).Issue(request, out_, now);
    EXPECT_TRUE(files.ok()) << files.error().message;
    return {files->certificate, files->key, folder + "/ca.crt"};
  }
  TlsFiles TrustAlone() const { return {"", "", ca_ + "/ca.crt"}; }

  // What the client gets: the name the server knows it by, or why it gets nothing.
  std::string Talk(const TlsFiles& server, ClientCertificates clients, const TlsFiles& client,
                   bool client_speaks_tls = true) {
    boost::asio::io_context io;
    auto server_tls = TlsContext::ForServer(server, clients);
    auto client_tls = TlsContext::ForClient(client);
    EXPECT_TRUE(server_tls.ok()) << server_tls.error().message;
    EXPECT_TRUE(client_tls.ok()) << client_tls.error().message;
    auto listening = HttpServer::Listen(
        io, {"127.0.0.1", 0, false, true}, {},
        [](const HttpRequest& request, const std::unique_ptr<HttpResponder>& responder) {
          responder->Send(TextResponse(200, "you are " + request.certificate + request.body));
        },
        *server_tls);
    EXPECT_TRUE(listening.ok());
    HttpRequest request;
    request.method = "POST";
    request.path = "/";
    request.body = std::string(40'000, '.');
    HttpRequestOptions options;
    options.tls = *client_tls;
    std::optional<HttpOutcome> outcome;
    HttpFetch(io, {"127.0.0.1", (*listening)->port(), false, client_speaks_tls}, std::move(request),
              options, [&](HttpOutcome got) { outcome = std::move(got); });
    RunUntil(io, [&] { return outcome.has_value(); });
    if (!outcome->response.ok()) return outcome->response.error().message;
    EXPECT_EQ(outcome->response->body.size(), outcome->response->body.find('.') + 40'000);
    return outcome->response->body.substr(0, outcome->response->body.find('.'));
  }

  TestingFolder home_;
  std::string ca_ = home_.path().string() + "/ca";
  std::string out_ = home_.path().string() + "/out";
};

TEST_F(CertificateAuthorityTest, ItsFilesAreItsOwnersAlone) {
  TlsFiles files = Issue("hall-1", CertificateUse::kBoth);
  for (const std::string& file : {ca_ + "/ca.crt", ca_ + "/ca.key", files.certificate, files.key}) {
    struct stat found {};
    ASSERT_EQ(stat(file.c_str(), &found), 0) << file;
    EXPECT_EQ(found.st_mode & 07777, 0600u) << file;
  }
}

TEST_F(CertificateAuthorityTest, WhatItIssuesTalksAndStrangersAreNotBelieved) {
  TlsFiles server = Issue("hall-1", CertificateUse::kServer);
  EXPECT_EQ(Talk(server, ClientCertificates::kNone, TrustAlone()), "you are ");
  const std::string other = home_.path().string() + "/other";
  ASSERT_TRUE(CertificateAuthority::Init(other, "site", days(3650), WallNow()).ok());
  TlsFiles stranger = Issue("stranger", CertificateUse::kServer, other);
  EXPECT_THAT(Talk(stranger, ClientCertificates::kNone, TrustAlone()), HasSubstr("verify failed"));
  // A client's certificate is no server's.
  TlsFiles client = Issue("agent-1", CertificateUse::kClient);
  EXPECT_THAT(Talk(client, ClientCertificates::kNone, TrustAlone()), HasSubstr("verify failed"));
  EXPECT_THAT(Talk(server, ClientCertificates::kNone, TrustAlone(), /*client_speaks_tls=*/false),
              testing::Not(HasSubstr("you are")));
}

TEST_F(CertificateAuthorityTest, ClientsAreKnownByTheirCertificates) {
  TlsFiles server = Issue("gateway", CertificateUse::kServer);
  TlsFiles client = Issue("agent-1", CertificateUse::kClient);
  EXPECT_EQ(Talk(server, ClientCertificates::kRequired, client), "you are agent-1");
  EXPECT_EQ(Talk(server, ClientCertificates::kOptional, client), "you are agent-1");
  EXPECT_EQ(Talk(server, ClientCertificates::kOptional, TrustAlone()), "you are ");
  EXPECT_EQ(Talk(server, ClientCertificates::kNone, client), "you are ");
  EXPECT_THAT(Talk(server, ClientCertificates::kRequired, TrustAlone()),
              testing::Not(HasSubstr("you are")));
  const std::string other = home_.path().string() + "/other";
  ASSERT_TRUE(CertificateAuthority::Init(other, "site", days(3650), WallNow()).ok());
  TlsFiles stranger = Issue("stranger", CertificateUse::kClient, other);
  stranger.ca = ca_ + "/ca.crt";
  EXPECT_THAT(Talk(server, ClientCertificates::kOptional, stranger),
              testing::Not(HasSubstr("you are")));
}

TEST_F(CertificateAuthorityTest, WhoNeverFinishesTheHandshakeIsLetGo) {
  boost::asio::io_context io;
  auto tls =
      TlsContext::ForServer(Issue("hall-1", CertificateUse::kServer), ClientCertificates::kNone);
  ASSERT_TRUE(tls.ok());
  HttpLimits limits;
  limits.read_timeout = std::chrono::milliseconds(40);
  int asked = 0;
  auto server = HttpServer::Listen(
      io, {"127.0.0.1", 0, false, true}, limits,
      [&](const HttpRequest&, const std::unique_ptr<HttpResponder>&) { ++asked; }, *tls);
  ASSERT_TRUE(server.ok());
  RawClient silent(io, (*server)->port());
  RunUntil(io, [&] { return (*server)->connections() == 1; });
  RunUntil(io, [&] { return (*server)->connections() == 0; });
  RawClient plain(io, (*server)->port());
  plain.Send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(plain.ReadToEnd(), testing::Not(HasSubstr("HTTP")));
  EXPECT_EQ(asked, 0);
}

TEST_F(CertificateAuthorityTest, WhatHasEndedIsNotBelieved) {
  TlsFiles ended = Issue("old", CertificateUse::kServer, "",
                         WallTime{WallNow().since_epoch - std::chrono::hours(24 * 11)});
  EXPECT_THAT(Talk(ended, ClientCertificates::kNone, TrustAlone()), HasSubstr("verify failed"));
}

TEST_F(CertificateAuthorityTest, WhatIsNotMeantIsSaid) {
  EXPECT_FALSE(CertificateAuthority::Init(ca_, "site", days(10), WallNow()).ok());
  EXPECT_FALSE(CertificateAuthority::Init(home_.path().string() + "/x", "a/b", days(1), {}).ok());
  CertificateRequest request;
  auto refusal = [&] {
    auto files = CertificateAuthority(ca_).Issue(request, out_, WallNow());
    return files.ok() ? "issued" : files.error().message;
  };
  request.name = "../evil";
  EXPECT_THAT(refusal(), HasSubstr("no name"));
  request.name = "hall-1";
  EXPECT_THAT(refusal(), HasSubstr("names or addresses"));
  request.hosts = {"hall-1,IP:10.0.0.1"};
  EXPECT_THAT(refusal(), HasSubstr("neither"));
  request.hosts = {"10.0.0.300"};
  EXPECT_THAT(refusal(), HasSubstr("neither"));
  request.hosts = {"10.0.0.9", "fe80::1", "hall-1"};
  EXPECT_EQ(refusal(), "issued");
  EXPECT_THAT(refusal(), HasSubstr("exists"));
  auto none = CertificateAuthority(home_.path().string() + "/none").Issue(request, out_, WallNow());
  EXPECT_EQ(none.error().code, ErrorCode::kNotFound);
}

TEST_F(CertificateAuthorityTest, NoKeyIsLeftBesideACertificateThatWasThere) {
  const TlsFiles files = Issue("hall-1", CertificateUse::kServer);
  ASSERT_TRUE(std::filesystem::remove(files.key));
  CertificateRequest request;
  request.name = "hall-1";
  request.hosts = {"127.0.0.1"};
  EXPECT_FALSE(CertificateAuthority(ca_).Issue(request, out_, WallNow()).ok());
  EXPECT_FALSE(std::filesystem::exists(files.key));
}

TEST_F(CertificateAuthorityTest, InAFolderOfAnotherUsersNoneIsMade) {
  const std::string folder = home_.path().string() + "/others";
  ASSERT_TRUE(std::filesystem::create_directory(folder));
  if (chown(folder.c_str(), 65534, 65534) != 0) GTEST_SKIP() << "needs root";
  EXPECT_FALSE(CertificateAuthority::Init(folder, "site", days(10), WallNow()).ok());
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

TEST_F(CertificateAuthorityTest, AKeyThatOthersCanReadIsRefused) {
  TlsFiles files = Issue("hall-1", CertificateUse::kServer);
  chmod(files.key.c_str(), 0644);
  EXPECT_EQ(TlsContext::ForServer(files, ClientCertificates::kNone).error().code,
            ErrorCode::kDenied);
  chmod(files.key.c_str(), 0600);
  std::swap(files.certificate, files.ca);
  EXPECT_THAT(TlsContext::ForServer(files, ClientCertificates::kNone).error().message,
              HasSubstr(files.key));
  files.certificate = "/nonexistent.crt";
  EXPECT_THAT(TlsContext::ForServer(files, ClientCertificates::kNone).error().message,
              HasSubstr("/nonexistent.crt"));
}

}  // namespace
}  // namespace sentinel
