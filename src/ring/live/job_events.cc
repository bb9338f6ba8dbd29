#include "ring/live/job_events.h"

#include <cmath>
#include <cstdio>

#include "wire/json_text.h"

namespace sentinel {
namespace {

// Milliseconds of CLOCK_MONOTONIC, to the microsecond.
double Millis(Instant when) {
  return std::round(static_cast<double>(when.since_boot.count()) / 1e3) / 1e3;
}

std::string Line(const OrderedJson& json) { return Dump(json) + "\n"; }

// As incidents tell it.
std::string CommId(uint64_t id) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(id));
  return text;
}

}  // namespace

void JobEvents::Ready(const JobPlan& plan, const std::string& job, const std::string& run_dir,
                      const std::vector<int>& pids) {
  OrderedJson json{{"event", "ready"}, {"ranks", plan.ranks}, {"run_dir", run_dir}};
  json["job"] = job;
  json["hosts"] = plan.hosts;
  json["transport"] = Name(plan.transport);
  json["pids"] = pids;
  json["comms"] = OrderedJson::array();
  for (const LiveComm& comm : plan.comms) {
    json["comms"].push_back(
        {{"id", CommId(comm.id)}, {"name", comm.name}, {"members", comm.members}});
  }
  log_.Write(Line(json));
}

void JobEvents::Start(Instant when) {
  log_.Write(Line({{"event", "start"}, {"mono_ms", Millis(when)}}));
}

void JobEvents::Healthy(Instant when, uint64_t iterations, uint64_t operations) {
  log_.Write(Line({{"event", "healthy"},
                   {"mono_ms", Millis(when)},
                   {"iterations", iterations},
                   {"operations", operations}}));
}

void JobEvents::Armed(Instant when, uint64_t iteration) {
  log_.Write(Line({{"event", "armed"}, {"mono_ms", Millis(when)}, {"iteration", iteration}}));
}

void JobEvents::FaultBegan(Instant when, size_t index, const FaultRequest& fault,
                           const std::vector<std::pair<Rank, Rank>>& edges) {
  OrderedJson json{
      {"event", "fault"}, {"mono_ms", Millis(when)}, {"index", index}, {"kind", fault.kind}};
  json["rank"] = fault.rank;
  json["edges"] = edges;
  log_.Write(Line(json));
}

void JobEvents::FaultEnded(Instant when, size_t index, const FaultRequest& fault) {
  log_.Write(Line({{"event", "healed"},
                   {"mono_ms", Millis(when)},
                   {"index", index},
                   {"kind", fault.kind},
                   {"rank", fault.rank}}));
}

void JobEvents::Stall(Instant last, const JobPlan& plan,
                      const std::vector<std::optional<Instant>>& by_comm) {
  OrderedJson json{{"event", "stall"}, {"mono_ms", Millis(last)}};
  json["comms"] = OrderedJson::object();
  for (size_t i = 0; i < plan.comms.size(); ++i) {
    json["comms"][CommId(plan.comms[i].id)] =
        by_comm[i] ? OrderedJson(Millis(*by_comm[i])) : OrderedJson(nullptr);
  }
  log_.Write(Line(json));
}

void JobEvents::Moving(Instant when) {
  log_.Write(Line({{"event", "moving"}, {"mono_ms", Millis(when)}}));
}

void JobEvents::Restarted(Instant when, const std::vector<int>& pids) {
  log_.Write(Line({{"event", "restarted"}, {"mono_ms", Millis(when)}, {"pids", pids}}));
}

void JobEvents::Finished(Instant when) {
  log_.Write(Line({{"event", "finished"}, {"mono_ms", Millis(when)}}));
}

void JobEvents::End(Instant when) {
  log_.Write(Line({{"event", "end"}, {"mono_ms", Millis(when)}}));
}

}  // namespace sentinel
