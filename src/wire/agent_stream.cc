#include "wire/agent_stream.h"

#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "agent_stream.pb.h"
#include "base/utf8.h"
#include "wire/agent_stream_limits.h"

namespace sentinel {
namespace {

namespace pb = ::sentinel::wire;
using std::chrono::duration_cast;
using std::chrono::microseconds;

template <typename... F>
struct Overload : F... {
  using F::operator()...;
};
template <typename... F>
Overload(F...) -> Overload<F...>;

// Writing never produces what reading would refuse: a board is hostile, and one bad number in it
// must not cost a node its connection.

uint64_t ToMicros(Duration age) {
  return static_cast<uint64_t>(
      std::clamp<int64_t>(duration_cast<microseconds>(age).count(), 0, kAgeMax.count()));
}

// At most `max` bytes of well-formed UTF-8 (protobuf refuses a string of anything else): stray
// bytes become '?'.
std::string Cut(std::string_view text, size_t max) {
  std::string clean;
  while (!text.empty()) {
    const size_t size = Utf8CharacterBytes(text);
    if (clean.size() + std::max<size_t>(size, 1) > max) break;
    if (size == 0) {
      clean.push_back('?');
      text.remove_prefix(1);
    } else {
      clean.append(text.substr(0, size));
      text.remove_prefix(size);
    }
  }
  return clean;
}

void Write(const Operation& op, pb::Operation* out) {
  out->set_index(op.index);
  out->set_call_index(op.call_index);
  out->set_seq(op.seq);
  out->set_func(static_cast<uint32_t>(op.func));
  out->set_count(op.count);
  out->set_datatype(static_cast<uint32_t>(op.datatype));
  out->set_root(op.root);
  out->set_algorithm(static_cast<uint32_t>(op.algorithm));
  out->set_protocol(static_cast<uint32_t>(op.protocol));
  out->set_channels(std::max(op.channels, 0));
  out->set_peer(op.peer);
  out->set_order(op.order);
}

void Write(const CommKey& key, pb::CommKey* out) {
  out->set_job(Cut(key.job, kNameBytesMax));
  out->set_comm_id(key.comm_id);
  out->set_nranks(std::clamp(key.nranks, 0, kRanksMax));
}

void Write(const Member& member, pb::Member* out) {
  Write(member.comm, out->mutable_comm());
  out->set_rank(member.rank);
  out->set_nodes(std::max(member.nodes, 0));
  out->set_comm_name(Cut(member.comm_name, kNameBytesMax));
  out->set_host(Cut(member.place.host, kNameBytesMax));
  out->set_gpu(member.place.gpu);
  out->set_pci(Cut(member.place.pci, kNameBytesMax));
  out->set_pid(member.place.pid);
  if (member.place.job_rank >= 0) out->set_job_rank(member.place.job_rank);
}

void Write(const EdgeProgress& edge, pb::EdgeProgress* out) {
  out->set_channel(std::max(edge.channel, 0));
  out->set_direction(static_cast<uint32_t>(edge.direction));
  out->set_peer(edge.peer);
  out->set_steps(edge.steps);
  out->set_started(edge.started);
  out->set_done(edge.done);
  out->set_state(static_cast<uint32_t>(edge.state));
  out->set_in_state(edge.in_state);
  out->set_age_us(ToMicros(edge.age));
}

void Write(const Vitals& vitals, pb::Vitals* out) {
  out->set_state(static_cast<uint32_t>(vitals.state));
  out->set_traced(vitals.traced);
  out->set_frozen(vitals.frozen);
  out->set_ending(vitals.ending);
  if (vitals.idle) out->set_idle(*vitals.idle);
  const bool sane = std::isfinite(vitals.cpu_cores) && vitals.cpu_cores > 0;
  out->set_cpu_cores(sane ? vitals.cpu_cores : 0);
  out->set_io_bytes(vitals.io_bytes);
}

void Write(const Digest& digest, pb::Digest* out) {
  out->set_request_id(digest.request_id);
  Write(digest.member, out->mutable_member());
  out->set_phase(static_cast<uint32_t>(digest.phase));
  if (digest.op) Write(*digest.op, out->mutable_op());
  out->set_operations_started(digest.operations_started);
  out->set_operations_finished(digest.operations_finished);
  out->set_age_us(ToMicros(digest.age));
  out->set_suspect(digest.suspect);
  out->set_suspect_after_us(ToMicros(digest.suspect_after));
  const size_t edges = std::min(digest.edges.size(), kDigestEdgesMax);
  for (size_t i = 0; i < edges; ++i) Write(digest.edges[i], out->add_edges());
  out->mutable_kernels()->set_watched(digest.kernels.watched);
  out->mutable_kernels()->set_channels(std::max(digest.kernels.channels, 0));
  out->mutable_kernels()->set_started(std::max(digest.kernels.started, 0));
  out->mutable_kernels()->set_completed(std::max(digest.kernels.completed, 0));
  Write(digest.vitals, out->mutable_vitals());
  out->set_history_operations(digest.history.operations);
  out->set_history_gap_p999_us(ToMicros(digest.history.gap_p999));
  const size_t recent = std::min(digest.recent.size(), kRecentCallsMax);
  for (size_t i = digest.recent.size() - recent; i < digest.recent.size(); ++i) {
    Write(digest.recent[i], out->add_recent());
  }
  out->set_truncated(digest.truncated || edges < digest.edges.size());
}

void Write(const CallOrder& order, pb::CallOrder* out) {
  const size_t members = std::min(order.members.size(), kCallOrderMembersMax);
  for (size_t i = 0; i < members; ++i) {
    const MemberCalls& member = order.members[i];
    pb::MemberCalls* calls = out->add_members();
    Write(member.comm, calls->mutable_comm());
    calls->set_rank(member.rank);
    calls->set_pid(member.pid);
    const size_t marks = std::min(member.marks.size(), kCallMarksMax);
    for (size_t j = member.marks.size() - marks; j < member.marks.size(); ++j) {
      pb::CallMark* mark = calls->add_marks();
      mark->set_calls(member.marks[j].calls);
      mark->set_sum(member.marks[j].sum % kCallSumModulus);
    }
  }
}

template <typename M>
Result<std::string> Frame(const M& message) {
  const size_t size = message.ByteSizeLong();
  if (size > kFrameBytesMax) {
    return Error{ErrorCode::kExhausted, "a message of " + std::to_string(size) +
                                            " bytes is longer than a frame may be (" +
                                            std::to_string(kFrameBytesMax) + ")"};
  }
  std::string frame;
  frame.reserve(4 + size);
  for (int shift = 0; shift < 32; shift += 8) frame.push_back(static_cast<char>(size >> shift));
  message.AppendToString(&frame);
  return frame;
}

// Takes fields over and remembers the first that is out of bounds.
class Judge {
 public:
  template <typename E>
  E Enum(uint32_t value, E last, const char* field) {
    if (value > static_cast<uint32_t>(last)) Wrong(field);
    return static_cast<E>(std::min(value, static_cast<uint32_t>(last)));
  }
  int32_t Size(int32_t value, const char* field, int32_t max = INT32_MAX) {
    if (value < 0 || value > max) Wrong(field);
    return value;
  }
  const std::string& Text(const std::string& value, size_t max, const char* field) {
    if (value.size() > max) Wrong(field);
    return value;
  }
  Duration Age(uint64_t us, const char* field) {
    if (us > static_cast<uint64_t>(kAgeMax.count())) Wrong(field);
    return microseconds(std::min<uint64_t>(us, kAgeMax.count()));
  }
  void List(int size, size_t max, const char* field) {
    if (static_cast<size_t>(size) > max) Wrong(field);
  }
  void Wrong(const char* field) {
    if (wrong_ == nullptr) wrong_ = field;
  }

