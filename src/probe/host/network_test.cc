#include <gtest/gtest.h>

#include "probe/host/network_interface.h"
#include "probe/host/pci_gpus.h"
#include "probe/host/testing_proc.h"

namespace sentinel {
namespace {

TEST(NetworkInterface, ACardWithAnInfinibandSideCarriesTraining) {
  TestingProc files;
  const std::filesystem::path net = files.root() / "class/net";
  std::filesystem::create_directories(net / "ens1f0/device/infiniband");
  TestingProc::WriteFile(net / "ib0/type", "32\n");
  TestingProc::WriteFile(net / "eno1/type", "1\n");
  EXPECT_TRUE(IsTrainingInterface("ens1f0", files.root()));
  EXPECT_TRUE(IsTrainingInterface("ib0", files.root()));
  EXPECT_FALSE(IsTrainingInterface("eno1", files.root()));
  EXPECT_FALSE(IsTrainingInterface("", files.root()));
  EXPECT_FALSE(IsTrainingInterface("../net/ib0", files.root()));
}

TEST(NetworkInterface, AnAddressNobodyHasIsNoInterface) {
  EXPECT_EQ(InterfaceOf("192.0.2.1"), "");
  EXPECT_EQ(InterfaceOf(""), "");
}

TEST(PciGpus, CardsAreNumberedByTheirAddress) {
  TestingProc files;
  const std::filesystem::path devices = files.root() / "bus/pci/devices";
  const auto add = [&](const char* address, const char* device_class, const char* vendor) {
    TestingProc::WriteFile(devices / address / "class", device_class);
    TestingProc::WriteFile(devices / address / "vendor", vendor);
  };
  add("0000:9a:00.0", "0x030200\n", "0x10de\n");
  add("0000:3b:00.0", "0x030200\n", "0x10de\n");
  add("0000:05:00.0", "0x068000\n", "0x10de\n");  // NVSwitch
  add("0000:06:00.0", "0x030000\n", "0x1a03\n");  // the board's own display
  const std::vector<GpuIdentity> gpus = ListGpus(files.root());
  ASSERT_EQ(gpus.size(), 2u);
  EXPECT_EQ(gpus[0].pci, "0000:3b:00.0");
  EXPECT_EQ(gpus[1].index, 1);
  EXPECT_TRUE(ListGpus(files.root() / "none").empty());
}

}  // namespace
}  // namespace sentinel
