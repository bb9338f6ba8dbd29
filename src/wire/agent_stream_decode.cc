// The agent stream's bytes as our values, or why not.
#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "agent_stream.pb.h"
#include "wire/agent_stream.h"
#include "wire/agent_stream_limits.h"
#include "wire/field_judge.h"

namespace sentinel {
namespace {

namespace pb = ::sentinel::wire;

Operation Read(const pb::Operation& in, FieldJudge& judge) {
  Operation op;
  op.index = in.index();
  op.call_index = in.call_index();
  op.seq = in.seq();
  op.func = judge.Enum(in.func(), Func::kWaitSignal, "operation.func");
  op.count = in.count();
  op.datatype = judge.Enum(in.datatype(), DataType::kFloat8e5m2, "operation.datatype");
  op.root = in.root();
  op.algorithm = judge.Enum(in.algorithm(), Algorithm::kPat, "operation.algorithm");
  op.protocol = judge.Enum(in.protocol(), Protocol::kSimple, "operation.protocol");
  op.channels = judge.Size(in.channels(), "operation.channels");
  op.peer = in.peer();
  op.order = in.order();
  return op;
}

CommKey Read(const pb::CommKey& in, FieldJudge& judge) {
  CommKey key;
  key.job = judge.Text(in.job(), kNameBytesMax, "comm.job");
  key.comm_id = in.comm_id();
  key.nranks = judge.Size(in.nranks(), "comm.nranks", kRanksMax);
  return key;
}

Member Read(const pb::Member& in, FieldJudge& judge) {
  Member member;
  member.comm = Read(in.comm(), judge);
  member.rank = in.rank();
  member.nodes = judge.Size(in.nodes(), "member.nodes");
  member.comm_name = judge.Text(in.comm_name(), kNameBytesMax, "member.comm_name");
  member.place.host = judge.Text(in.host(), kNameBytesMax, "member.host");
  member.place.gpu = in.gpu();
  member.place.pci = judge.Text(in.pci(), kNameBytesMax, "member.pci");
  member.place.pid = in.pid();
  if (in.has_job_rank()) member.place.job_rank = std::max(in.job_rank(), -1);
  return member;
}

EdgeProgress Read(const pb::EdgeProgress& in, FieldJudge& judge) {
  EdgeProgress edge;
  edge.channel = judge.Size(in.channel(), "edge.channel");
  edge.direction = judge.Enum(in.direction(), Direction::kRecv, "edge.direction");
  edge.peer = in.peer();
  edge.steps = in.steps();
  edge.started = in.started();
  edge.done = in.done();
  edge.state = judge.Enum(in.state(), StepState::kRecvGpuWait, "edge.state");
  edge.in_state = in.in_state();
  edge.age = judge.Age(in.age_us(), "edge.age_us");
  return edge;
}

Vitals Read(const pb::Vitals& in, FieldJudge& judge) {
  Vitals vitals;
  vitals.state = judge.Enum(in.state(), ProcessState::kDead, "vitals.state");
  vitals.traced = in.traced();
  vitals.frozen = in.frozen();
  vitals.ending = in.ending();
  if (in.has_idle()) vitals.idle = in.idle();
  if (!std::isfinite(in.cpu_cores()) || in.cpu_cores() < 0) judge.Wrong("vitals.cpu_cores");
  vitals.cpu_cores = in.cpu_cores();
  vitals.io_bytes = in.io_bytes();
  return vitals;
}

Digest Read(const pb::Digest& in, FieldJudge& judge) {
  Digest digest;
  digest.request_id = in.request_id();
  digest.member = Read(in.member(), judge);
  digest.phase = judge.Enum(in.phase(), Phase::kInside, "digest.phase");
  if (in.has_op()) digest.op = Read(in.op(), judge);
  digest.operations_started = in.operations_started();
  digest.operations_finished = in.operations_finished();
  digest.age = judge.Age(in.age_us(), "digest.age_us");
  digest.suspect = in.suspect();
  digest.suspect_after = judge.Age(in.suspect_after_us(), "digest.suspect_after_us");
  judge.List(in.edges_size(), kDigestEdgesMax, "digest.edges");
  for (const pb::EdgeProgress& edge : in.edges()) digest.edges.push_back(Read(edge, judge));
  digest.kernels.watched = in.kernels().watched();
  digest.kernels.channels = judge.Size(in.kernels().channels(), "kernels.channels");
  digest.kernels.started = judge.Size(in.kernels().started(), "kernels.started");
  digest.kernels.completed = judge.Size(in.kernels().completed(), "kernels.completed");
  digest.vitals = Read(in.vitals(), judge);
  digest.history.operations = in.history_operations();
  digest.history.gap_p999 = judge.Age(in.history_gap_p999_us(), "digest.history_gap_p999_us");
  judge.List(in.recent_size(), kRecentCallsMax, "digest.recent");
  for (const pb::Operation& op : in.recent()) digest.recent.push_back(Read(op, judge));
  digest.truncated = in.truncated();
  return digest;
}

Hello Read(const pb::Hello& in, FieldJudge& judge) {
  Hello hello;
  hello.protocol = in.protocol();
  hello.agent_id = judge.Text(in.agent_id(), kNameBytesMax, "hello.agent_id");
  hello.boot_id = judge.Text(in.boot_id(), kNameBytesMax, "hello.boot_id");
  hello.host = judge.Text(in.host(), kNameBytesMax, "hello.host");
  judge.List(in.gpus_size(), kGpusMax, "hello.gpus");
  for (const pb::Gpu& gpu : in.gpus()) {
    hello.gpus.push_back({gpu.index(), judge.Text(gpu.pci(), kNameBytesMax, "gpu.pci"),
                          judge.Text(gpu.uuid(), kNameBytesMax, "gpu.uuid")});
  }
  return hello;
}

HostEvidence Read(const pb::Evidence& in, FieldJudge& judge) {
  HostEvidence evidence;
  evidence.kind = judge.Text(in.kind(), kNameBytesMax, "evidence.kind");
  evidence.host = judge.Text(in.host(), kNameBytesMax, "evidence.host");
  evidence.pci = judge.Text(in.pci(), kNameBytesMax, "evidence.pci");
  evidence.pid = in.pid();
  evidence.nic = judge.Text(in.nic(), kNameBytesMax, "evidence.nic");
  evidence.age = judge.Age(in.age_us(), "evidence.age_us");
  evidence.detail = judge.Text(in.detail(), kDetailBytesMax, "evidence.detail");
  return evidence;
}

CallOrder Read(const pb::CallOrder& in, FieldJudge& judge) {
  CallOrder order;
  judge.List(in.members_size(), kCallOrderMembersMax, "call_order.members");
  for (const pb::MemberCalls& calls : in.members()) {
    MemberCalls member;
    member.comm = Read(calls.comm(), judge);
    member.rank = calls.rank();
    member.pid = calls.pid();
    judge.List(calls.marks_size(), kCallMarksMax, "call_order.marks");
    for (const pb::CallMark& mark : calls.marks()) {
      if (mark.sum() >= kCallSumModulus) judge.Wrong("call_mark.sum");
      member.marks.push_back({mark.calls(), mark.sum()});
    }
    order.members.push_back(std::move(member));
  }
  return order;
}

// The library writes to stderr whenever a peer sends a bad string; we say it once, as an error.
void Silence() {
  static const bool silenced = [] {
    google::protobuf::SetLogHandler(nullptr);
    return true;
  }();
  static_cast<void>(silenced);
}

template <typename M>
Status Parse(std::string_view payload, M* message) {
  Silence();
  if (payload.size() > kFrameBytesMax ||
      !message->ParseFromArray(payload.data(), static_cast<int>(payload.size()))) {
    return Error{ErrorCode::kCorrupt, "agent stream: not a message"};
  }
  return {};
}

Error NoMessage() {
  return Error{ErrorCode::kCorrupt, "agent stream: a message of no kind this protocol knows"};
}

}  // namespace

Result<UpMessage> DecodeUp(std::string_view payload) {
  pb::Up up;
  TRY(Parse(payload, &up));
  FieldJudge judge;
  switch (up.message_case()) {
    case pb::Up::kHello: {
      Hello hello = Read(up.hello(), judge);
      return judge.Settle<UpMessage>(std::move(hello));
    }
    case pb::Up::kInventory: {
      Inventory inventory;
      judge.List(up.inventory().members_size(), kInventoryMembersMax, "inventory.members");
      for (const pb::Member& member : up.inventory().members()) {
        inventory.members.push_back(Read(member, judge));
      }
      judge.List(up.inventory().jobs_size(), kInventoryJobsMax, "inventory.jobs");
      for (const pb::Job& job : up.inventory().jobs()) {
        inventory.jobs.push_back({judge.Text(job.job(), kNameBytesMax, "job.job"),
                                  {judge.Text(job.partition(), kNameBytesMax, "job.partition"),
                                   judge.Text(job.name_space(), kNameBytesMax, "job.name_space"),
                                   judge.Text(job.user(), kNameBytesMax, "job.user")}});
      }
      return judge.Settle<UpMessage>(std::move(inventory));
    }
    case pb::Up::kHeartbeat: {
      const pb::Heartbeat& in = up.heartbeat();
      return UpMessage(Heartbeat{in.boards(), in.events_queued(), in.dropped()});
    }
    case pb::Up::kDigest: {
      Digest digest = Read(up.digest(), judge);
      return judge.Settle<UpMessage>(std::move(digest));
    }
    case pb::Up::kEvidence: {
      HostEvidence evidence = Read(up.evidence(), judge);
      return judge.Settle<UpMessage>(std::move(evidence));
    }
    case pb::Up::kEvent: {
      SpooledEvent event;
      event.spool_id = up.event().spool_id();
      event.body = judge.Text(up.event().body(), kEventBodyBytesMax, "event.body");
      return judge.Settle<UpMessage>(std::move(event));
    }
    case pb::Up::kCallOrder: {
      CallOrder order = Read(up.call_order(), judge);
      return judge.Settle<UpMessage>(std::move(order));
    }
    case pb::Up::MESSAGE_NOT_SET:
      return NoMessage();
  }
  return NoMessage();
}

Result<DownMessage> DecodeDown(std::string_view payload) {
  pb::Down down;
  TRY(Parse(payload, &down));
  FieldJudge judge;
  switch (down.message_case()) {
    case pb::Down::kWelcome: {
      Welcome welcome;
      welcome.protocol = down.welcome().protocol();
      welcome.gateway_id =
          judge.Text(down.welcome().gateway_id(), kNameBytesMax, "welcome.gateway_id");
      return judge.Settle<DownMessage>(std::move(welcome));
    }
    case pb::Down::kDetailRequest: {
      const pb::DetailRequest& in = down.detail_request();
      DetailRequest request;
      request.request_id = in.request_id();
      request.comm = Read(in.comm(), judge);
      request.deadline = std::chrono::milliseconds(in.deadline_ms());
      return judge.Settle<DownMessage>(std::move(request));
    }
    case pb::Down::kAck: {
      EventAck ack;
      ack.spool_id = down.ack().spool_id();
      ack.status = down.ack().status();
      ack.body = judge.Text(down.ack().body(), kEventBodyBytesMax, "ack.body");
      return judge.Settle<DownMessage>(std::move(ack));
    }
    case pb::Down::MESSAGE_NOT_SET:
      return NoMessage();
  }
  return NoMessage();
}

}  // namespace sentinel
