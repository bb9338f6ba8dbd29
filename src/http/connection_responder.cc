#include "http/connection_responder.h"

#include <string>
#include <utility>

#include "base/check.h"

namespace sentinel {
namespace {

class StreamOnConnection final : public HttpStream {
 public:
  explicit StreamOnConnection(std::weak_ptr<Connection> connection)
      : connection_(std::move(connection)) {}
  ~StreamOnConnection() override { Close(); }

  bool Write(std::string chunk) override {
    auto connection = connection_.lock();
    return connection && connection->WriteStream(chunk);
  }
  void Close() override {
    if (auto connection = connection_.lock()) connection->EndStream();
    connection_.reset();
  }
  bool open() const override {
    auto connection = connection_.lock();
    return connection && connection->streaming();
  }

 private:
  std::weak_ptr<Connection> connection_;
};

class ResponderOnConnection final : public HttpResponder {
 public:
  explicit ResponderOnConnection(std::shared_ptr<Connection> connection)
      : connection_(std::move(connection)) {}
  ~ResponderOnConnection() override {
    if (connection_) connection_->Respond(TextResponse(500, "Internal Server Error"));
  }

  void Send(HttpResponse response) override {
    CHECK(connection_);  // one answer to one request
    std::exchange(connection_, nullptr)->Respond(response);
  }
  std::shared_ptr<HttpStream> Stream(HttpResponse head) override {
    CHECK(connection_);
    auto stream = std::make_shared<StreamOnConnection>(connection_);
    std::exchange(connection_, nullptr)->BeginStream(head);
    return stream;
  }

 private:
  std::shared_ptr<Connection> connection_;
};

}  // namespace

std::unique_ptr<HttpResponder> ResponderOf(std::shared_ptr<Connection> connection) {
  return std::make_unique<ResponderOnConnection>(std::move(connection));
}

}  // namespace sentinel
