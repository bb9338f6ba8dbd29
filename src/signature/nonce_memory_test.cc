#include "signature/nonce_memory.h"

#include <gtest/gtest.h>

#include "signature/signature_testing.h"

namespace sentinel {
namespace {

TEST(NonceMemory, TakesEachNonceOnce) {
  NonceMemory memory(10);
  EXPECT_TRUE(memory.Take(1000, NonceOf(1)));
  EXPECT_FALSE(memory.Take(1000, NonceOf(1)));
  EXPECT_TRUE(memory.Take(1000, NonceOf(2)));
}

TEST(NonceMemory, WhatWasForgottenIsRefusedNotNew) {
  NonceMemory memory(10);
  EXPECT_TRUE(memory.Take(1000, NonceOf(1)));
  memory.RefuseBefore(1001);
  EXPECT_EQ(memory.size(), 0u);
  EXPECT_FALSE(memory.Take(1000, NonceOf(1)));
  EXPECT_FALSE(memory.Take(1000, NonceOf(2)));
  EXPECT_TRUE(memory.Take(1001, NonceOf(2)));
  memory.RefuseBefore(5);  // never goes back
  EXPECT_FALSE(memory.Take(1000, NonceOf(1)));
}

TEST(NonceMemory, AtItsBoundTheOldestLeaveAndStayRefused) {
  NonceMemory memory(3);
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(memory.Take(1000 + i, NonceOf(i)));
  EXPECT_EQ(memory.size(), 3u);
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(memory.Take(1000 + i, NonceOf(i))) << i;
  EXPECT_FALSE(memory.Take(1000, NonceOf(500)));
}

}  // namespace
}  // namespace sentinel
