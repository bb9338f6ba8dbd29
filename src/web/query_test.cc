#include "web/query.h"

#include <gtest/gtest.h>

namespace sentinel {
namespace {

TEST(Query, IncidentsAreOpenOnesOrAll) {
  EXPECT_TRUE(*ShowsClosed(""));
  EXPECT_TRUE(*ShowsClosed("state=all"));
  EXPECT_FALSE(*ShowsClosed("state=open"));
  for (const char* wrong : {"state", "state=", "state=closed", "state=all&x=1", "State=all",
                            "state%3dall", "state=all "}) {
    EXPECT_FALSE(ShowsClosed(wrong).ok()) << wrong;
  }
}

TEST(Query, TheTrailIsAsLongAsIsAsked) {
  EXPECT_EQ(*AuditLines(""), kAuditShown);
  EXPECT_EQ(*AuditLines("max=1"), 1u);
  EXPECT_EQ(*AuditLines("max=1000"), kAuditShownMax);
  for (const char* wrong : {"max=", "max=0", "max=1001", "max=-1", "max=+1", "max=1x", "max= 1",
                            "max=99999999999999999999999", "max=5&max=6"}) {
    EXPECT_FALSE(AuditLines(wrong).ok()) << wrong;
  }
}

}  // namespace
}  // namespace sentinel
