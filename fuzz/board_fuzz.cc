// Boards from a process that is not believed: decoding ends and stays in bounds.
//
// The input is laid over a good board from an offset on, so that the fuzzer need not find 800 KB of
// magic and sizes by itself; an input that begins with 'R' is taken raw.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "board/board_testing.h"
#include "board/decoder.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sentinel;
  static const std::vector<std::byte>* const good = [] {
    board::TestBoard made;
    for (uint64_t i = 0; i < 4; ++i) made.AddStuckComm(i, 4, 8);
    return new std::vector<std::byte>(made.Copy());
  }();
  if (size < 5) return 0;
  std::vector<std::byte> bytes;
  if (data[0] == 'R') {
    bytes.assign(reinterpret_cast<const std::byte*>(data) + 1,
                 reinterpret_cast<const std::byte*>(data) + size);
  } else {
    bytes = *good;
    // Pieces: 3 bytes of offset, 1 of length, then the bytes.
    for (size_t at = 1; at + 4 <= size;) {
      const size_t offset = data[at] | data[at + 1] << 8 | data[at + 2] << 16;
      const size_t length = std::min<size_t>(data[at + 3], size - at - 4);
      if (offset + length <= bytes.size())
        std::memcpy(bytes.data() + offset, data + at + 4, length);
      at += 4 + length;
    }
  }
  const auto header = DecodeBoardHeader(bytes);
  const auto needed = BoardBytes(bytes);
  CHECK(header.ok() == needed.ok());
  if (needed.ok()) CHECK(*needed <= kBoardBytesMax);
  const auto image = DecodeBoard(bytes);
  if (!image.ok()) return 0;
  for (const CommImage& comm : image->comms) {
    for (const OperationImage& operation : comm.operations) {
      for (const EdgeProgress& edge : operation.edges)
        CHECK(edge.done <= edge.started && edge.started <= edge.steps);
    }
  }
  return 0;
}
