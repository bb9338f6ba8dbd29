// Says one notification to one terminal, once: posts it signed, judges the answer (shared contract,
// section 4). When to try again is the outbox's business.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <boost/asio/io_context.hpp>

#include "base/time.h"
#include "http/client.h"
#include "http/message.h"
#include "http/signed_client.h"
#include "model/incident.h"
#include "signal/output_driver.h"

namespace sentinel {

constexpr uint16_t kTerminalPort = 80;  // where an address names none

struct TerminalSettings {
  std::string name;
  Endpoint endpoint;
  KeyRing keys;
  SignatureUse signature = SignatureUse::kAuto;
  std::shared_ptr<TlsContext> tls{};  // for a tls: endpoint
  TerminalKind kind = TerminalKind::kSentinel;
  Duration attempt_timeout = std::chrono::seconds(3);
  Duration connect_timeout = std::chrono::seconds(1);

  bool operator==(const TerminalSettings&) const = default;
};

// The conversation that everything said to one terminal is part of.
std::shared_ptr<SignedClient> MakeTerminalClient(boost::asio::io_context& io,
                                                 const TerminalSettings& settings);

class TerminalDriver final : public OutputDriver {
 public:
  TerminalDriver(std::shared_ptr<SignedClient> client, TerminalSettings settings);
  ~TerminalDriver() override;
  TerminalDriver(const TerminalDriver&) = delete;
  TerminalDriver& operator=(const TerminalDriver&) = delete;

  void Send(const Notification& notification, std::function<void(SendResult)> done) override;

  const TerminalSettings& settings() const { return settings_; }

 private:
  std::shared_ptr<SignedClient> client_;
  TerminalSettings settings_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace sentinel
