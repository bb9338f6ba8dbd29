#include "config/time_zone.h"

#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <fstream>

namespace sentinel {
namespace {

constexpr size_t kZoneBytesMax = 64;
constexpr char kMagic[] = "TZif";  // RFC 8536; beside the zones lie lists of them

// A zone's name is a path below the folder of zone files, and stays below it.
bool MayBeZone(const std::string& zone) {
  return !zone.empty() && zone.size() <= kZoneBytesMax && zone.front() != '/' &&
         std::all_of(zone.begin(), zone.end(), [](unsigned char c) {
           return isalnum(c) || c == '/' || c == '_' || c == '-' || c == '+';
         });
}

bool IsZoneFile(const std::string& path) {
  struct stat found {};
  if (stat(path.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) return false;
  std::string begins(sizeof kMagic - 1, '\0');
  std::ifstream file(path, std::ios::binary);
  return file.read(begins.data(), static_cast<std::streamsize>(begins.size())) && begins == kMagic;
}

}  // namespace

Result<std::string> ZoneName(const std::string& zone, const std::string& folder) {
  if (MayBeZone(zone) && (!HasZones(folder) || IsZoneFile(folder + "/" + zone))) return zone;
  return Error{ErrorCode::kInvalidArgument,
               "there is no time zone '" + zone + "'; a name such as Asia/Shanghai is expected"};
}

bool HasZones(const std::string& folder) {
  struct stat found {};
  return stat(folder.c_str(), &found) == 0 && S_ISDIR(found.st_mode);
}

}  // namespace sentinel
