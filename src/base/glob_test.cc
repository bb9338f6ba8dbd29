#include "base/glob.h"

#include <gtest/gtest.h>

#include <string>

namespace sentinel {
namespace {

TEST(Glob, WithoutHolesItIsTheNameItself) {
  EXPECT_TRUE(FitsGlob("n1", "n1"));
  EXPECT_FALSE(FitsGlob("n1", "n12"));
  EXPECT_FALSE(FitsGlob("n1", "xn1"));
  EXPECT_TRUE(FitsGlob("", ""));
  EXPECT_FALSE(FitsGlob("", "n"));
}

TEST(Glob, AStarIsAnyRunAndAQuestionMarkOneCharacter) {
  EXPECT_TRUE(FitsGlob("*", ""));
  EXPECT_TRUE(FitsGlob("gpu-*", "gpu-worker-08"));
  EXPECT_TRUE(FitsGlob("*-08", "gpu-worker-08"));
  EXPECT_TRUE(FitsGlob("g*w*8", "gpu-worker-08"));
  EXPECT_FALSE(FitsGlob("g*w*9", "gpu-worker-08"));
  EXPECT_TRUE(FitsGlob("a*b*c", "abxbxbc"));
  EXPECT_TRUE(FitsGlob("n?", "n7"));
  EXPECT_FALSE(FitsGlob("n?", "n"));
  EXPECT_FALSE(FitsGlob("n?", "n77"));
  EXPECT_TRUE(FitsGlob("机架?3", "机架A3"));
  EXPECT_TRUE(FitsGlob("?架", "机架"));
  EXPECT_FALSE(FitsGlob("??架", "机架"));
}

TEST(Glob, ManyStarsCostNoMoreThanTheLengths) {
  std::string pattern;
  for (int i = 0; i < 60; ++i) pattern += "a*";
  EXPECT_FALSE(FitsGlob(pattern + "b", std::string(4000, 'a')));
}

}  // namespace
}  // namespace sentinel
