// The ingest API on the agent's own socket: takes events, makes them durable, and keeps them until
// the gateway has them.
//
// Everything runs on the io_context's thread but the disk, which has its own.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "agent/event_queue.h"
#include "agent/spool_dir.h"
#include "agent/worker.h"
#include "http/server.h"

namespace sentinel {

class Ingest {
 public:
  // How long a sender waits for the disk; then it is told 503, and the event goes on from memory.
  static constexpr auto kDiskWithin = std::chrono::milliseconds(100);
  static constexpr size_t kDiskJobsMax = 256;

  // Reads what an earlier run left. A folder that cannot be used is a warning, not an end: events
  // then live in memory, and each sender is told so. With no folder at all nothing is kept on disk.
  static std::unique_ptr<Ingest> Create(boost::asio::io_context& io, std::string spool_dir,
                                        std::string agent_id);
  Ingest(boost::asio::io_context& io, std::string spool_dir, std::string agent_id,
         uint64_t first_id);
  ~Ingest();

  // POST /api/v1/gpu_event, as the gateway answers it.
  void Post(HttpRequest request, std::unique_ptr<HttpResponder> responder);

  EventQueue& queue() { return queue_; }
  void Answered(const EventAck& ack);

  uint64_t refused() const { return refused_; }
  // Called after an event has been taken.
  void OnEvent(std::function<void()> callback) { on_event_ = std::move(callback); }

 private:
  struct Pending;

  void Load();
  void Settle(const std::shared_ptr<Pending>& pending, const Status& written);
  void DiskFailed(const std::string& why);

  boost::asio::io_context& io_;
  SpoolDir spool_;
  std::string agent_id_;
  EventQueue queue_;
  std::function<void()> on_event_;
  uint64_t refused_ = 0;
  bool disk_failing_ = false;
  bool full_ = false;
  // What callbacks of the disk's thread check before they touch us.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  Worker disk_{kDiskJobsMax};  // last: ends first
};

}  // namespace sentinel
