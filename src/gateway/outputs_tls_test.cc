// Receivers behind TLS: whom an output believes, and what becomes of an alarm until it does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/testing_folder.h"
#include "ctl/certificate_authority.h"
#include "gateway/output_config.h"
#include "gateway/outputs.h"
#include "http/byte_stream.h"
#include "http/client.h"
#include "http/server.h"
#include "http/test_peer.h"
#include "http/tls.h"

namespace sentinel {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Json = nlohmann::json;

// Says something to the first who asks and hangs up without a word of TLS, as many a small server
// does.
class AbruptReceiver {
 public:
  AbruptReceiver(boost::asio::io_context& io, std::shared_ptr<TlsContext> tls, std::string answer)
      : acceptor_(io, {boost::asio::ip::address_v4::loopback(), 0}), answer_(std::move(answer)) {
    acceptor_.async_accept(
        [this, tls = std::move(tls)](auto error, boost::asio::ip::tcp::socket socket) {
          ASSERT_FALSE(error);
          stream_.emplace(ByteStream::Socket(std::move(socket)), tls);
          stream_->Handshake(TlsSide::kServer, [this](auto failed) {
            ASSERT_FALSE(failed);
            Hear();
          });
        });
  }
  uint16_t port() const { return acceptor_.local_endpoint().port(); }
  bool gone() const { return gone_; }

 private:
  void Hear() {
    stream_->async_read_some(boost::asio::buffer(asked_), [this](auto failed, size_t) {
      ASSERT_FALSE(failed);
      if (answer_.empty()) return HangUp();
      boost::asio::async_write(*stream_, boost::asio::buffer(answer_),
                               [this](auto, size_t) { HangUp(); });
    });
  }
  void HangUp() {
    boost::system::error_code ignored;
    stream_->socket().close(ignored);
    gone_ = true;
  }

  boost::asio::ip::tcp::acceptor acceptor_;
  std::string answer_;
  std::array<char, 4096> asked_;
  std::optional<ByteStream> stream_;
  bool gone_ = false;
};

class OutputsTlsTest : public testing::Test {
 protected:
  OutputsTlsTest() : book_(IncidentPolicy{}, Site({"hall-1"}, {}, {})) {
    for (const char* ca : {"site", "other"}) {
      Status made = CertificateAuthority::Init(In(ca), ca, std::chrono::days(30), WallNow());
      EXPECT_TRUE(made.ok()) << made.error().message;
    }
    Serve("localhost");
    config_.settings.name = "chat";
    config_.ca_file = In("trusted.crt");
    Trust("site");
  }

  std::string In(const std::string& name) const { return home_.path().string() + "/" + name; }

  // The receiver, with a certificate of the site's CA for that host and no other.
  void Serve(const std::string& host) {
    CertificateRequest request;
    request.name = host;
    request.hosts = {host};
    request.use = CertificateUse::kServer;
    request.valid = std::chrono::days(10);
    auto files = CertificateAuthority(In("site")).Issue(request, In("issued"), WallNow());
    ASSERT_TRUE(files.ok()) << files.error().message;
    auto tls =
        TlsContext::ForServer({files->certificate, files->key, ""}, ClientCertificates::kNone);
    ASSERT_TRUE(tls.ok()) << tls.error().message;
    tls_ = *tls;
    Listen({"127.0.0.1", 0, false, true}, tls_);
  }
  void Listen(const Endpoint& endpoint, std::shared_ptr<TlsContext> tls) {
    auto listening = HttpServer::Listen(
        io_, endpoint, {},
        [this](HttpRequest request, const std::unique_ptr<HttpResponder>& responder) {
          requests_.push_back(std::move(request));
          responder->Send(TextResponse(200, ""));
        },
        std::move(tls));
    ASSERT_TRUE(listening.ok()) << listening.error().message;
    server_ = std::move(*listening);
  }

  // From the next load on, the file that is configured holds this CA.
  void Trust(const std::string& ca) {
    std::filesystem::copy_file(In(ca) + "/ca.crt", In("trusted.crt"),
                               std::filesystem::copy_options::overwrite_existing);
  }

