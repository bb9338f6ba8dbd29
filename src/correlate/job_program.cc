// What the ranks of a JobModel are to do: one iteration of 1F1B over their streams.
#include <algorithm>

#include "correlate/job_model.h"

namespace sentinel {

JobModel::Item& JobModel::Emit(Rank rank, Kind kind, int stream, Duration length) {
  RankState& state = ranks_[static_cast<size_t>(rank)];
  Item item;
  item.kind = kind;
  item.stream = stream;
  item.length = length;
  item.launch = ++state.launches;
  if (stream != kComputeStream && state.last_compute != SIZE_MAX) {
    item.after.push_back(state.last_compute);
  }
  state.items.push_back(std::move(item));
  if (stream == kComputeStream) state.last_compute = state.items.size() - 1;
  return state.items.back();
}

void JobModel::Compute(Rank rank, int ms) {
  Emit(rank, Kind::kCompute, kComputeStream, std::chrono::milliseconds(Pick(ms, ms + ms / 4 + 1)));
}

// What is computed from here on needs that item's result.
void JobModel::WaitFor(Rank rank, size_t item) {
  Emit(rank, Kind::kCompute, kComputeStream, Duration{0}).after.push_back(item);
}

void JobModel::Collective(Rank rank, size_t comm, Func func, int stream, bool wait) {
  if (comm == kNoComm) return;
  Item& item = Emit(rank, Kind::kCollective, stream, std::chrono::milliseconds(5));
  item.comm = comm;
  item.func = func;
  item.index = ranks_[static_cast<size_t>(rank)].comms[comm].calls++;
  if (wait && stream != kComputeStream) {
    WaitFor(rank, ranks_[static_cast<size_t>(rank)].items.size() - 1);
  }
}

void JobModel::Transfers(Rank rank, const std::vector<Transfer>& transfers) {
  RankState& state = ranks_[static_cast<size_t>(rank)];
  const size_t comm = pipeline_of_[static_cast<size_t>(rank)];
  if (comm == kNoComm) return;
  const int launch = state.launches + 1;
  std::vector<size_t> received;
  for (const Transfer& t : transfers) {
    if (t.send && state.skip_send) {
      state.skip_send = false;
      continue;
    }
    Item& item = Emit(rank, t.send ? Kind::kSend : Kind::kRecv, kPipelineStream,
                      std::chrono::milliseconds(5));
    item.comm = comm;
    item.launch = launch;
    item.func = t.send ? Func::kSend : Func::kRecv;
    item.peer = comms_[comm].Of(t.peer);
    item.index = state.comms[comm].calls++;
    item.pair = state.comms[comm].pairs[{item.peer, t.send}]++;
    if (!t.send) received.push_back(state.items.size() - 1);
  }
  for (size_t item : received) WaitFor(rank, item);
}

void JobModel::Layers(Rank rank, int parts) {
  for (int i = 0; i < parts; ++i) {
    Compute(rank, 10);
    Collective(rank, tensor_of_[static_cast<size_t>(rank)], Func::kAllReduce,
               options_.tensor_stream ? kTensorStream : kComputeStream, /*wait=*/true);
  }
}

// One iteration: 1F1B, gradients, norm, optimiser, parameters.
void JobModel::Program(Rank rank) {
  RankState& state = ranks_[static_cast<size_t>(rank)];
  const int stage_size = options_.tensor * options_.data;
  const int stage = rank / stage_size;
  const Rank before = stage > 0 ? rank - stage_size : -1;
  const Rank behind = stage + 1 < options_.pipeline ? rank + stage_size : -1;
  const size_t data = data_of_[static_cast<size_t>(rank)];
  const int warm = std::min(options_.microbatches, options_.pipeline - stage - 1);
  const auto transfer = [&](std::vector<Transfer> transfers) {
    std::erase_if(transfers, [](const Transfer& t) { return t.peer < 0; });
    if (!transfers.empty()) Transfers(rank, transfers);
  };
  int backwards = 0;
  const auto backward = [&] {
    const bool last = ++backwards == options_.microbatches;
    Layers(rank, 1);
    if (last && options_.overlap) {
      Collective(rank, data, Func::kReduceScatter, kDataStream, /*wait=*/false);
    }
    Layers(rank, 1);
  };
  for (int i = 0; i < warm; ++i) {
    transfer({{false, before}});
    Layers(rank, 2);
    transfer({{true, behind}});
  }
  const int steady = options_.microbatches - warm;
  if (steady > 0) transfer({{false, before}});
  for (int i = 0; i < steady; ++i) {
    Layers(rank, 2);
    transfer({{true, behind}, {false, behind}});
    backward();
    if (i + 1 < steady) {
      transfer({{true, before}, {false, before}});
    } else {
      transfer({{true, before}});
    }
  }
  for (int i = 0; i < warm; ++i) {
    transfer({{false, behind}});
    backward();
    transfer({{true, before}});
  }
  if (state.swap_order) {
    Collective(rank, world_, Func::kAllReduce, kDataStream, /*wait=*/true);
    Collective(rank, data, Func::kReduceScatter, kDataStream, /*wait=*/true);
  } else {
    Collective(rank, data, Func::kReduceScatter, kDataStream, /*wait=*/true);
    Collective(rank, world_, Func::kAllReduce, kDataStream, /*wait=*/true);
  }
  state.swap_order = false;
  Compute(rank, 10);
  Collective(rank, data, Func::kAllGather, kDataStream, /*wait=*/true);
  Emit(rank, Kind::kSync, kComputeStream, Duration{0}).iteration_end = true;
}

}  // namespace sentinel
