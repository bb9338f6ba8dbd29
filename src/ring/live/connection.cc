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

void SendConnection::Progress() {
  if (broken_) return;
  if (transport_ == LiveTransport::kIb) ReadAnswers();
  Write();
}

void SendConnection::Write() {
  while (!broken_ && !unsent_.empty()) {
    Slice& slice = unsent_.front();
    std::array<iovec, 2> parts{};
    size_t count = 0;
    if (slice.out < kHeader) {
      parts[count++] = {slice.header.data() + slice.out, kHeader - slice.out};
    }
    const size_t data_out = slice.out < kHeader ? 0 : slice.out - kHeader;
    if (data_out < slice.bytes) {
      parts[count++] = {const_cast<std::byte*>(slice.data) + data_out, slice.bytes - data_out};
    }
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = count;
    const ssize_t sent = sendmsg(fd_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    switch (OutcomeOf(sent)) {
      case Outcome::kSome:
        break;
      case Outcome::kNothing:
        return;
      case Outcome::kBroken:
        broken_ = true;
        return;
    }
    slice.out += static_cast<size_t>(sent);
    if (slice.out < kHeader + slice.bytes) continue;
    unsent_.pop_front();
    ++written_;
  }
}

void SendConnection::ReadAnswers() {
  std::array<uint8_t, 64> answers{};
  for (;;) {
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
}

short SendConnection::Wants() const {
  if (broken_) return 0;
  const int answers = transport_ == LiveTransport::kIb ? POLLIN : 0;
  return static_cast<short>(answers | (unsent_.empty() ? 0 : POLLOUT));
}

void ReceiveConnection::Post(std::byte* data, size_t room) {
  buffers_.push_back({data, room});
  ++posted_;
  if (transport_ == LiveTransport::kIb) Answer(kCreditByte);
}

void ReceiveConnection::Progress() {
  if (broken_) return;
  Read();
  WriteAnswers();
}

// Only into what was posted: bytes that nobody waits for stay in the connection, and its sender
// feels that.
void ReceiveConnection::Read() {
  while (!broken_ && !buffers_.empty()) {
    const Buffer& buffer = buffers_.front();
    uint32_t length = 0;
    std::memcpy(&length, header_.data(), kHeader);
    const bool in_header = in_ < kHeader;
    if (!in_header && length > buffer.room) {  // not one of ours
      broken_ = true;
      return;
    }
    std::byte* to = in_header ? header_.data() + in_ : buffer.data + (in_ - kHeader);
    const size_t wanted = in_header ? kHeader - in_ : kHeader + length - in_;
    if (wanted > 0) {
      const ssize_t got = recv(fd_.get(), to, wanted, MSG_DONTWAIT);
      switch (OutcomeOf(got)) {
        case Outcome::kSome:
          break;
        case Outcome::kNothing:
          return;
        case Outcome::kBroken:
          broken_ = true;
          return;
      }
      in_ += static_cast<size_t>(got);
      if (in_header || static_cast<size_t>(got) < wanted) continue;
    }
    sizes_[arrived_ % sizes_.size()] = length;
    in_ = 0;
    buffers_.pop_front();
    ++arrived_;
    if (transport_ == LiveTransport::kIb) Answer(kAcknowledgementByte);
  }
}

void ReceiveConnection::Answer(uint8_t byte) { answers_.push_back(byte); }

void ReceiveConnection::WriteAnswers() {
  while (!broken_ && !answers_.empty()) {
    std::array<uint8_t, 64> bytes{};
    const size_t count = std::min(bytes.size(), answers_.size());
    std::copy_n(answers_.begin(), count, bytes.begin());
    const ssize_t sent = send(fd_.get(), bytes.data(), count, MSG_NOSIGNAL | MSG_DONTWAIT);
    switch (OutcomeOf(sent)) {
      case Outcome::kSome:
        break;
      case Outcome::kNothing:
        return;
      case Outcome::kBroken:
        broken_ = true;
        return;
    }
    answers_.erase(answers_.begin(), answers_.begin() + sent);
  }
}

short ReceiveConnection::Wants() const {
  if (broken_) return 0;
  return static_cast<short>((buffers_.empty() ? 0 : POLLIN) | (answers_.empty() ? 0 : POLLOUT));
}

}  // namespace sentinel
