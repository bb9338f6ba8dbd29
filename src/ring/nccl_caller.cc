#include "ring/nccl_caller.h"

#include <unistd.h>

#include <utility>

namespace sentinel {
namespace {

constexpr int kForeignPid = 0x7fffffff;  // above any pid_max: never this process

void* Pointer(uint64_t address) { return reinterpret_cast<void*>(address); }  // NOLINT: recorded

}  // namespace

NcclCaller::NcclCaller(const nccl::ProfilerTable& table, int abi, int64_t recorded_pid,
                       nccl::Logger logger, size_t events)
    : table_(table), abi_(abi), recorded_pid_(recorded_pid), logger_(logger) {
  events_.reserve(events);
}

void NcclCaller::Make(const Callback& callback) {
  if (const auto* init = std::get_if<InitCall>(&callback.what)) {
    Init(callback, *init);
  } else if (std::holds_alternative<FinalizeCall>(callback.what)) {
    Finalize();
  } else if (const auto* change = std::get_if<StateChange>(&callback.what)) {
    State(callback, *change);
  } else if (std::holds_alternative<Stop>(callback.what)) {
    StopEvent(callback);
  } else {
    Start(callback);
  }
}

void NcclCaller::Init(const Callback& callback, const InitCall& init) {
  Context context;
  context.init = init;
  int rc = 0;
  if (!dropped_) {
    ++calls_;
    if (abi_ <= 3) {
      rc = reinterpret_cast<nccl::InitV2>(table_.init)(&context.plugin, &mask_);
    } else if (abi_ == 4) {
      rc = reinterpret_cast<nccl::InitV4>(table_.init)(&context.plugin, &mask_, init.comm_name,
                                                       init.comm_id, init.nodes, init.ranks,
                                                       callback.rank, logger_);
    } else {
      rc = reinterpret_cast<nccl::InitV5>(table_.init)(&context.plugin, init.comm_id, &mask_,
                                                       init.comm_name, init.nodes, init.ranks,
                                                       callback.rank, logger_);
    }
  }
  if (rc != 0) {
    context.plugin = nullptr;
    dropped_ = abi_ <= 4;  // 2.27 and older drop the plugin; later ones go on without a context
  }
  context.live = true;
  ++contexts_live_;
  contexts_.push_back(context);
}

void NcclCaller::Finalize() {
  for (size_t i = contexts_.size(); i-- > 0;) {
    Context& context = contexts_[i];
    if (!context.live) continue;
    context.live = false;
    --contexts_live_;
    if (context.plugin != nullptr && !dropped_) {
      ++calls_;
      table_.finalize(context.plugin);
    }
    return;
  }
}

bool NcclCaller::Wanted(const Callback& callback, const Event& event) {
  if (dropped_ || contexts_.empty()) return false;
  const uint32_t live = EntailedMask(static_cast<uint32_t>(mask_));
  const uint32_t mask = FollowsLiveMask(callback.type) ? live : event.mask;
  if ((mask & MaskBit(callback.type)) == 0) return false;
  if ((MaskOfAbi(abi_) & MaskBit(callback.type)) == 0) return false;
  // Up to 2.27 an operation is announced only inside a group the plugin has taken up.
  const bool is_operation =
      callback.type == CallbackType::kColl || callback.type == CallbackType::kP2p;
  return !is_operation || abi_ > 4 || event.parent_handle != nullptr;
}

void NcclCaller::Start(const Callback& callback) {
  Event event;
  event.type = callback.type;
  event.context = contexts_.empty() ? 0 : contexts_.size() - 1;
  // A recorder that knew no API events leaves the group as the first word of an operation.
  heard_of_calls_ = heard_of_calls_ || callback.type == CallbackType::kGroupApi;
  if (callback.type == CallbackType::kGroupApi ||
      (callback.type == CallbackType::kGroup && !heard_of_calls_)) {
    sampled_mask_ = static_cast<uint32_t>(mask_);
  }
  event.mask = EntailedMask(sampled_mask_);
  auto parent = events_.find(callback.parent);
  if (parent != events_.end()) {
    event.parent_handle = parent->second.handle;
    event.mask = parent->second.mask;
    event.context = parent->second.context;
  }
  if (abi_ <= 4) {  // without API events an operation's parent is its group
    if (const auto* coll = std::get_if<CollStart>(&callback.what)) {
      event.parent_handle = Handle(coll->group);
    } else if (const auto* p2p = std::get_if<P2pStart>(&callback.what)) {
      event.parent_handle = Handle(p2p->group);
    } else if (callback.type == CallbackType::kGroup) {
      event.parent_handle = nullptr;
    }
  }
  if (Wanted(callback, event)) {
    nccl::Descriptor descriptor = Describe(callback, event);
    ++calls_;
    table_.start_event(contexts_[event.context].plugin, &event.handle, &descriptor);
  }
  events_[callback.id] = event;
}

void NcclCaller::State(const Callback& callback, const StateChange& change) {
  auto found = events_.find(callback.id);
  if (found == events_.end() || found->second.handle == nullptr) return;
  const Event& event = found->second;
  // NCCL speaks of a step's state only where the plugin holds both the step and its ProxyOp.
  if (event.type == CallbackType::kProxyStep && event.parent_handle == nullptr) return;
  if (abi_ <= 3 && change.state > nccl::kStateLastV3) return;

  nccl::StateArguments arguments{};
  nccl::StateArguments* passed = &arguments;
  if (change.state == nccl::kProxyOpInProgress || change.state == nccl::kGroupStartApiStop ||
      change.state == nccl::kGroupEndApiStart) {
    passed = nullptr;
  } else if (event.type == CallbackType::kProxyCtrl) {
    arguments.appended_ops = static_cast<int32_t>(change.argument);
  } else if (event.type == CallbackType::kKernelCh) {
    arguments.device_time = change.argument;
  } else {
    arguments.transferred_bytes = change.argument;
  }
  ++calls_;
  table_.record_event_state(event.handle, change.state, passed);
}

void NcclCaller::StopEvent(const Callback& callback) {
  void* handle = Handle(callback.id);
  if (handle == nullptr) return;
  ++calls_;
  table_.stop_event(handle);
}

void* NcclCaller::Handle(uint64_t id) const {
  auto found = events_.find(id);
  return found == events_.end() ? nullptr : found->second.handle;
}

nccl::Descriptor NcclCaller::Describe(const Callback& callback, const Event& event) const {
  nccl::Descriptor descriptor{};
  if (abi_ >= 5) {
    descriptor.type.wide = MaskBit(callback.type);
  } else {
    descriptor.type.narrow = static_cast<uint8_t>(MaskBit(callback.type));
  }
  descriptor.parent = event.parent_handle;
  descriptor.rank = callback.rank;
  auto& body = descriptor.body;
  if (const auto* coll = std::get_if<CollStart>(&callback.what)) {
    DescribeColl(*coll, descriptor);
  } else if (const auto* p2p = std::get_if<P2pStart>(&callback.what)) {
    DescribeP2p(*p2p, descriptor);
  } else if (const auto* op = std::get_if<ProxyOpStart>(&callback.what)) {
    body.proxy_op = {op->pid == recorded_pid_ ? getpid() : kForeignPid,
                     op->channel,
                     op->peer,
                     op->steps,
                     op->chunk_bytes,
                     op->is_send ? 1 : 0};
  } else if (const auto* step = std::get_if<ProxyStepStart>(&callback.what)) {
    body.proxy_step.step = step->step;
  } else if (const auto* kernel = std::get_if<KernelChStart>(&callback.what)) {
    body.kernel_ch.channel = kernel->channel;
    if (abi_ >= 4) body.kernel_ch.device_time = kernel->device_time;
  } else if (const auto* net = std::get_if<NetPluginStart>(&callback.what)) {
    body.net_plugin.id = net->plugin_id;
  } else if (const auto* group = std::get_if<GroupApiStart>(&callback.what)) {
    body.group_api = {group->graph_captured, group->depth};
  } else if (const auto* call = std::get_if<CollApiStart>(&callback.what)) {
    body.coll_api = {call->func, call->count,           call->datatype,
                     call->root, Pointer(call->stream), call->graph_captured};
  } else if (const auto* message = std::get_if<P2pApiStart>(&callback.what)) {
    body.p2p_api = {message->func, message->count, message->datatype, Pointer(message->stream),
                    message->graph_captured};
  } else if (const auto* launch = std::get_if<KernelLaunchStart>(&callback.what)) {
    body.kernel_launch.stream = Pointer(launch->stream);
  }
  return descriptor;
}

void NcclCaller::DescribeColl(const CollStart& start, nccl::Descriptor& descriptor) const {
  const auto fill = [&start](auto& body) {
    body.seq = start.seq;
    body.func = start.func;
    body.send_buffer = Pointer(start.send_buffer);
    body.recv_buffer = Pointer(start.recv_buffer);
    body.count = start.count;
    body.root = start.root;
    body.datatype = start.datatype;
    body.channels = start.channels;
    body.warps = start.warps;
    body.algorithm = start.algorithm;
    body.protocol = start.protocol;
  };
  const auto identify = [this](auto& body) {
    body.name = contexts_.back().init.comm_name;
    body.comm_hash = contexts_.back().init.comm_id;
  };
  if (abi_ == 2) {
    fill(descriptor.body.coll_v2);
    identify(descriptor.body.coll_v2);
  } else if (abi_ == 3) {
    fill(descriptor.body.coll_v3);
    identify(descriptor.body.coll_v3);
  } else {
    fill(descriptor.body.coll_v5);
    if (abi_ >= 5) descriptor.body.coll_v5.group = Handle(start.group);
  }
}

void NcclCaller::DescribeP2p(const P2pStart& start, nccl::Descriptor& descriptor) const {
  const auto fill = [&start](auto& body) {
    body.func = start.func;
    body.buffer = Pointer(start.buffer);
    body.datatype = start.datatype;
    body.count = start.count;
    body.peer = start.peer;
  };
  if (abi_ <= 3) {
    fill(descriptor.body.p2p_v2);
    descriptor.body.p2p_v2.name = contexts_.back().init.comm_name;
    descriptor.body.p2p_v2.comm_hash = contexts_.back().init.comm_id;
  } else {
    fill(descriptor.body.p2p_v5);
    descriptor.body.p2p_v5.channels = start.channels;
    if (abi_ >= 5) descriptor.body.p2p_v5.group = Handle(start.group);
  }
}

}  // namespace sentinel
