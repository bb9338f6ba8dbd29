// What becomes of a posted event: parsed, judged, made durable, answered.
//
// 200 is said when the event is on disk, and with it the incident: as a row of its own, or, where
// the event is all there is of it, as what a restart makes of the event. Or when it changes nothing
// that is not on disk already. An alarm does not wait for that: the book has been told before the
// disk is asked.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/time.h"
#include "gateway/keeper.h"
#include "incident/incident_book.h"
#include "store/store.h"
#include "web/metrics.h"

namespace sentinel {

// Known event ids; beyond it the oldest is forgotten and would count again.
constexpr size_t kEventIdsMax = 200'000;
// Of an event id that is remembered as it is; a longer one is remembered by its hash.
constexpr size_t kEventIdBytesMax = 128;
// Bodies whose answer is known as long as their incident stands; beyond it all are forgotten.
constexpr size_t kKnownBodiesMax = 4096;
constexpr size_t kKnownBodyBytesMax = 2048;
// Incidents known to be on disk; beyond it all are forgotten, and found out again.
constexpr size_t kDurableIncidentsMax = 200'000;
// An answer the disk owes for longer than this is 503.
constexpr Duration kCommitWaitMax = std::chrono::seconds(3);

struct IntakeAnswer {
  int status = 200;
  std::string body;
};

class Intake {
 public:
  using Answer = std::function<void(IntakeAnswer)>;
  struct Deps {
    IncidentBook& book;
    Store& store;
    Keeper& keeper;
    GatewayMetrics& metrics;
    std::function<JobPresence(const std::string& host)> presence;
    // Rings what the book decided and queues the incidents it touched for the disk: now, or once
    // for all that the loop has at hand.
    std::function<void()> turn;
    std::function<void()> turn_soon;
  };

  Intake(boost::asio::io_context& io, Deps deps, std::string id_prefix);
  ~Intake();

  // From the store: ids that have been counted, and incidents that are kept.
  void Remember(const std::vector<KeptEventId>& event_ids,
                const std::vector<std::string>& incidents);

  // `answer` is called once, now or after the commit.
  void Take(std::string body, Answer answer);

 private:
  struct KnownBody {
    std::string incident;
    Severity severity = Severity::kNotice;
  };
  struct KnownId {
    std::string incident;
    bool durable = false;
  };
  // An answer that the disk owes.
  struct Waiting {
    Instant deadline;
    Answer answer;  // empty once answered
    std::string words;
    std::string event_id;
    std::string incident;
    bool begun = false;
    bool ends = false;  // it says that something is over
  };

  bool AnswerRepeat(const std::string& body, Answer& answer);
  void Keep(StoredEvent event, std::shared_ptr<Waiting> waiting);
  void Kept(Waiting& waiting, const Status& status);
  void RememberBody(std::string body, const IncidentBook::EventOutcome& outcome);
  void RememberId(const std::string& id, KnownId known);
  void Say(Answer& answer, IntakeAnswer what);
  void Watch();
  std::string Body(bool suppressed, const std::string& incident, const std::string& event_id);

  Deps deps_;
  std::string id_prefix_;
  uint64_t next_id_ = 1;
  std::unordered_map<std::string, KnownBody> bodies_;
  std::unordered_map<std::string, KnownId> ids_;
  std::deque<std::string> id_order_;
  std::unordered_set<std::string> durable_;  // incidents of which an event is on disk
  std::deque<std::shared_ptr<Waiting>> waiting_;
  boost::asio::steady_timer timer_;
  bool watching_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace sentinel
