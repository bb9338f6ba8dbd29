#include "agent/watched_board.h"

#include <algorithm>
#include <span>

namespace sentinel {

// Only as far as its communicators reach: at rest, this and the wake-up are what the agent costs.
Status WatchedBoard::ReadHeader(Instant now) {
  std::array<std::byte, kBoardHeaderBytes> start;  // not zeroed: the read fills it
  const std::span wanted = std::span(start).first(header ? scan_bytes : start.size());
  Status read = file->ReadStart(wanted);
  if (read.ok() && header && std::equal(wanted.begin(), wanted.end(), raw.begin())) {
    return {};
  }
  const size_t comms_before = header ? header->comms.size() : 0;
  if (read.ok()) std::copy(wanted.begin(), wanted.end(), raw.begin());
  Result<BoardHeader> decoded =
      read.ok() ? DecodeBoardHeader(raw) : Result<BoardHeader>(read.error());
  // There are more than the last read reached: what is behind them may be old.
  if (decoded.ok() && header && decoded->comms.size() > comms_before) {
    read = file->ReadStart(raw);
    decoded = read.ok() ? DecodeBoardHeader(raw) : Result<BoardHeader>(read.error());
  }
  if (!decoded.ok()) {
    header.reset();
    return decoded.error();
  }
  header = std::move(decoded).value();
  scan_bytes = BoardScanBytes(*header);
  header_changed = now;
  bad_noted = false;
  return {};
}

void WatchedBoard::ReadImage(std::vector<std::byte>* buffer, Instant now) {
  if (!file->ReadAll(buffer).ok()) return;
  const Result<BoardImage> image = DecodeBoard(*buffer);
  if (!image.ok()) return;
  watch.OnImage(*image, now);
  imaged_at = now;
}

}  // namespace sentinel
