// The two ends of one connection over which slices go, as NCCL's network plugin offers them to a
// proxy: post, ask whether it is done. Non-blocking, on the progress thread alone.
//
// On the wire a slice is its length (4 bytes, host order: both ends are one machine) and its data.
// With the ib behaviour the receiver answers with one byte for each buffer it has posted (credit)
// and one for each slice that has arrived (acknowledgement).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "probe/host/proc_files.h"
#include "ring/live/plan.h"

namespace sentinel {

constexpr uint8_t kCreditByte = 'C';
constexpr uint8_t kAcknowledgementByte = 'A';

class SendConnection {
 public:
  SendConnection(OwnedFd fd, LiveTransport transport) : fd_(std::move(fd)), transport_(transport) {}

  // Whether the transport would take one more slice now.
  bool MayPost() const { return transport_ == LiveTransport::kSocket || posted_ < credits_; }
  // `data` stays untouched until the slice is done. Only if MayPost().
  void Post(const std::byte* data, size_t bytes);

  uint64_t Posted() const { return posted_; }  // slices ever
  // socket: the connection has taken all their bytes. ib: their arrival was acknowledged.
  uint64_t Done() const { return transport_ == LiveTransport::kSocket ? written_ : acknowledged_; }

  void Flush();     // writes what was posted, as far as that goes without waiting
  void Progress();  // once fd() is ready for what Wants() says
  // What to wait for: POLLIN, POLLOUT, both or nothing. Broken connections wait for nothing.
  short Wants() const;
  int fd() const { return fd_.get(); }
  bool Broken() const { return broken_; }  // by the other end or the network; for ever

 private:
  struct Slice {
    std::array<std::byte, sizeof(uint32_t)> header;
    const std::byte* data;
    size_t bytes;
    size_t out;  // of header and data
  };
  void Written(size_t bytes);
  void ReadAnswers();

  OwnedFd fd_;
  LiveTransport transport_;
  std::deque<Slice> unsent_;  // at most as many as the buffer behind it has slots
  bool full_ = false;         // the connection takes no more for now
  uint64_t posted_ = 0;
  uint64_t written_ = 0;
  uint64_t credits_ = 0;
  uint64_t acknowledged_ = 0;
  bool broken_ = false;
};

class ReceiveConnection {
 public:
  ReceiveConnection(OwnedFd fd, LiveTransport transport)
      : fd_(std::move(fd)), transport_(transport) {}

  // The next slice goes to `data`, of which there are `room` bytes.
  void Post(std::byte* data, size_t room);

  uint64_t Posted() const { return posted_; }
  uint64_t Arrived() const { return arrived_; }  // slices ever, all their bytes
  size_t BytesOf(uint64_t n) const { return sizes_[n % sizes_.size()]; }  // of one that arrived

  void Flush();     // writes answers, as far as that goes without waiting
  void Progress();  // once fd() is ready for what Wants() says
  short Wants() const;
  int fd() const { return fd_.get(); }
  bool Broken() const { return broken_; }

 private:
  struct Buffer {
    std::byte* data;
    size_t room;
  };
  void Read();
  void Sort();

  OwnedFd fd_;
  LiveTransport transport_;
  std::deque<Buffer> buffers_;    // posted, not yet full
  std::vector<std::byte> inbox_;  // what has come and is not yet in a buffer
  std::vector<uint8_t> answers_;  // not yet written
  bool full_ = false;
  std::array<size_t, 64> sizes_{};
  uint64_t posted_ = 0;
  uint64_t arrived_ = 0;
  bool broken_ = false;
};

}  // namespace sentinel