  std::vector<OutputSettings> LoadFor(const std::string& host) {
    config_.settings.post.url =
        *ParseHttpUrl("https://" + host + ":" + std::to_string(server_->port()) + "/in");
    auto loaded = LoadOutputs({config_});
    EXPECT_TRUE(loaded.ok()) << loaded.error().message;
    return loaded.ok() ? *loaded : std::vector<OutputSettings>{};
  }

  // What one attempt under that name comes to; "" if it was told.
  std::string Attempt(const std::string& host) { return AttemptWith(LoadFor(host).at(0).post); }
  std::string AttemptAt(const AbruptReceiver& receiver) {
    PostSettings settings = LoadFor("localhost").at(0).post;
    settings.url = *ParseHttpUrl("https://localhost:" + std::to_string(receiver.port()) + "/in");
    std::string why = AttemptWith(std::move(settings));
    RunUntil(io_, [&] { return receiver.gone(); });
    return why;
  }
  std::string AttemptWith(PostSettings settings) {
    PostDriver driver(io_, std::move(settings), [](const Notification&) { return "{}"; });
    std::optional<SendResult> result;
    driver.Post("msg_1", "{}", [&](const SendResult& sent) { result = sent; });
    RunUntil(io_, [&] { return result.has_value(); });
    if (!result) return "no answer";
    EXPECT_EQ(result->outcome,
              result->error.empty() ? SendOutcome::kDelivered : SendOutcome::kUnavailable);
    return result->error;
  }

