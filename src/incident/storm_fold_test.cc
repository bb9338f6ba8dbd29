#include "incident/storm_fold.h"

#include <gtest/gtest.h>

namespace sentinel {
namespace {

using std::chrono::seconds;

CardFault Fault(int order, std::optional<int> gpu, std::string pci = "") {
  return {"n1", gpu, std::move(pci), order};
}

TEST(StormFold, NumbersTellWhatFollowsFromWhat) {
  auto order = [](int xid) {
    Event event;
    event.xid = xid;
    event.gpu_index = 1;
    return CardFaultOf(event, "n1")->order;
  };
  for (int root : {13, 31, 48, 63, 74, 79, 95, 119}) EXPECT_EQ(order(root), 0) << root;
  for (int contained : {94, 171, 172}) EXPECT_EQ(order(contained), 1) << contained;
  EXPECT_EQ(order(154), 2);
  for (int program : {43, 45}) EXPECT_EQ(order(program), 3) << program;
  Event lost;
  lost.event_type = "GPU_LOST";
  EXPECT_FALSE(CardFaultOf(lost, "n1").has_value());  // which card?
  lost.pci = "0000:3b:00.0";
  EXPECT_EQ(CardFaultOf(lost, "n1")->order, 0);
  lost.event_type = "THERMAL";
  EXPECT_FALSE(CardFaultOf(lost, "n1").has_value());
}

TEST(StormFold, AFaultFollowsFromOneOfItsOwnCardWithinTheWindow) {
  StormFold folds;
  const Instant start{seconds(100)};
  folds.Remember(Fault(0, 3, "0000:3b:00.0"), "root", start);
  EXPECT_EQ(folds.RootOf(Fault(3, 3), start + kFoldWindow), "root");
  EXPECT_EQ(folds.RootOf(Fault(3, std::nullopt, "0000:3b:00.0"), start), "root");
  EXPECT_FALSE(folds.RootOf(Fault(3, 4, "0000:3b:00.0"), start).has_value());
  EXPECT_FALSE(folds.RootOf(Fault(3, std::nullopt, "0000:86:00.0"), start).has_value());
  EXPECT_FALSE(folds.RootOf(Fault(0, 3), start).has_value());
  EXPECT_FALSE(folds.RootOf(Fault(3, 3), start + kFoldWindow + seconds(1)).has_value());
  folds.Forget("n1", "root");
  EXPECT_FALSE(folds.RootOf(Fault(3, 3), start).has_value());
}

TEST(StormFold, TheDeepestRootWins) {
  StormFold folds;
  const Instant start{seconds(100)};
  folds.Remember(Fault(0, 3), "memory", start);
  folds.Remember(Fault(1, 3), "contained", start + seconds(1));
  EXPECT_EQ(folds.RootOf(Fault(3, 3), start + seconds(2)), "memory");
  EXPECT_EQ(folds.FollowersOf(Fault(0, 3), start + seconds(2)),
            std::vector<std::string>{"contained"});
}

TEST(StormFold, HostsAndTheirFaultsAreBounded) {
  StormFold folds;
  const Instant start{seconds(100)};
  for (size_t i = 0; i <= kFoldHostsMax; ++i) {
    CardFault fault = Fault(0, 1);
    fault.host = "n" + std::to_string(i);
    folds.Remember(fault, "i", start);
  }
  CardFault late = Fault(3, 1);
  late.host = "n" + std::to_string(kFoldHostsMax);
  EXPECT_FALSE(folds.RootOf(late, start).has_value());  // stands for itself
  folds.Remember(late, "late", start + kFoldWindow + seconds(1));
  EXPECT_EQ(folds.FollowersOf({late.host, 1, "", 0}, start + kFoldWindow + seconds(1)).size(), 1u);
  for (size_t i = 0; i < 3 * kFoldFaultsMax; ++i) {
    folds.Remember({late.host, 1, "", 3}, "f", start + kFoldWindow + seconds(1));
  }
  EXPECT_EQ(folds.FollowersOf({late.host, 1, "", 0}, start + kFoldWindow + seconds(1)).size(),
            kFoldFaultsMax);
}

}  // namespace
}  // namespace sentinel
