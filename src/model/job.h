// What is known of a job beside its name. Empty or nothing: unknown.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace sentinel {

// Whose it is, as an agent reads it from a process's environment and container.
struct JobOwner {
  std::string partition;
  std::string name_space;
  std::string user;
  friend bool operator==(const JobOwner&, const JobOwner&) = default;
};

struct JobFacts {
  std::optional<int> gpus;         // at least so many
  std::vector<std::string> hosts;  // all it runs on; empty too where they are too many to tell
  JobOwner owner;
};

}  // namespace sentinel
