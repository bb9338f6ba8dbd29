#include "board/decoder.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <tuple>

#include "board/layout.h"

namespace sentinel {
namespace {

using board::Edge;
using board::Header;

// Copies are taken because the bytes need not be aligned.
template <typename T>
T At(std::span<const std::byte> bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

template <typename T>
bool Whole(const T& slot) {
  return slot.begun == slot.ended;
}

// A name that was cut by the writer, or never ended, still is one.
template <size_t kSize>
std::string Text(const char (&bytes)[kSize]) {
  return {bytes, strnlen(bytes, kSize)};
}

template <typename Enum>
Enum Known(uint8_t value, Enum last) {
  return value <= static_cast<uint8_t>(last) ? static_cast<Enum>(value) : Enum{};
}

// The word has the low bits of the call's number. The line's count is older or newer by no more
// than the writer did while it was copied.
CallMark DecodeMark(uint64_t word, uint64_t collectives, uint32_t i) {
  if (word == 0) return {};
  static_assert(board::kMarkCallsBits == 16 && kCallSumModulus == uint64_t{1} << 48);
  const auto ahead = static_cast<int16_t>(static_cast<uint16_t>(word - collectives));
  const uint64_t calls = collectives + static_cast<uint64_t>(int64_t{ahead});
  if ((calls & ((1u << board::kMarkShift * i) - 1)) != 0) return {};
  return {calls, word >> board::kMarkCallsBits};
}

CommLine DecodeLine(const board::Line& line) {
  CommLine out;
  out.generation = line.generation;
  out.live = (line.flags & board::kLineLive) != 0;
  out.finalized = (line.flags & board::kLineFinalized) != 0;
  out.progress = line.progress;
  out.operations_started = line.operations_started;
  out.operations_finished = line.operations_finished;
  if ((line.open & board::kOpenValid) != 0) {
    out.open_func = Known(static_cast<uint8_t>(line.open), Func::kWaitSignal);
    out.open_size_log2 = static_cast<uint8_t>(line.open >> 8);
  }
  out.api_calls_open = line.api_calls_open;
  out.api_calls = line.api_calls;
  out.collectives = line.collectives;
  static_assert(std::tuple_size_v<decltype(out.marks)> == board::kMarks);
  for (uint32_t i = 0; i < board::kMarks; ++i)
    out.marks[i] = DecodeMark(line.marks[i], line.collectives, i);
  return out;
}

Result<Header> CheckedHeader(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(Header))
    return Error{ErrorCode::kCorrupt, "a board's header is cut short"};
  const auto header = At<Header>(bytes, 0);
  if (header.magic == 0) return Error{ErrorCode::kUnavailable, "the board is still being made"};
  if (header.magic != board::kMagic) return Error{ErrorCode::kCorrupt, "not a board"};
  if (header.format != board::kFormat)
    return Error{ErrorCode::kCorrupt,
                 "board format " + std::to_string(header.format) + " is not known here"};
  // Format 1 has one shape. The counts are in the file for people and for later formats.
  if (header.size != board::kBytes || header.comms != board::kComms ||
      header.operations != board::kOperations || header.edges != board::kEdges)
    return Error{ErrorCode::kCorrupt, "a board's sizes do not fit its format"};
  return header;
}

BoardHeader ToHeader(const Header& header) {
  BoardHeader out;
  out.format = header.format;
  out.pid_as_seen = header.pid;
  out.generation = header.generation;
  out.dropped = header.dropped;
  out.kernels_watched = (header.flags & board::kKernelsWatched) != 0;
  out.proxies_watched = (header.flags & board::kProxiesWatched) != 0;
  out.nccl_version = header.nccl_version;
  // Slots are given out from the first on and stay used, so those in use have no gap.
  for (const board::Line& line : header.lines) {
    if (line.generation == 0) break;
    out.comms.push_back(DecodeLine(line));
  }
  return out;
}

CommImage DecodeComm(const board::Comm& comm, const CommLine& line) {
  CommImage out;
  out.line = line;
  if (!Whole(comm) || comm.generation != line.generation) {
    out.truncated = true;
    return out;
  }
  out.comm_id = comm.comm_id;
  out.nranks = comm.nranks;
  out.nodes = comm.nodes;
  out.rank = comm.rank;
  out.name = Text(comm.name);
  out.pci = Text(comm.pci);
  return out;
}

OperationImage DecodeOperation(const board::Operation& slot) {
  OperationImage out;
  out.op.index = slot.index;
  out.op.call_index = slot.call_index;
  out.op.seq = slot.seq;
  out.op.func = Known(slot.func, Func::kWaitSignal);
  out.op.count = slot.count;
  out.op.datatype = Known(slot.datatype, DataType::kFloat8e5m2);
  out.op.root = slot.root;
  out.op.algorithm = Known(slot.algorithm, Algorithm::kPat);
  out.op.protocol = Known(slot.protocol, Protocol::kSimple);
  out.op.channels = slot.channels;
  out.op.peer = slot.peer;
  out.op.order = slot.tsc;
  out.enqueued = slot.status != board::kCalled;
  out.finished = slot.status == board::kFinished;
  out.kernels_started = static_cast<uint32_t>(std::popcount(slot.kernels_started));
  out.kernels_completed = static_cast<uint32_t>(std::popcount(slot.kernels_completed));
  out.proxies_started = slot.proxies_started;
  out.proxies_finished = slot.proxies_finished;
  return out;
}

// False if no writer of ours can have written it.
bool DecodeEdge(const Edge& slot, EdgeProgress* out) {
  if (slot.done > slot.started || slot.started > slot.steps ||
      slot.started - slot.done > board::kStepsOpen ||
      slot.direction > static_cast<uint8_t>(Direction::kRecv) || slot.channel >= board::kChannels)
    return false;
  out->channel = slot.channel;
  out->direction = static_cast<Direction>(slot.direction);
  out->peer = slot.peer;
  out->steps = slot.steps;
  out->started = slot.started;
  out->done = slot.done;
  const auto state_of = [&](uint32_t step) {
    return Known((slot.states >> (4 * (step % board::kStepsOpen))) & 15, StepState::kRecvGpuWait);
  };
  if (slot.done == slot.started) return true;
  out->state = state_of(slot.done);
  for (uint32_t step = slot.done; step < slot.started && state_of(step) == out->state; ++step)
    ++out->in_state;
  return true;
}

// Where each operation slot ended up, so that edges find theirs without a search.
struct Placed {
  uint32_t generation = 0;
  int32_t comm = -1;
  uint32_t position = 0;  // in that communicator's operations
};

std::vector<Placed> DecodeOperations(std::span<const std::byte> bytes, BoardImage* image) {
  std::vector<Placed> placed(board::kOperations);
  for (uint32_t i = 0; i < board::kOperations; ++i) {
    const auto slot =
        At<board::Operation>(bytes, board::kOperationsAt + i * sizeof(board::Operation));
    if (slot.status == board::kFree || slot.status == board::kChanging ||
        slot.comm >= image->comms.size())
      continue;
    CommImage& comm = image->comms[slot.comm];
    if (!Whole(slot) || slot.status > board::kChanging) {
      comm.truncated = true;
      continue;
    }
    if (slot.comm_generation != comm.line.generation) continue;
    if ((slot.flags & board::kEdgesLost) != 0) comm.truncated = true;
    placed[i] = {slot.generation, slot.comm, static_cast<uint32_t>(comm.operations.size())};
    comm.operations.push_back(DecodeOperation(slot));
  }
  return placed;
}

void DecodeEdges(std::span<const std::byte> bytes, const std::vector<Placed>& placed,
                 BoardImage* image) {
  for (uint32_t i = 0; i < board::kEdges; ++i) {
    const auto slot = At<Edge>(bytes, board::kEdgesAt + i * sizeof(Edge));
    if ((slot.flags & board::kEdgeUsed) == 0 || slot.comm >= image->comms.size()) continue;
    CommImage& comm = image->comms[slot.comm];
    EdgeProgress edge;
    if (!Whole(slot) || !DecodeEdge(slot, &edge)) {
      comm.truncated = true;
      continue;
    }
    if (slot.operation >= placed.size()) continue;
    const Placed& owner = placed[slot.operation];
    // Its operation may have gone between the two parts of the copy.
    if (owner.comm != slot.comm || owner.generation != slot.operation_generation) continue;
    comm.operations[owner.position].edges.push_back(edge);
  }
}

}  // namespace

Result<size_t> BoardBytes(std::span<const std::byte> header) {
  TRY(CheckedHeader(header));
  static_assert(board::kBytes <= kBoardBytesMax && sizeof(Header) == kBoardHeaderBytes);
  return board::kBytes;
}

size_t BoardScanBytes(const BoardHeader& header) {
  const size_t lines = std::min<size_t>(header.comms.size() + 1, board::kComms);
  return offsetof(Header, lines) + lines * sizeof(board::Line);
}

Result<BoardHeader> DecodeBoardHeader(std::span<const std::byte> header) {
  const Header checked = TRY(CheckedHeader(header));
  return ToHeader(checked);
}

Result<BoardImage> DecodeBoard(std::span<const std::byte> bytes) {
  const Header header = TRY(CheckedHeader(bytes));
  if (bytes.size() < board::kBytes)
    return Error{ErrorCode::kCorrupt, "a board is shorter than it says"};
  BoardImage image;
  image.header = ToHeader(header);
  std::vector<uint64_t> lost;
  for (size_t i = 0; i < image.header.comms.size(); ++i) {
    const auto comm = At<board::Comm>(bytes, board::kCommsAt + i * sizeof(board::Comm));
    image.comms.push_back(DecodeComm(comm, image.header.comms[i]));
    image.comms.back().slot = static_cast<int>(i);
    lost.push_back(comm.lost_index);
  }
  const std::vector<Placed> placed = DecodeOperations(bytes, &image);
  DecodeEdges(bytes, placed, &image);
  for (size_t i = 0; i < image.comms.size(); ++i) {
    std::vector<OperationImage>& operations = image.comms[i].operations;
    std::sort(operations.begin(), operations.end(),
              [](const OperationImage& a, const OperationImage& b) {
                return a.op.index != b.op.index ? a.op.index < b.op.index
                                                : a.op.call_index < b.op.call_index;
              });
    // An operation without a slot matters for as long as its neighbours are shown.
    if (lost[i] != 0 && (operations.empty() || lost[i] > operations.front().op.index))
      image.comms[i].truncated = true;
  }
  return image;
}

}  // namespace sentinel
