#include "ring/live/connection.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/check.h"

namespace sentinel {
namespace {

constexpr size_t kHeader = sizeof(uint32_t);
constexpr size_t kSlicesPerWrite = 8;

// What a non-blocking call brought: some bytes, nothing for now, or the end of the connection.
enum class Outcome { kSome, kNothing, kBroken };

Outcome OutcomeOf(ssize_t result) {
  if (result > 0) return Outcome::kSome;
  if (result < 0 && (errno == EAGAIN || errno == EINTR)) return Outcome::kNothing;
  return Outcome::kBroken;
}

}  // namespace

void SendConnection::Post(const std::byte* data, size_t bytes) {
  CHECK(MayPost());
  Slice slice{{}, data, bytes, 0};
  const auto length = static_cast<uint32_t>(bytes);
  std::memcpy(slice.header.data(), &length, kHeader);
  unsent_.push_back(slice);
  ++posted_;
}

void SendConnection::Flush() {
  if (broken_ || full_ || unsent_.empty()) return;
  std::array<iovec, 2 * kSlicesPerWrite> parts{};
  size_t count = 0;
  size_t wanted = 0;
  for (Slice& slice : unsent_) {
    if (count == parts.size()) break;
    const size_t header_out = std::min(slice.out, kHeader);
    const size_t data_out = slice.out - header_out;
    parts[count++] = {slice.header.data() + header_out, kHeader - header_out};
    parts[count++] = {const_cast<std::byte*>(slice.data) + data_out, slice.bytes - data_out};
    wanted += kHeader + slice.bytes - slice.out;
  }
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = count;
  const ssize_t sent = sendmsg(fd_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  switch (OutcomeOf(sent)) {
    case Outcome::kSome:
      full_ = static_cast<size_t>(sent) < wanted;
      Written(static_cast<size_t>(sent));
      return;
    case Outcome::kNothing:
      full_ = true;
      return;
    case Outcome::kBroken:
      broken_ = true;
      return;
  }
}

void SendConnection::Written(size_t bytes) {
  while (bytes > 0) {
    Slice& slice = unsent_.front();
    const size_t part = std::min(bytes, kHeader + slice.bytes - slice.out);
    slice.out += part;
    bytes -= part;
    if (slice.out < kHeader + slice.bytes) return;
    unsent_.pop_front();
    ++written_;
  }
}

void SendConnection::Progress() {
  if (broken_) return;
  if (transport_ == LiveTransport::kIb) ReadAnswers();
  full_ = false;
  Flush();
}

void SendConnection::ReadAnswers() {
  std::array<uint8_t, 64> answers{};
  const ssize_t got = recv(fd_.get(), answers.data(), answers.size(), MSG_DONTWAIT);
  switch (OutcomeOf(got)) {
    case Outcome::kSome:
      break;
    case Outcome::kNothing:
      return;
    case Outcome::kBroken:
      broken_ = true;
      return;
  }
  for (ssize_t i = 0; i < got; ++i) {
    if (answers[static_cast<size_t>(i)] == kCreditByte) {
      ++credits_;
    } else {
      ++acknowledged_;
    }
  }
}

short SendConnection::Wants() const {
  if (broken_) return 0;
  const int answers = transport_ == LiveTransport::kIb ? POLLIN : 0;
  return static_cast<short>(answers | (full_ ? POLLOUT : 0));
}

void ReceiveConnection::Post(std::byte* data, size_t room) {
  buffers_.push_back({data, room});
  ++posted_;
  if (transport_ == LiveTransport::kIb) answers_.push_back(kCreditByte);
  Sort();
}

void ReceiveConnection::Progress() {
  if (broken_) return;
  if (!buffers_.empty()) Read();
  Sort();
  full_ = false;
  Flush();
}

// No more than would fill what is posted: bytes that nobody waits for stay in the connection, and
// its sender feels that.
void ReceiveConnection::Read() {
  size_t wanted = 0;
  for (const Buffer& buffer : buffers_) wanted += kHeader + buffer.room;
  if (wanted <= inbox_.size()) return;
  const size_t had = inbox_.size();
  inbox_.resize(wanted);
  const ssize_t got = recv(fd_.get(), inbox_.data() + had, wanted - had, MSG_DONTWAIT);
  inbox_.resize(had + (got > 0 ? static_cast<size_t>(got) : 0));
  if (OutcomeOf(got) == Outcome::kBroken) broken_ = true;
}

void ReceiveConnection::Sort() {
  size_t at = 0;
  while (!buffers_.empty() && inbox_.size() - at >= kHeader) {
    uint32_t length = 0;
    std::memcpy(&length, inbox_.data() + at, kHeader);
    if (length > buffers_.front().room) {  // not one of ours
      broken_ = true;
      return;
    }
    if (inbox_.size() - at < kHeader + length) break;
    std::memcpy(buffers_.front().data, inbox_.data() + at + kHeader, length);
    at += kHeader + length;
    sizes_[arrived_ % sizes_.size()] = length;
    buffers_.pop_front();
    ++arrived_;
    if (transport_ == LiveTransport::kIb) answers_.push_back(kAcknowledgementByte);
  }
  inbox_.erase(inbox_.begin(), inbox_.begin() + static_cast<std::ptrdiff_t>(at));
}

void ReceiveConnection::Flush() {
  if (broken_ || full_ || answers_.empty()) return;
  const ssize_t sent =
      send(fd_.get(), answers_.data(), answers_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  switch (OutcomeOf(sent)) {
    case Outcome::kSome:
      answers_.erase(answers_.begin(), answers_.begin() + sent);
      full_ = !answers_.empty();
      return;
    case Outcome::kNothing:
      full_ = true;
      return;
    case Outcome::kBroken:
      broken_ = true;
      return;
  }
}

short ReceiveConnection::Wants() const {
  if (broken_) return 0;
  return static_cast<short>((buffers_.empty() ? 0 : POLLIN) | (full_ ? POLLOUT : 0));
}

}  // namespace sentinel
