// Boards from a process that is not believed: decoding ends and stays in bounds.
//
// The input is laid over a good board from an offset on, so that the fuzzer need not find 800 KB of
// magic and sizes by itself; an input that begins with 'R' is taken raw.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "base/check.h"
#include "board/board_testing.h"
#include "board/decoder.h"

namespace {

using namespace sentinel;

// 800 KB are neither allocated nor copied for each input: only what an input has laid over the good
// board is put back.
struct Boards {
  std::vector<std::byte> good;
  std::vector<std::byte> spoilt;
  std::vector<std::pair<size_t, size_t>> pieces;  // offset and length

  void Lay(size_t offset, const uint8_t* bytes, size_t length) {
    if (offset + length > spoilt.size()) return;
    std::memcpy(spoilt.data() + offset, bytes, length);
    pieces.emplace_back(offset, length);
  }
  void Restore() {
    for (const auto& [offset, length] : pieces)
      std::memcpy(spoilt.data() + offset, good.data() + offset, length);
    pieces.clear();
  }
};

Boards* MakeBoards() {
  board::TestBoard made;
  for (uint64_t i = 0; i < 4; ++i) made.AddStuckComm(i, 4, 8);
  return new Boards{made.Copy(), made.Copy(), {}};
}

void Read(std::span<const std::byte> bytes) {
  const auto header = DecodeBoardHeader(bytes);
  const auto needed = BoardBytes(bytes);
  CHECK(header.ok() == needed.ok());
  if (needed.ok()) CHECK(*needed <= kBoardBytesMax);
  if (header.ok()) CHECK(BoardScanBytes(*header) <= kBoardHeaderBytes);
  const auto image = DecodeBoard(bytes);
  if (!image.ok()) return;
  for (const CommImage& comm : image->comms) {
    for (const OperationImage& operation : comm.operations) {
      for (const EdgeProgress& edge : operation.edges)
        CHECK(edge.done <= edge.started && edge.started <= edge.steps);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static Boards* const boards = MakeBoards();
  if (size < 5) return 0;
  if (data[0] == 'R') {
    const auto* raw = reinterpret_cast<const std::byte*>(data);
    Read(std::vector<std::byte>(raw + 1, raw + size));
    return 0;
  }
  // Pieces: 3 bytes of offset, 1 of length, then the bytes.
  for (size_t at = 1; at + 4 <= size;) {
    const size_t offset = data[at] | data[at + 1] << 8 | data[at + 2] << 16;
    const size_t length = std::min<size_t>(data[at + 3], size - at - 4);
    boards->Lay(offset, data + at + 4, length);
    at += 4 + length;
  }
  Read(boards->spoilt);
  boards->Restore();
  return 0;
}
