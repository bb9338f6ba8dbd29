// The outbox with hands: sends what is due, tells the book what became of it, and keeps an eye on
// which terminals answer at all.
//
// A terminal of ours answers a signed ping (and so knows that we live); one that has no such path
// is a plain lamp, which forgets everything but its last message and is sent pictures.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/time.h"
#include "gateway/delivery_pace.h"
#include "incident/incident_book.h"
#include "outbox/outbox.h"
#include "signal/terminal_driver.h"
#include "web/metrics.h"

namespace sentinel {

struct TerminalStatus {
  std::string name;
  std::string address;
  std::string kind;  // "sentinel", "plain", "unknown"
  bool reachable = false;
  std::optional<Moment> answered;
  std::string error;  // of the last attempt that failed, until one succeeds
};

class Deliveries {
 public:
  // `turn` is called after the book has been told something. All references outlive this object.
  Deliveries(boost::asio::io_context& io, std::vector<TerminalSettings> terminals,
             DeliveryPace pace, IncidentBook& book, GatewayMetrics& metrics,
             std::function<void()> turn);
  ~Deliveries();

  void Accept(Notification notification, Instant now) {
    outbox_.Accept(std::move(notification), now);
  }
  void Cancel(const IncidentBook::Cancel& cancel) {
    outbox_.Cancel(cancel.incident, cancel.terminal);
  }
  // Sends what is due and tells the book what is settled. True if it told anything.
  bool Pump(Moment now);
  std::optional<Instant> NextWake() const { return outbox_.NextWake(); }

  // One that is configured as before goes on as before, and so do all attempts under way. What
  // waits for one that is gone is given up.
  void Reconfigure(std::vector<TerminalSettings> terminals, DeliveryPace pace, Moment now);

  // Which life of a terminal an earlier process last spoke to, and who is told of a new one: what
  // burns is then sent again.
  void RememberBoot(const std::string& terminal, const std::string& boot_id);
  void OnBoot(std::function<void(const std::string& terminal, const std::string& boot_id)> told) {
    on_boot_ = std::move(told);
  }

  // Which terminals have proven to know signature v2, in an earlier process and now for the first
  // time: they are never spoken to with v1 alone again.
  void RememberProven(const std::string& terminal);
  bool Proven(const std::string& terminal) const;
  void OnProven(std::function<void(const std::string& terminal)> told) {
    on_proven_ = std::move(told);
  }

  // A mute that has just begun or ended by command: the terminal is told at once, so that it stops
  // in the middle of a sentence, or gives up the mute of a press of its own button.
  void TellMute(const std::string& terminal);

  // What finally became of each message, after the book has been told.
  void OnOutcome(std::function<void(const Outbox::Outcome&)> told) {
    on_outcome_ = std::move(told);
  }

  bool Knows(const std::string& terminal) const { return terminals_.contains(terminal); }
  // ": and why", of the last attempt that failed; empty if it succeeded.
  std::string TroubleOf(const std::string& terminal) const;
  std::vector<TerminalStatus> Status() const;
  const Outbox& outbox() const { return outbox_; }

 private:
  enum class Kind : uint8_t { kUnknown, kSentinel, kPlain };
  struct Terminal {
    TerminalSettings settings;
    // Shared with the attempts under way: another configuration ends none of them.
    std::shared_ptr<SignedClient> client;
    std::shared_ptr<TerminalDriver> sentinel;
    std::shared_ptr<TerminalDriver> plain;
    std::unique_ptr<boost::asio::steady_timer> ping_timer;
    Kind kind = Kind::kUnknown;
    Instant contact;  // the last answer, or our start
    std::optional<Moment> answered;
    std::optional<Instant> unwilling;  // since when it answers and takes no message
    bool lost = false;
    std::string error;
    std::string boot_id;  // empty: not known
    bool pinging = false;
    bool hurry = false;      // the next ping is due at once
    bool tell_mute = false;  // a command about its mute is to be told
  };

  void Add(TerminalSettings settings);
  void Drive(Terminal& terminal, TerminalSettings settings);
  // What became of messages; whether there was any news.
  bool TellBook(Moment now);
  void Send(Terminal& terminal, Delivery delivery);
  void Settle(const std::string& name, const Delivery& delivery, const SendResult& result);
  std::string PingBody(const std::string& name) const;
  void Ping(const std::string& name);
  Duration PingPause(const std::string& name) const;
  void HurryPing(const std::string& name);
  void PingAfter(const std::string& name, Duration pause);
  void Ponged(const std::string& name, const HttpOutcome& outcome);
  void CheckBoot(Terminal& terminal, const std::string& pong, Moment now);
  void Heard(Terminal& terminal, Moment now);
  void Willing(Terminal& terminal, const SendResult& result, Instant now);
  void Missed(Terminal& terminal, const std::string& error, Moment now);

  boost::asio::io_context& io_;
  DeliveryPace pace_;
  IncidentBook& book_;
  GatewayMetrics& metrics_;
  std::function<void()> turn_;
  Outbox outbox_;
  std::map<std::string, Terminal> terminals_;
  std::function<void(const std::string&, const std::string&)> on_boot_;
  std::function<void(const std::string&)> on_proven_;
  std::function<void(const Outbox::Outcome&)> on_outcome_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace sentinel
