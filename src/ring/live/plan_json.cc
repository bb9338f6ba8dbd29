// The plan as a file: one JSON object, written and read by the same program, so that a field that
// is missing is a mistake and not an older version.
#include <nlohmann/json.hpp>

#include "ring/live/plan.h"

namespace sentinel {
namespace {

using nlohmann::json;

std::string_view KindName(LiveCommKind kind) {
  switch (kind) {
    case LiveCommKind::kNet:
      return "net";
    case LiveCommKind::kInNode:
      return "in-node";
    case LiveCommKind::kByPlace:
      return "by-place";
  }
  return "net";
}

LiveCommKind ParseKind(const std::string& name) {
  if (name == "in-node") return LiveCommKind::kInNode;
  if (name == "by-place") return LiveCommKind::kByPlace;
  return LiveCommKind::kNet;
}

json CallJson(const LiveCall& call) {
  return {
      {"comm", call.comm}, {"func", Name(call.func)}, {"count", call.count}, {"peer", call.peer}};
}

json FaultJson(const PlannedFault& fault) {
  json written{
      {"kind", Name(fault.kind)}, {"rank", fault.rank}, {"lasting_ns", fault.lasting.count()}};
  if (fault.iteration) written["iteration"] = *fault.iteration;
  if (fault.comm) written["comm"] = *fault.comm;
  return written;
}

// Of a name that was looked up.
template <typename T>
T Known(std::optional<T> value, const std::string& name) {
  if (!value) throw std::invalid_argument("unknown name \"" + name + "\"");
  return *value;
}

LiveCall ParseCall(const json& from) {
  const std::string func = from.at("func");
  return {from.at("comm"), Known(ParseLiveFunc(func), func), from.at("count"), from.at("peer")};
}

PlannedFault ParseFault(const json& from) {
  PlannedFault fault;
  const std::string kind = from.at("kind");
  fault.kind = Known(ParseLiveFault(kind), kind);
  fault.rank = from.at("rank");
  fault.lasting = Duration(from.at("lasting_ns").get<int64_t>());
  if (from.contains("iteration")) fault.iteration = from["iteration"].get<uint64_t>();
  if (from.contains("comm")) fault.comm = from["comm"].get<size_t>();
  return fault;
}

JobPlan Read(const json& from) {
  JobPlan plan;
  plan.ranks = from.at("ranks");
  plan.hosts = from.at("hosts").get<std::vector<std::string>>();
  const std::string transport = from.at("transport");
  plan.transport = Known(ParseLiveTransport(transport), transport);
  plan.iterations = from.at("iterations");
  plan.compute = Duration(from.at("compute_ns").get<int64_t>());
  plan.sync =
      from.at("sync_each_group").get<bool>() ? LiveSync::kEachGroup : LiveSync::kEachIteration;
  plan.seed = from.at("seed");
  plan.channels = from.at("channels");
  plan.slice_bytes = from.at("slice_bytes");
  plan.socket_bytes = from.at("socket_bytes");
  for (const json& each : from.at("comms")) {
    LiveComm comm;
    comm.id = each.at("id");
    comm.name = each.at("name");
    comm.kind = ParseKind(each.at("kind"));
    comm.nodes = each.at("nodes");
    comm.members = each.at("members").get<std::vector<Rank>>();
    plan.comms.push_back(std::move(comm));
  }
  for (const json& rank : from.at("program")) {
    std::vector<LiveGroup> groups;
    for (const json& group : rank) {
      LiveGroup calls;
      for (const json& call : group) calls.push_back(ParseCall(call));
      groups.push_back(std::move(calls));
    }
    plan.program.push_back(std::move(groups));
  }
  for (const json& fault : from.at("faults")) plan.faults.push_back(ParseFault(fault));
  plan.listen_ports = from.at("listen_ports").get<std::vector<uint16_t>>();
  for (const json& edge : from.at("edges")) {
    plan.edges.push_back({edge.at("from"), edge.at("to"), edge.at("port")});
  }
  for (const json& ns : from.at("leave_after_ns")) {
    plan.leave_after.emplace_back(ns.get<int64_t>());
  }
  plan.handle_sigterm = from.at("handle_sigterm").get<std::vector<Rank>>();
  return plan;
}

// What the rest of the program takes for granted.
Status Sound(const JobPlan& plan) {
  const auto wrong = [](std::string why) {
    return Error{ErrorCode::kInvalidArgument, "the job's plan: " + std::move(why)};
  };
  const auto ranks = static_cast<size_t>(plan.ranks);
  if (plan.ranks < 2 || plan.hosts.empty()) return wrong("too few ranks or nodes");
  if (plan.program.size() != ranks || plan.listen_ports.size() != ranks) {
    return wrong("not every rank has a program and a port");
  }
  if (plan.comms.size() > JobPlan::kCommsMax || plan.faults.size() > JobPlan::kFaultsMax) {
    return wrong("too many communicators or faults");
  }
  if (plan.channels < 1 || plan.slice_bytes < 2 * sizeof(float))
    return wrong("no channel or slice");
  if (!plan.leave_after.empty() && plan.leave_after.size() != ranks) {
    return wrong("leave_after is not of every rank");
  }
  for (const LiveComm& comm : plan.comms) {
    for (Rank member : comm.members) {
      if (member < 0 || member >= plan.ranks) return wrong("a member is no rank");
    }
  }
  for (size_t rank = 0; rank < ranks; ++rank) {
    for (const LiveGroup& group : plan.program[rank]) {
      if (group.empty()) return wrong("an empty group");
      for (const LiveCall& call : group) {
        if (call.comm >= plan.comms.size()) return wrong("a call in no communicator");
        const LiveComm& comm = plan.comms[call.comm];
        const bool p2p = call.func == LiveFunc::kSend || call.func == LiveFunc::kRecv;
        const int size = static_cast<int>(comm.members.size());
        if (!comm.RankOf(static_cast<Rank>(rank))) return wrong("a call by no member");
        if (p2p && (call.peer < 0 || call.peer >= size)) return wrong("a peer that is no member");
      }
    }
  }
  return {};
}

}  // namespace

std::string JobPlanJson(const JobPlan& plan) {
  json written{{"ranks", plan.ranks},
               {"hosts", plan.hosts},
               {"transport", Name(plan.transport)},
               {"iterations", plan.iterations},
               {"compute_ns", plan.compute.count()},
               {"sync_each_group", plan.sync == LiveSync::kEachGroup},
               {"seed", plan.seed},
               {"channels", plan.channels},
               {"slice_bytes", plan.slice_bytes},
               {"socket_bytes", plan.socket_bytes},
               {"comms", json::array()},
               {"program", json::array()},
               {"faults", json::array()},
               {"listen_ports", plan.listen_ports},
               {"edges", json::array()},
               {"leave_after_ns", json::array()},
               {"handle_sigterm", plan.handle_sigterm}};
  for (const LiveComm& comm : plan.comms) {
    written["comms"].push_back({{"id", comm.id},
                                {"name", comm.name},
                                {"kind", KindName(comm.kind)},
                                {"nodes", comm.nodes},
                                {"members", comm.members}});
  }
  for (const std::vector<LiveGroup>& rank : plan.program) {
    json groups = json::array();
    for (const LiveGroup& group : rank) {
      json calls = json::array();
      for (const LiveCall& call : group) calls.push_back(CallJson(call));
      groups.push_back(std::move(calls));
    }
    written["program"].push_back(std::move(groups));
  }
  for (const PlannedFault& fault : plan.faults) written["faults"].push_back(FaultJson(fault));
  for (const LiveEdge& edge : plan.edges) {
    written["edges"].push_back({{"from", edge.from}, {"to", edge.to}, {"port", edge.port}});
  }
  for (Duration stay : plan.leave_after) written["leave_after_ns"].push_back(stay.count());
  return written.dump(1) + "\n";
}

Result<JobPlan> ParseJobPlan(std::string_view text) {
  JobPlan plan;
  try {
    plan = Read(json::parse(text));
  } catch (const std::exception& wrong) {  // the JSON library's, and ours for unknown names
    return Error{ErrorCode::kInvalidArgument, std::string("the job's plan: ") + wrong.what()};
  }
  TRY(Sound(plan));
  return plan;
}

}  // namespace sentinel
