// Posts one JSON body to one receiver, once: a webhook, signed by the scheme of Standard Webhooks,
// or the API of an Alertmanager.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "base/time.h"
#include "http/message.h"
#include "http/url.h"
#include "signal/output_driver.h"

namespace sentinel {

struct PostSettings {
  HttpUrl url;
  std::vector<std::string> secrets;  // what it is signed with; none: it is not signed
  Duration attempt_timeout = std::chrono::seconds(15);
  Duration connect_timeout = std::chrono::seconds(3);

  bool operator==(const PostSettings&) const = default;
};

class PostDriver final : public OutputDriver {
 public:
  // The body for a notification.
  using Compose = std::function<std::string(const Notification&)>;

  PostDriver(boost::asio::io_context& io, PostSettings settings, Compose compose);
  ~PostDriver() override;
  PostDriver(const PostDriver&) = delete;
  PostDriver& operator=(const PostDriver&) = delete;

  // webhook-id is the notification's id, the same over every attempt; webhook-timestamp is of the
  // attempt.
  void Send(const Notification& notification, std::function<void(SendResult)> done) override;
  void Post(const std::string& id, std::string body, std::function<void(SendResult)> done);

 private:
  boost::asio::io_context& io_;
  PostSettings settings_;
  Compose compose_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace sentinel
