#include "ring/report_file.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "base/testing_folder.h"

namespace sentinel {
namespace {

TEST(ReportFile, GoesWhereItIsAsked) {
  const TestingFolder folder;
  const std::string path = folder.path() / "report.json";
  EXPECT_TRUE(WriteReportFile(path, "{}\n").ok());
  std::ifstream file(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "{}\n");
  EXPECT_TRUE(WriteReportFile("", "{}\n").ok());
  EXPECT_FALSE(WriteReportFile(folder.path() / "none" / "report.json", "{}\n").ok());
}

TEST(ReportFile, OnStandardOutputItIsAlone) {
  testing::internal::CaptureStdout();
  EXPECT_TRUE(WriteReportFile("-", "{}\n").ok());
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "{}\n");
}

TEST(ReportFile, WhatDoesNotGetOutIsNoSuccess) {
  std::FILE* full = std::fopen("/dev/full", "w");
  ASSERT_NE(full, nullptr);
  EXPECT_FALSE(SayTo(full, "rank 2\n").ok());
  std::fclose(full);
  EXPECT_FALSE(WriteReportFile("/dev/full", "{}\n").ok());
}

TEST(ReportFile, PeopleReadWhereNoProgramDoes) {
  EXPECT_EQ(ForPeople("-", ""), stderr);
  EXPECT_EQ(ForPeople("", "-"), stderr);
  EXPECT_EQ(ForPeople("report.json", ""), stdout);
}

}  // namespace
}  // namespace sentinel
