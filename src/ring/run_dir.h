// The folder of one replay: a board folder per rank, as if every rank had a node of its own.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace sentinel {

class RunDir {
 public:
  // `path`: used and, where missing, made; empty: a fresh one in shared memory. Each of the `nodes`
  // folders node-<n> is 0700.
  static Result<RunDir> Create(const std::string& path, int nodes);

  RunDir(RunDir&& other) noexcept;
  RunDir& operator=(RunDir&&) = delete;
  ~RunDir();  // removes what Create made, unless told to keep it

  void Keep() { made_.clear(); }
  const std::string& path() const { return path_; }
  const std::string& node(size_t index) const { return nodes_[index]; }
  const std::vector<std::string>& nodes() const { return nodes_; }

 private:
  RunDir() = default;

  std::string path_;
  std::vector<std::string> nodes_;
  std::vector<std::string> made_;  // in the order of making
};

}  // namespace sentinel
