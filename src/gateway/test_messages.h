// Messages that show that a terminal works, and nothing else. They go the way of an alarm, say what
// they are, belong to no incident, wait behind every alarm, and end by themselves: also where we
// are killed while a lamp is lit for one.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/result.h"
#include "base/time.h"
#include "gateway/deliveries.h"
#include "incident/event_table.h"
#include "store/store.h"

namespace sentinel {

constexpr Duration kTestLit = std::chrono::seconds(5);  // how long a lamp shows that it works
// A terminal that has not answered by then has failed the test.
constexpr Duration kTestAnswerMax = std::chrono::seconds(10);
constexpr const char* kTestNote = "test/";  // + terminal: what it is lit for; empty once it is not

class TestMessages {
 public:
  enum class What : uint8_t { kLamp, kSpeech };
  struct Report {
    bool delivered = false;
    Duration after{0};
    std::string error;  // why not
  };
  using Done = std::function<void(const Report&)>;

  // All references outlive this object. `turn` sends what is due.
  TestMessages(boost::asio::io_context& io, Deliveries& deliveries, Store& store,
               const Language& language, std::function<void()> turn);
  ~TestMessages();

  // `done` is called once, from within a later turn, within kTestAnswerMax. kNotFound: there is no
  // such terminal; kUnavailable: one test at a time.
  Status Start(const std::string& terminal, What what, Done done);

  // An earlier process lit it for this one.
  void Resume(const std::string& terminal, const std::string& id);

  void OnOutcome(const Outbox::Outcome& outcome);

 private:
  enum class Phase : uint8_t { kNoting, kSent, kLit, kEnding };
  struct Running {
    std::string id;
    What what = What::kLamp;
    Phase phase = Phase::kNoting;
    Instant started;
    Done done;
    std::unique_ptr<boost::asio::steady_timer> timer;
  };

  void Wake(const std::string& terminal, Duration after);
  void OnTimer(const std::string& terminal);
  void Noted(const std::string& terminal, const std::string& id);
  void Delivered(const std::string& terminal, Running& running);
  void GiveUp(const std::string& terminal, const std::string& error);
  void End(const std::string& terminal, Running& running);
  void Send(const std::string& terminal, const Running& running);
  void Forget(const std::string& terminal);
  static void Tell(Running& running, const Report& report);

  boost::asio::io_context& io_;
  Deliveries& deliveries_;
  Store& store_;
  const Language& language_;
  std::function<void()> turn_;
  uint64_t next_ = 1;
  std::map<std::string, Running> running_;  // by terminal, at most one each
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace sentinel
