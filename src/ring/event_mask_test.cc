#include "ring/event_mask.h"

#include <gtest/gtest.h>

namespace sentinel {
namespace {

using enum CallbackType;

TEST(EventMask, AKernelEventBringsItsOperationGroupAndCallButNoProxy) {
  const uint32_t entailed = EntailedMask(MaskBit(kKernelCh));
  for (const CallbackType type : {kKernelCh, kColl, kP2p, kGroup, kCollApi, kP2pApi, kGroupApi}) {
    EXPECT_NE(entailed & MaskBit(type), 0u) << static_cast<int>(type);
  }
  for (const CallbackType type : {kProxyOp, kProxyStep, kProxyCtrl, kNetPlugin, kKernelLaunch}) {
    EXPECT_EQ(entailed & MaskBit(type), 0u) << static_cast<int>(type);
  }
}

TEST(EventMask, AStepBringsItsProxyOp) {
  EXPECT_NE(EntailedMask(MaskBit(kProxyStep)) & MaskBit(kProxyOp), 0u);
}

TEST(EventMask, NothingBringsNothing) { EXPECT_EQ(EntailedMask(0), 0u); }

TEST(EventMask, OldInterfacesKnowFewerTypes) {
  EXPECT_EQ(MaskOfAbi(2), 0x3fu);
  EXPECT_EQ(MaskOfAbi(3), 0xffu);
  EXPECT_EQ(MaskOfAbi(4), 0xffu);
  EXPECT_EQ(MaskOfAbi(5), 0xfffu);
}

}  // namespace
}  // namespace sentinel
