#include "probe/host/pci_gpus.h"

#include <algorithm>
#include <filesystem>

#include "probe/host/proc_files.h"

namespace sentinel {
namespace {

constexpr size_t kDevicesMax = 4096;

bool StartsWith(const Result<std::string>& text, std::string_view start) {
  return text.ok() && text->compare(0, start.size(), start) == 0;
}

}  // namespace

std::vector<GpuIdentity> ListGpus(const std::string& sysfs) {
  std::vector<std::string> addresses;
  std::error_code error;
  std::filesystem::directory_iterator it(sysfs + "/bus/pci/devices", error);
  for (size_t i = 0; !error && it != std::filesystem::directory_iterator() && i < kDevicesMax;
       ++i) {
    const std::string folder = it->path().string();
    // NVIDIA's display and 3D controllers; its bridges and NVSwitches are other classes.
    const bool card = StartsWith(ReadWhole(folder + "/class", 16), "0x03");
    if (card && StartsWith(ReadWhole(folder + "/vendor", 16), "0x10de")) {
      addresses.push_back(it->path().filename().string());
    }
    it.increment(error);
  }
  std::sort(addresses.begin(), addresses.end());
  std::vector<GpuIdentity> gpus;
  for (const std::string& address : addresses) {
    gpus.push_back({static_cast<int>(gpus.size()), address, ""});
  }
  return gpus;
}

}  // namespace sentinel
