#include "config/time_zone.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/testing_folder.h"

namespace sentinel {
namespace {

TEST(TimeZone, IsOneThatTheHostsZoneFilesKnow) {
  const TestingFolder made;
  const std::string folder = made.path().string();
  std::filesystem::create_directory(folder + "/Asia");
  std::ofstream(folder + "/Asia/Shanghai") << "TZif2 and so on";
  std::ofstream(folder + "/leapseconds") << "# a list";
  std::ofstream(folder + "/empty") << "";
  ASSERT_TRUE(HasZones(folder));
  EXPECT_EQ(*ZoneName("Asia/Shanghai", folder), "Asia/Shanghai");
  for (const char* wrong : {"", "Asia", "Asia/Shanghia", "leapseconds", "empty", "/etc/localtime",
                            "../Asia/Shanghai", "Asia/Shang hai"}) {
    const Result<std::string> zone = ZoneName(wrong, folder);
    ASSERT_FALSE(zone.ok()) << wrong;
    EXPECT_NE(zone.error().message.find("such as Asia/Shanghai is expected"), std::string::npos);
  }
}

TEST(TimeZone, IsTakenByItsLooksWhereTheHostHasNoZoneFiles) {
  const TestingFolder made;
  const std::string folder = (made.path() / "none").string();
  EXPECT_FALSE(HasZones(folder));
  EXPECT_TRUE(ZoneName("Asia/Shanghia", folder).ok());
  EXPECT_FALSE(ZoneName("../../etc/passwd", folder).ok());
}

}  // namespace
}  // namespace sentinel
