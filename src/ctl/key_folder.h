// A folder of keys as an operator changes it: new ones, exchanges, ends; one change at a time. The
// files are those that daemons read (docs/formats/keys.md).
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "http/key_file.h"

namespace sentinel {

enum class KeyState : uint8_t { kActive, kNext, kEnded, kRevoked };
std::string_view KeyStateName(KeyState state);  // "active" "next" "ended" "revoked"

class KeyFolder {
 public:
  // Where there is none, New makes it.
  explicit KeyFolder(std::string path) : path_(std::move(path)) {}

  struct Entry {
    std::string path;
    KeyFile file;
    KeyState state = KeyState::kActive;
  };
  Result<std::vector<Entry>> List(WallTime now) const;

  // A key with a secret of chance, valid from `now`. `id` empty: one is made up. kExhausted while
  // kActiveKeysMax are in use or to come.
  Result<KeyPair> New(const std::string& id, WallTime now) const;
  // A new key, and an end for the one in use when `overlap` has passed.
  Result<KeyPair> Rotate(const std::string& id, std::chrono::hours overlap, WallTime now) const;
  // It is worth nothing from now on, and its secret is gone from the file. kNotFound.
  Status Revoke(const std::string& id, WallTime now) const;

  std::string PathOf(const std::string& id) const { return path_ + "/" + id + ".key"; }

 private:
  Result<KeyPair> Add(const std::string& id, WallTime now) const;

  std::string path_;
};

}  // namespace sentinel
