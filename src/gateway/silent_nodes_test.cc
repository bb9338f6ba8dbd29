#include "gateway/silent_nodes.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sentinel {
namespace {

using Names = std::vector<std::string>;

TEST(SilentNodes, EachIsToldOnceAndItsReturnToo) {
  SilentNodes nodes;
  SilentNodes::News news = nodes.Update({"n2", "n1"}, Language::kEnglish);
  EXPECT_EQ(news.silent, (Names{"n1", "n2"}));
  EXPECT_TRUE(news.back.empty());
  news = nodes.Update({"n1", "n2"}, Language::kEnglish);
  EXPECT_TRUE(news.silent.empty());
  EXPECT_TRUE(news.back.empty());
  news = nodes.Update({"n2", "n3"}, Language::kEnglish);
  EXPECT_EQ(news.silent, Names{"n3"});
  EXPECT_EQ(news.back, Names{"n1"});
  news = nodes.Update({}, Language::kEnglish);
  EXPECT_EQ(news.back, (Names{"n2", "n3"}));
}

TEST(SilentNodes, TooManyAtOnceAreOneName) {
  SilentNodes nodes;
  nodes.Update({"n1", "n2", "n3"}, Language::kEnglish);
  SilentNodes::News news = nodes.Update({"n1", "n2", "n3", "n4"}, Language::kEnglish);
  EXPECT_EQ(news.silent, Names{"several hosts"});
  EXPECT_EQ(news.back, (Names{"n1", "n2", "n3"}));
  news = nodes.Update({"n1", "n2", "n3", "n4", "n5"}, Language::kEnglish);
  EXPECT_TRUE(news.silent.empty()) << "however many: it is one";
  news = nodes.Update({"n4"}, Language::kEnglish);
  EXPECT_EQ(news.silent, Names{"n4"});
  EXPECT_EQ(news.back, Names{"several hosts"});
}

TEST(SilentNodes, TheOneNameIsInTheLanguageOfTheHall) {
  SilentNodes nodes;
  EXPECT_EQ(nodes.Update({"n1", "n2", "n3", "n4"}, Language::kChinese).silent, Names{"多台"});
}

TEST(SilentNodes, AHostNamedTwiceIsOne) {
  SilentNodes nodes;
  EXPECT_EQ(nodes.Update({"n1", "n1", "n1", "n1"}, Language::kEnglish).silent, Names{"n1"});
}

}  // namespace
}  // namespace sentinel
