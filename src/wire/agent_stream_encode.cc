// Our values as the agent stream's bytes.
#include <algorithm>
#include <cmath>
#include <utility>

#include "agent_stream.pb.h"
#include "base/utf8.h"
#include "wire/agent_stream.h"
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

}  // namespace sentinel
