// The keys that a gateway, its terminals and its senders share, from files only their owner can
// read (docs/formats/keys.md).
//
//   key = "hall-1"
//   secret = "…"
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "signature/key_ring.h"

namespace sentinel {

// The key and secret of the published example are known to everybody.
enum class SampleKey { kRefused, kAllowed };

// Files of a folder that are read; more are kExhausted.
constexpr size_t kKeyFilesMax = 64;

struct KeyFile {
  KeyPair pair;
  std::optional<WallTime> revoked_at;  // then there is no secret
};

// kDenied if the file is readable by group or others (a credential that systemd hands over may be
// readable by its group), belongs to somebody else, or holds the published sample key or secret
// where that is refused; kNotFound, kIo, kInvalidArgument with file:line:column otherwise.
Result<KeyFile> ReadKeyFile(const std::string& path, SampleKey sample);

// A key that is not revoked; kDenied if it is.
Result<KeyPair> LoadKeyFile(const std::string& path, SampleKey sample);

// The same from a file, or from all *.key of a folder that nobody else can write to: those that are
// not revoked, which may be none. A folder without any file is kNotFound.
Result<std::vector<KeyPair>> LoadKeys(const std::string& path, SampleKey sample);

// What a file of secrets holds, at most 16 KiB, under the same rules about who may read it.
Result<std::string> ReadOwnersFile(const std::string& path);

// The paths of *.key in a folder, in order.
Result<std::vector<std::string>> ListKeyFiles(const std::string& folder);
bool IsFolder(const std::string& path);

}  // namespace sentinel
