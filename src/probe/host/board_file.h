// A progress board's file, opened and read as something a stranger wrote: never mapped (a process
// that truncates it would kill us), never through a link, never more than a board may be.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "probe/host/proc_files.h"

namespace sentinel {

// A file by what it is, not by what it is called.
struct FileIdentity {
  uint64_t device = 0;
  uint64_t inode = 0;
  auto operator<=>(const FileIdentity&) const = default;
};

class BoardFile {
 public:
  // The board itself, or a short file that says which descriptor of its process has the sealed
  // memory that is the board (docs/formats/board.md). `descriptors` is that process's
  // /proc/<pid>/fd.
  //
  // kDenied for a link or anything that is not a regular file, or a descriptor that is not such
  // memory or may not be looked at; kCorrupt for a size no board has.
  static Result<BoardFile> Open(int folder_fd, const std::string& name,
                                const std::string& descriptors);

  // Of the file in the folder.
  const FileIdentity& identity() const { return identity_; }
  uint32_t owner() const { return owner_; }

  // As many of the first bytes as `start` takes. kCorrupt if the file has been cut below them.
  Status ReadStart(std::span<std::byte> start) const;

  // All of it, as long as its header says, into `bytes`, which keeps its storage between reads.
  // Bytes come from low to high addresses, as decoding needs them.
  Status ReadAll(std::vector<std::byte>* bytes) const;

 private:
  Status OpenMemory(const std::string& descriptors);

  OwnedFd fd_;
  OwnedFd place_;  // the file that led to it: while it is open nothing else gets its inode
  FileIdentity identity_;
  uint32_t owner_ = 0;
};

}  // namespace sentinel