  template <typename T>
  Result<T> Settle(T value) const {
    if (wrong_ == nullptr) return Result<T>(std::move(value));
    return Error{ErrorCode::kCorrupt, std::string("agent stream: ") + wrong_ + " is out of bounds"};
  }

 private:
  const char* wrong_ = nullptr;
};

Operation Read(const pb::Operation& in, Judge& judge) {
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

CommKey Read(const pb::CommKey& in, Judge& judge) {
  CommKey key;
  key.job = judge.Text(in.job(), kNameBytesMax, "comm.job");
  key.comm_id = in.comm_id();
  key.nranks = judge.Size(in.nranks(), "comm.nranks", kRanksMax);
  return key;
}

Member Read(const pb::Member& in, Judge& judge) {
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

EdgeProgress Read(const pb::EdgeProgress& in, Judge& judge) {
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

Vitals Read(const pb::Vitals& in, Judge& judge) {
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

Digest Read(const pb::Digest& in, Judge& judge) {
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

Hello Read(const pb::Hello& in, Judge& judge) {
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

HostEvidence Read(const pb::Evidence& in, Judge& judge) {
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

CallOrder Read(const pb::CallOrder& in, Judge& judge) {
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

Result<std::string> EncodeUp(const UpMessage& message) {
  pb::Up up;
  std::visit(Overload{
                 [&](const Hello& hello) {
                   pb::Hello* out = up.mutable_hello();
                   out->set_protocol(hello.protocol);
                   out->set_agent_id(Cut(hello.agent_id, kNameBytesMax));
                   out->set_boot_id(Cut(hello.boot_id, kNameBytesMax));
                   out->set_host(Cut(hello.host, kNameBytesMax));
                   const size_t gpus = std::min(hello.gpus.size(), kGpusMax);
                   for (size_t i = 0; i < gpus; ++i) {
                     pb::Gpu* gpu = out->add_gpus();
                     gpu->set_index(hello.gpus[i].index);
                     gpu->set_pci(Cut(hello.gpus[i].pci, kNameBytesMax));
                     gpu->set_uuid(Cut(hello.gpus[i].uuid, kNameBytesMax));
                   }
                 },
                 [&](const Inventory& inventory) {
                   pb::Inventory* out = up.mutable_inventory();
                   const size_t members = std::min(inventory.members.size(), kInventoryMembersMax);
                   for (size_t i = 0; i < members; ++i)
                     Write(inventory.members[i], out->add_members());
                   const size_t jobs = std::min(inventory.jobs.size(), kInventoryJobsMax);
                   for (size_t i = 0; i < jobs; ++i) {
                     const OwnedJob& owned = inventory.jobs[i];
                     pb::Job* job = out->add_jobs();
                     job->set_job(Cut(owned.job, kNameBytesMax));
                     job->set_partition(Cut(owned.owner.partition, kNameBytesMax));
                     job->set_name_space(Cut(owned.owner.name_space, kNameBytesMax));
                     job->set_user(Cut(owned.owner.user, kNameBytesMax));
                   }
                 },
                 [&](const Heartbeat& heartbeat) {
                   pb::Heartbeat* out = up.mutable_heartbeat();
                   out->set_boards(heartbeat.boards);
                   out->set_events_queued(heartbeat.events_queued);
                   out->set_dropped(heartbeat.dropped);
                 },
                 [&](const Digest& digest) { Write(digest, up.mutable_digest()); },
                 [&](const HostEvidence& evidence) {
                   pb::Evidence* out = up.mutable_evidence();
                   out->set_kind(Cut(evidence.kind, kNameBytesMax));
                   out->set_host(Cut(evidence.host, kNameBytesMax));
                   out->set_pci(Cut(evidence.pci, kNameBytesMax));
                   out->set_pid(evidence.pid);
                   out->set_nic(Cut(evidence.nic, kNameBytesMax));
                   out->set_age_us(ToMicros(evidence.age));
                   out->set_detail(Cut(evidence.detail, kDetailBytesMax));
                 },
                 [&](const SpooledEvent& event) {
                   up.mutable_event()->set_spool_id(event.spool_id);
                   up.mutable_event()->set_body(event.body);
                 },
                 [&](const CallOrder& order) { Write(order, up.mutable_call_order()); },
             },
             message);
  return Frame(up);
}

Result<std::string> EncodeDown(const DownMessage& message) {
  pb::Down down;
  std::visit(Overload{
                 [&](const Welcome& welcome) {
                   down.mutable_welcome()->set_protocol(welcome.protocol);
                   down.mutable_welcome()->set_gateway_id(Cut(welcome.gateway_id, kNameBytesMax));
                 },
                 [&](const DetailRequest& request) {
                   pb::DetailRequest* out = down.mutable_detail_request();
                   out->set_request_id(request.request_id);
                   Write(request.comm, out->mutable_comm());
                   out->set_deadline_ms(static_cast<uint32_t>(
                       std::clamp<int64_t>(ToMillis(request.deadline), 0, UINT32_MAX)));
                 },
                 [&](const EventAck& ack) {
                   down.mutable_ack()->set_spool_id(ack.spool_id);
                   down.mutable_ack()->set_status(ack.status);
                   down.mutable_ack()->set_body(ack.body.substr(0, kEventBodyBytesMax));
                 },
             },
             message);
  return Frame(down);
}

Result<UpMessage> DecodeUp(std::string_view payload) {
  pb::Up up;
  TRY(Parse(payload, &up));
  Judge judge;
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
  Judge judge;
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
