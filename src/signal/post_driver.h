// Posts one JSON body to one receiver, once: a webhook, signed by the scheme of Standard Webhooks,
// or the API of an Alertmanager.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "base/time.h"
#include "http/message.h"
#include "http/tls.h"
#include "http/url.h"
#include "signal/output_driver.h"

namespace sentinel {

struct PostSettings {
  HttpUrl url;
  std::vector<std::string> secrets;  // what it is signed with; none: it is not signed
  std::shared_ptr<TlsContext> tls;   // whom an https:// receiver has to be; not called without
  Duration attempt_timeout = std::chrono::seconds(15);
  Duration connect_timeout = std::chrono::seconds(3);

  // `tls` aside: it is read anew with every configuration, from files that may be as they were.
  bool operator==(const PostSettings& other) const;
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

  // From the next attempt on.
  void Trust(std::shared_ptr<TlsContext> tls) { settings_.tls = std::move(tls); }

 private:
  boost::asio::io_context& io_;
  PostSettings settings_;
  Compose compose_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace sentinel
