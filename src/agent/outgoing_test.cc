#include "agent/outgoing.h"

#include <gtest/gtest.h>

#include "agent/backoff.h"
#include "wire/agent_stream.h"

namespace sentinel {
namespace {

Digest BigDigest(uint64_t id) {
  Digest digest;
  digest.request_id = id;
  digest.edges.resize(kDigestEdgesMax);
  for (EdgeProgress& edge : digest.edges) edge.steps = edge.started = UINT32_MAX;
  return digest;
}

UpMessage Decoded(const std::string& frame) {
  return DecodeUp(std::string_view(frame).substr(4)).value();
}

TEST(Outgoing, ShedsTheOldestDigestsAndNeverAnEvent) {
  Outgoing outgoing;
  outgoing.Push(SpooledEvent{1, "{}"});
  uint64_t pushed = 0;
  while (outgoing.dropped() < 10) outgoing.Push(BigDigest(++pushed));
  outgoing.Push(SpooledEvent{2, "{}"});
  EXPECT_LE(outgoing.bytes(), Outgoing::kBytesMax);
  EXPECT_EQ(std::get<SpooledEvent>(Decoded(outgoing.Pop())).spool_id, 1u);
  EXPECT_EQ(std::get<Digest>(Decoded(outgoing.Pop())).request_id, 11u);
  std::string last;
  while (!outgoing.empty()) last = outgoing.Pop();
  EXPECT_EQ(std::get<SpooledEvent>(Decoded(last)).spool_id, 2u);
  EXPECT_EQ(outgoing.bytes(), 0u);
}

TEST(Outgoing, KeepsOnlyTheNewestInventory) {
  Outgoing outgoing;
  outgoing.Push(Inventory{});
  outgoing.Push(Heartbeat{});
  outgoing.Push(Inventory{{Member{}}});
  EXPECT_TRUE(std::holds_alternative<Heartbeat>(Decoded(outgoing.Pop())));
  EXPECT_EQ(std::get<Inventory>(Decoded(outgoing.Pop())).members.size(), 1u);
  EXPECT_TRUE(outgoing.empty());
}

TEST(Backoff, DoublesToHalfAMinuteWithChanceAndStartsOver) {
  Backoff backoff(7);
  Duration whole = Backoff::kFirst;
  for (int i = 0; i < 20; ++i) {
    const Duration wait = backoff.Next();
    EXPECT_GE(wait, whole / 2);
    EXPECT_LE(wait, whole);
    whole = std::min<Duration>(whole * 2, Backoff::kMax);
  }
  backoff.Reset();
  EXPECT_LE(backoff.Next(), Backoff::kFirst);
}

}  // namespace
}  // namespace sentinel
