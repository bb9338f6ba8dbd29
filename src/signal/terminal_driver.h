// Says one notification to one terminal, once: signs it, posts it, judges the answer (shared
// contract, section 4). When to try again is the outbox's business.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <boost/asio/io_context.hpp>

#include "base/time.h"
#include "http/client.h"
#include "http/key_file.h"
#include "http/message.h"
#include "model/incident.h"
#include "signal/output_driver.h"

namespace sentinel {

constexpr uint16_t kTerminalPort = 80;  // where an address names none

struct TerminalSettings {
  std::string name;
  Endpoint endpoint;
  KeyPair keys;
  TerminalKind kind = TerminalKind::kSentinel;
  Duration attempt_timeout = std::chrono::seconds(3);
  Duration connect_timeout = std::chrono::seconds(1);

  bool operator==(const TerminalSettings&) const = default;
};

class TerminalDriver final : public OutputDriver {
 public:
  TerminalDriver(boost::asio::io_context& io, TerminalSettings settings);
  ~TerminalDriver() override;
  TerminalDriver(const TerminalDriver&) = delete;
  TerminalDriver& operator=(const TerminalDriver&) = delete;

  void Send(const Notification& notification, std::function<void(SendResult)> done) override;

  // A signed request of any other kind, stamped by the terminal's clock as far as it is known, and
  // what its refusal tells of that clock.
  HttpRequest SignedPost(std::string path, std::string body) const;
  void LearnClock(const HttpResponse& refusal);

  // How far the terminal's clock is ahead of ours, as far as it had to be learned: a terminal
  // without a battery wakes up in another year and refuses whatever is stamped with this one. After
  // a refusal (401, 403) its own Date is believed from the next attempt on.
  std::chrono::seconds clock_ahead() const;

  const TerminalSettings& settings() const { return settings_; }

 private:
  struct Shared;

  HttpRequest Request(const Notification& notification) const;

  boost::asio::io_context& io_;
  TerminalSettings settings_;
  std::shared_ptr<Shared> shared_;
};

}  // namespace sentinel