  TestingFolder home_;
  boost::asio::io_context io_;
  std::shared_ptr<TlsContext> tls_;  // of whom Serve made last
  std::unique_ptr<HttpServer> server_;
  std::vector<HttpRequest> requests_;
  OutputConfig config_;
  IncidentBook book_;
  GatewayMetrics metrics_;
};

TEST_F(OutputsTlsTest, AReceiverIsBelievedUnderTheNameItsCertificateBears) {
  EXPECT_EQ(Attempt("localhost"), "");
  ASSERT_THAT(requests_, SizeIs(1));
  EXPECT_EQ(requests_[0].Header("Host"), "localhost:" + std::to_string(server_->port()));
  EXPECT_THAT(Attempt("127.0.0.1"), HasSubstr("does not bear the name or address that is called"));
  Serve("127.0.0.1");
  EXPECT_EQ(Attempt("127.0.0.1"), "");
  EXPECT_THAT(Attempt("localhost"), HasSubstr("does not bear the name or address that is called"));
  EXPECT_THAT(requests_, SizeIs(2));
}

TEST_F(OutputsTlsTest, AReceiverOfACaThatIsNotTrustedIsToldNothing) {
  Trust("other");
  EXPECT_THAT(Attempt("localhost"), HasSubstr("of no CA that is trusted here"));
  config_.ca_file.clear();  // the host's own do not know it either
  EXPECT_THAT(Attempt("localhost"), HasSubstr("of no CA that is trusted here"));
  EXPECT_THAT(requests_, IsEmpty());
}

TEST_F(OutputsTlsTest, AReceiverIsBelievedByItsOwnCertificateUnderItsName) {
  std::filesystem::copy_file(In("issued") + "/localhost.crt", In("trusted.crt"),
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_EQ(Attempt("localhost"), "");
  EXPECT_THAT(Attempt("127.0.0.1"), HasSubstr("does not bear the name or address that is called"));
  Serve("127.0.0.1");  // of the same CA, which is trusted with nothing else
  EXPECT_THAT(Attempt("127.0.0.1"), HasSubstr("of no CA that is trusted here"));
  EXPECT_THAT(requests_, SizeIs(1));
}

TEST_F(OutputsTlsTest, WhereNoFileIsNamedWhomTheHostTrustsIsTrusted) {
  config_.ca_file.clear();
  setenv("SSL_CERT_FILE", (In("site") + "/ca.crt").c_str(), 1);
  EXPECT_EQ(Attempt("localhost"), "");
  EXPECT_THAT(Attempt("127.0.0.1"), HasSubstr("does not bear"));
  unsetenv("SSL_CERT_FILE");
}

TEST_F(OutputsTlsTest, AReceiverThatSpeaksNoTlsIsSaidTo) {
  Listen({"127.0.0.1", 0, false, false}, nullptr);
  EXPECT_THAT(Attempt("localhost"), HasSubstr("speaks no TLS"));
  EXPECT_THAT(requests_, IsEmpty());
}

// A plain lamp is told the same way: it must not be told again what it has said that it did.
TEST_F(OutputsTlsTest, WhoAnswersAndHangsUpWithoutAWordOfTlsHasAnswered) {
  for (const char* answer : {"HTTP/1.0 200 OK\r\n\r\n", "HTTP/1.0 200 OK\r\n\r\nall of it",
                             "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
                             "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhal"}) {
    AbruptReceiver receiver(io_, tls_, answer);
    EXPECT_EQ(AttemptAt(receiver), "") << answer;
  }
}

TEST_F(OutputsTlsTest, WhoHangsUpBeforeItsHeaderIsWholeHasNotAnswered) {
  for (const char* answer : {"", "HTTP/1.1 200 OK\r\nConte"}) {
    AbruptReceiver receiver(io_, tls_, answer);
    EXPECT_EQ(AttemptAt(receiver), "the connection ended before the answer did") << answer;
  }
}

// It may have done what it heard: a lamp that cannot tell a repeat is not to be asked at once.
TEST_F(OutputsTlsTest, WhoHangsUpUnansweredHasHeardIt) {
  AbruptReceiver receiver(io_, tls_, "");
  HttpRequestOptions options;
  options.tls = LoadFor("localhost").at(0).post.tls;
  HttpRequest request;
  request.method = "POST";
  request.path = "/in";
  request.body = "{}";
  std::optional<HttpOutcome> outcome;
  HttpFetch(io_, {"localhost", receiver.port(), false, true}, request, options,
            [&](HttpOutcome done) { outcome = std::move(done); });
  RunUntil(io_, [&] { return outcome.has_value() && receiver.gone(); });
  EXPECT_FALSE(outcome->response.ok());
  EXPECT_TRUE(outcome->sent);
  EXPECT_EQ(outcome->status, 0);
}

TEST_F(OutputsTlsTest, AnAlarmWaitsUntilItsReceiverIsBelieved) {
  Trust("other");
  RetryPolicy retry;
  retry.pauses = {std::chrono::milliseconds(5)};
  retry.jitter = 0;
  Outputs outputs(io_, LoadFor("localhost"), retry, book_, metrics_, [] {});
  Event event;
  event.event_type = "XID_FATAL";
  event.node_host = "n1";
  const std::string id = book_.OnEvent(event, JobPresence::kUnknown, MomentNow()).incident;
  for (const auto& change : book_.TakeActions().changes) outputs.OnChange(change.incident);
  io_.restart();
  io_.run_for(std::chrono::milliseconds(60));
  EXPECT_THAT(requests_, IsEmpty());
  // The file is put right; the configuration stays as it was and is read again.
  Trust("site");
  outputs.Reconfigure(LoadFor("localhost"));
  RunUntil(io_, [&] { return !requests_.empty(); });
  io_.restart();
  io_.run_for(std::chrono::milliseconds(30));
  ASSERT_THAT(requests_, SizeIs(1));
  const Json body = Json::parse(requests_[0].body);
  EXPECT_EQ(body["type"], "incident.opened");
  EXPECT_EQ(body["data"]["id"], id);
}

TEST_F(OutputsTlsTest, ACaFileThatCannotBeUsedIsRefusedByItsName) {
  config_.settings.post.url = *ParseHttpUrl("https://chat.example/in");
  for (const std::string& path : {In("missing.crt"), In("empty.crt")}) {
    config_.ca_file = path;
    if (path == In("empty.crt")) std::ofstream(path) << "no certificate\n";
    auto loaded = LoadOutputs({config_});
    ASSERT_FALSE(loaded.ok()) << path;
    EXPECT_EQ(loaded.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(loaded.error().message, HasSubstr(path + ": no CA certificate in PEM"));
  }
}

}  // namespace
}  // namespace sentinel
