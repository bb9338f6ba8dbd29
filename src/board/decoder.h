// The reader's half of the progress board: bytes in, values out. Pure; the bytes are hostile.
//
// The layout is board/layout.h, described with a worked example in docs/formats/board.md. Readers
// take this format and the one before it. Whatever the bytes say, decoding ends, stays within them,
// and allocates at most in proportion to them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "model/board_image.h"

namespace sentinel {

// What a routine scan reads from the start of the file.
constexpr size_t kBoardHeaderBytes = 7168;

// The size the file must have for a header that decodes, at most kBoardBytesMax: what to read for
// DecodeBoard.
constexpr size_t kBoardBytesMax = 4u << 20;
Result<size_t> BoardBytes(std::span<const std::byte> header);

// kCorrupt: not a board (magic, version, sizes). kUnavailable: the writer is still making it; look
// again later.
Result<BoardHeader> DecodeBoardHeader(std::span<const std::byte> header);

// How much of the header a scan needs in order to see every communicator of `header`, and one that
// comes after them; what lies behind does not change before that.
size_t BoardScanBytes(const BoardHeader& header);

// The whole board. A slot that a writer was changing while it was read is left out and its
// communicator marked truncated.
Result<BoardImage> DecodeBoard(std::span<const std::byte> board);

}  // namespace sentinel
