// Events on disk: one file each, whole or not there, also after kill -9. Blocking.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace sentinel {

class SpoolDir {
 public:
  struct Entry {
    uint64_t id = 0;
    std::string body;
  };

  explicit SpoolDir(std::string path) : path_(std::move(path)) {}

  // Makes the folder (0700) if need be and reads what an earlier run left, oldest first, at most
  // `entries_max`. Files that are half written are removed; those that are not ours are left alone.
  Result<std::vector<Entry>> Open(size_t entries_max);

  // On disk when it returns. Makes the folder anew if it is gone.
  Status Write(uint64_t id, const std::string& body);
  void Remove(uint64_t id);

  const std::string& path() const { return path_; }

 private:
  Status Make() const;
  std::string File(uint64_t id) const;

  std::string path_;
};

}  // namespace sentinel
