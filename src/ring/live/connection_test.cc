#include "ring/live/connection.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <cstring>
#include <string>
#include <vector>

namespace sentinel {
namespace {

constexpr size_t kSlice = 1000;

// Two ends of a local connection that holds a few slices.
class Pair {
 public:
  explicit Pair(LiveTransport transport) : Pair(transport, Ends()) {}

  // Everything that goes without anybody posting more.
  void Settle() {
    for (int i = 0; i < 10; ++i) {
      send.Flush();
      receive.Flush();
      if (Ready(send.fd(), send.Wants())) send.Progress();
      if (Ready(receive.fd(), receive.Wants())) receive.Progress();
    }
  }

  SendConnection send;
  ReceiveConnection receive;

 private:
  struct Ends {
    Ends() {
      int fds[2];
      EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
      const int bytes = 1;  // the least there is
      setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
      a = fds[0];
      b = fds[1];
    }
    int a;
    int b;
  };
  Pair(LiveTransport transport, Ends ends)
      : send(OwnedFd(ends.a), transport), receive(OwnedFd(ends.b), transport) {}

  static bool Ready(int fd, short wants) {
    pollfd polled{fd, wants, 0};
    return wants != 0 && poll(&polled, 1, 0) > 0;
  }
};

std::vector<std::byte> Filled(char with) {
  return std::vector<std::byte>(kSlice, static_cast<std::byte>(with));
}

TEST(Connection, ASocketSenderRunsAheadUntilTheConnectionIsFull) {
  Pair pair(LiveTransport::kSocket);
  const std::vector<std::byte> slice = Filled('a');
  for (int i = 0; i < 100; ++i) pair.send.Post(slice.data(), slice.size());
  pair.Settle();
  EXPECT_GT(pair.send.Done(), 0U);
  EXPECT_LT(pair.send.Done(), 50U);
  EXPECT_EQ(pair.send.Wants(), POLLOUT);
  EXPECT_EQ(pair.receive.Arrived(), 0U);
}

TEST(Connection, SlicesArriveInOrderAndWhole) {
  Pair pair(LiveTransport::kSocket);
  std::vector<std::vector<std::byte>> sent;
  std::vector<std::vector<std::byte>> got(20, std::vector<std::byte>(kSlice));
  for (char c = 'a'; c < 'a' + 20; ++c) sent.push_back(Filled(c));
  for (size_t i = 0; i < sent.size(); ++i) {
    sent[i].resize(kSlice - 30 * i);  // shorter than there is room for; the sizes tell
    pair.send.Post(sent[i].data(), sent[i].size());
  }
  for (size_t i = 0; i < sent.size(); ++i) {
    pair.receive.Post(got[i].data(), kSlice);
    pair.Settle();
    ASSERT_EQ(pair.receive.Arrived(), i + 1);
    EXPECT_EQ(pair.receive.BytesOf(i), sent[i].size());
    EXPECT_EQ(std::memcmp(got[i].data(), sent[i].data(), sent[i].size()), 0);
  }
  EXPECT_EQ(pair.send.Done(), 20U);
}

TEST(Connection, AnEmptySliceIsASlice) {
  Pair pair(LiveTransport::kIb);
  std::byte buffer[kSlice];
  pair.receive.Post(buffer, sizeof buffer);
  pair.Settle();
  pair.send.Post(buffer, 0);
  pair.Settle();
  EXPECT_EQ(pair.receive.Arrived(), 1U);
  EXPECT_EQ(pair.send.Done(), 1U);
}

TEST(Connection, WithCreditsNothingGoesThatNobodyHasPostedFor) {
  Pair pair(LiveTransport::kIb);
  const std::vector<std::byte> slice = Filled('a');
  std::vector<std::byte> buffer(kSlice);
  EXPECT_FALSE(pair.send.MayPost());
  pair.receive.Post(buffer.data(), kSlice);
  pair.Settle();
  ASSERT_TRUE(pair.send.MayPost());
  pair.send.Post(slice.data(), kSlice);
  EXPECT_FALSE(pair.send.MayPost());
  EXPECT_EQ(pair.send.Done(), 0U);
  pair.Settle();
  EXPECT_EQ(pair.receive.Arrived(), 1U);
  EXPECT_EQ(pair.send.Done(), 1U);
}

TEST(Connection, WithCreditsASliceIsDoneOnlyOnceItHasArrived) {
  Pair pair(LiveTransport::kIb);
  const std::vector<std::byte> slice = Filled('a');
  std::vector<std::byte> buffer(kSlice);
  pair.receive.Post(buffer.data(), kSlice);
  pair.Settle();
  pair.send.Post(slice.data(), kSlice);
  pair.send.Flush();  // the connection has it all; its receiver does not look
  EXPECT_EQ(pair.send.Done(), 0U);
}

TEST(Connection, ALostOneIsBrokenForEver) {
  Pair pair(LiveTransport::kSocket);
  std::vector<std::byte> buffer(kSlice);
  pair.receive.Post(buffer.data(), kSlice);
  shutdown(pair.send.fd(), SHUT_RDWR);
  pair.receive.Progress();
  EXPECT_TRUE(pair.receive.Broken());
  EXPECT_EQ(pair.receive.Wants(), 0);
  pair.send.Post(buffer.data(), kSlice);
  pair.send.Flush();
  EXPECT_TRUE(pair.send.Broken());
}

TEST(Connection, ALengthThatNoSliceHasBreaksIt) {
  Pair pair(LiveTransport::kSocket);
  std::vector<std::byte> buffer(kSlice);
  pair.receive.Post(buffer.data(), 10);
  pair.send.Post(buffer.data(), 11);
  pair.Settle();
  EXPECT_TRUE(pair.receive.Broken());
  EXPECT_EQ(pair.receive.Arrived(), 0U);
}

}  // namespace
}  // namespace sentinel
