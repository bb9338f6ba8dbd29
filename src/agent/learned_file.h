// What the agent has learned, in a file of its state folder: whole or not there, read back as a
// stranger's. Blocking, but it never waits for the disk: after a crash of the machine, which is
// what waiting would be for, all of it is worth nothing anyway.
#pragma once

#include <string>

#include "base/result.h"
#include "progress/learned.h"

namespace sentinel {

class LearnedFile {
 public:
  // <folder>/learned.<hash of the agent's id>: agents that share a folder do not share it.
  LearnedFile(std::string folder, const std::string& agent_id);

  // kNotFound where there is none, kCorrupt for a damaged one, kUnavailable for one of another
  // boot; in each case there is nothing to take up.
  Result<Learned> Load(const std::string& boot) const;

  // Makes the folder (0755) if need be; an error if nothing could be saved there.
  Status MakeFolder() const;

  // Replaces what is there, and makes the folder if need be.
  Status Save(const std::string& text) const;

  const std::string& path() const { return path_; }

 private:
  std::string folder_;
  std::string path_;
};

}  // namespace sentinel
