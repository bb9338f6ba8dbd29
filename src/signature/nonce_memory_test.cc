#include "signature/nonce_memory.h"

#include <gtest/gtest.h>

#include <string>

namespace sentinel {
namespace {

std::string Nonce(int n) {
  std::string digits = std::to_string(n);
  return std::string(kNonceChars - digits.size(), 'A') + digits;
}

TEST(NonceMemory, TakesEachNonceOnce) {
  NonceMemory memory(10);
  EXPECT_TRUE(memory.Take(1000, Nonce(1)));
  EXPECT_FALSE(memory.Take(1000, Nonce(1)));
  EXPECT_TRUE(memory.Take(1000, Nonce(2)));
}

TEST(NonceMemory, WhatWasForgottenIsRefusedNotNew) {
  NonceMemory memory(10);
  EXPECT_TRUE(memory.Take(1000, Nonce(1)));
  memory.RefuseBefore(1001);
  EXPECT_EQ(memory.size(), 0u);
  EXPECT_FALSE(memory.Take(1000, Nonce(1)));
  EXPECT_FALSE(memory.Take(1000, Nonce(2)));
  EXPECT_TRUE(memory.Take(1001, Nonce(2)));
  memory.RefuseBefore(5);  // never goes back
  EXPECT_FALSE(memory.Take(1000, Nonce(1)));
}

TEST(NonceMemory, AtItsBoundTheOldestLeaveAndStayRefused) {
  NonceMemory memory(3);
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(memory.Take(1000 + i, Nonce(i)));
  EXPECT_EQ(memory.size(), 3u);
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(memory.Take(1000 + i, Nonce(i))) << i;
  EXPECT_FALSE(memory.Take(1000, Nonce(500)));
}

}  // namespace
}  // namespace sentinel
