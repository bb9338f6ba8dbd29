#include "ctl/table.h"

#include <gtest/gtest.h>

namespace sentinel {
namespace {

TEST(Table, ColumnsAreAsWideAsWhatStandsInThem) {
  Table table({"A", "LONGER", "C"});
  table.Add({{"first", {}}, {"x", {}}, {"end", {}}});
  table.Add({{"2", {}}, {"much longer", {}}, {"", {}}});
  EXPECT_EQ(table.Print(false, ""),
            "A      LONGER       C\n"
            "first  x            end\n"
            "2      much longer  \n");
}

TEST(Table, AHanziTakesTwoColumns) {
  EXPECT_EQ(DisplayWidth("机架 A03"), 8u);
  EXPECT_EQ(DisplayWidth("e\xcc\x81"), 1u);  // a letter and its accent
  EXPECT_EQ(DisplayWidth("\xe6\x9c"), 1u);   // cut in the middle: read no further
  Table table({"HOST", "B"});
  table.Add({{"八号机", {}}, {"x", {}}});
  EXPECT_EQ(table.Print(false, ""), "HOST    B\n八号机  x\n");
}

TEST(Table, ColourDoesNotCountForWidthAndIsOnlyThereWhereAskedFor) {
  Table table({"A", "B"});
  table.Add({{"red", Paint::kRed}, {"x", {}}});
  EXPECT_EQ(table.Print(false, "").find('\033'), std::string::npos);
  EXPECT_NE(table.Print(true, "").find("\033[31;1mred\033[0m  x\n"), std::string::npos);
}

TEST(Table, WhatSomebodyCallsHimselfCannotMoveTheCursor) {
  EXPECT_EQ(Painted("a\033[2Jb\n\x7f", Paint::kNone, true), "a?[2Jb??");
  EXPECT_EQ(Painted("a\xc2\x9bZ\xc2\x85", Paint::kNone, true), "a?Z?");
  EXPECT_EQ(Painted("机架\xc2\xa0\xc2", Paint::kNone, true), "机架\xc2\xa0\xc2");
}

TEST(Table, WithoutRowsSaysSo) { EXPECT_EQ(Table({"A"}).Print(true, "nothing"), "nothing\n"); }

}  // namespace
}  // namespace sentinel
