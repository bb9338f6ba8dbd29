#include "config/key_parts.h"

#include <gtest/gtest.h>

#include <string>

namespace sentinel {
namespace {

std::string Key(size_t parts, const std::string& part = "a") {
  std::string key = part;
  for (size_t i = 1; i < parts; ++i) key += "." + part;
  return key;
}

TEST(KeyParts, AKeyHasSoManyPartsAndNotMore) {
  EXPECT_EQ(LineOfTooLongKey(Key(kKeyPartsMax) + " = 1\n"), std::nullopt);
  EXPECT_EQ(LineOfTooLongKey("b = 1\n" + Key(kKeyPartsMax + 1) + " = 1\n"), 2u);
  EXPECT_EQ(LineOfTooLongKey("\n\n[" + Key(40'000) + "]\n"), 3u);
  EXPECT_EQ(LineOfTooLongKey("b = { " + Key(40'000, "\"x\"") + " = 1 }"), 1u);
}

TEST(KeyParts, WhatIsNoKeyHasNone) {
  const std::string dots(1000, '.');
  EXPECT_EQ(LineOfTooLongKey(""), std::nullopt);
  EXPECT_EQ(LineOfTooLongKey("# " + dots + "\nb = 1"), std::nullopt);
  EXPECT_EQ(LineOfTooLongKey("b = \"" + dots + "\\\"" + dots + "\""), std::nullopt);
  EXPECT_EQ(LineOfTooLongKey("b = '" + dots + "\\'"), std::nullopt);
  EXPECT_EQ(LineOfTooLongKey("b = \"\"\"\n" + dots + "\n\"" + dots + "\"\"\""), std::nullopt);
  EXPECT_EQ(LineOfTooLongKey("b = '''" + dots + "\n''" + dots + "'''"), std::nullopt);
  std::string addresses = "b = [";
  for (int i = 0; i < 1000; ++i) addresses += "'10.0.0.1', 1.5, ";
  EXPECT_EQ(LineOfTooLongKey(addresses + "]"), std::nullopt);
}

TEST(KeyParts, AQuoteThatIsNotClosedHidesNoOtherLine) {
  EXPECT_EQ(LineOfTooLongKey("b = \"x\n" + Key(100) + " = 1"), 2u);
  EXPECT_EQ(LineOfTooLongKey("b = \"x\\"), std::nullopt);
  EXPECT_EQ(LineOfTooLongKey("b = '''x"), std::nullopt);
}

}  // namespace
}  // namespace sentinel
