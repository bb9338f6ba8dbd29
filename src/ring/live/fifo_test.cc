#include "ring/live/fifo.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "base/testing_folder.h"
#include "ring/live/shared_file.h"
#include "ring/live/wiring.h"

namespace sentinel {
namespace {

constexpr FifoShape kShape{4, 64};

TEST(Fifo, HoldsAsManySlicesAsItHasSlots) {
  TestingFolder folder;
  const std::string path = folder.path() / "fifo";
  Fifo fifo(MapSharedFile(path, Fifo::BytesFor(kShape)).value(), kShape);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_TRUE(fifo.HasRoom());
    fifo.Produce(i);
  }
  EXPECT_FALSE(fifo.HasRoom());
  fifo.Consume();
  EXPECT_TRUE(fifo.HasRoom());
  EXPECT_EQ(fifo.Bytes(fifo.Consumed()), 1U);
}

// As two ranks of a node do: each has its own mapping and its own bell.
TEST(Fifo, SlicesPassThroughSharedMemoryInOrderWithoutSpinning) {
  TestingFolder folder;
  const std::string path = folder.path() / "fifo";
  const size_t bytes = Fifo::BytesFor(kShape);
  constexpr uint64_t kSlices = 5000;
  std::thread producer([&] {
    Fifo fifo(MapSharedFile(path, bytes).value(), kShape);
    KernelBell own = KernelBell::Open(folder.path(), 0).value();
    KernelBell other = KernelBell::Open(folder.path(), 1).value();
    for (uint64_t i = 0; i < kSlices; ++i) {
      for (;;) {
        const uint32_t seen = own.Count();
        if (fifo.HasRoom()) break;
        own.Wait(seen, std::chrono::seconds(10));
      }
      std::memcpy(fifo.Slot(i), &i, sizeof i);
      fifo.Produce(sizeof i);
      other.Ring();
    }
  });
  Fifo fifo(MapSharedFile(path, bytes).value(), kShape);
  KernelBell own = KernelBell::Open(folder.path(), 1).value();
  KernelBell other = KernelBell::Open(folder.path(), 0).value();
  for (uint64_t i = 0; i < kSlices; ++i) {
    for (;;) {
      const uint32_t seen = own.Count();
      if (fifo.HasData()) break;
      own.Wait(seen, std::chrono::seconds(10));
    }
    uint64_t got = 0;
    std::memcpy(&got, fifo.Slot(i), sizeof got);
    ASSERT_EQ(got, i);
    fifo.Consume();
    other.Ring();
  }
  producer.join();
}

TEST(WireLine, LeadsBackToItsName) {
  const WireName name{0xf5c3fe7bec0ef6fa, WireUse::kP2p, 1, 6, 0};
  std::string line = WireLine(name);
  ASSERT_EQ(line.back(), '\n');
  line.pop_back();
  EXPECT_EQ(line, "SENTINEL f5c3fe7bec0ef6fa p2p 1 6 0");
  EXPECT_EQ(ParseWireLine(line), name);
}

TEST(WireLine, AnythingElseIsNobody) {
  for (const char* line : {"", "GET / HTTP/1.1", "SENTINEL 12 ring 0 1", "SENTINEL 12 tree 0 1 2",
                           "SENTINEL 12 ring 0 1 2 3", "SENTINEL xyz ring 0 1 2"}) {
    EXPECT_EQ(ParseWireLine(line), std::nullopt) << line;
  }
}

}  // namespace
}  // namespace sentinel
