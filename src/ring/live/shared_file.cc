#include "ring/live/shared_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "probe/host/proc_files.h"

namespace sentinel {

Result<void*> MapSharedFile(const std::string& path, size_t bytes) {
  const auto failed = [&path] { return Error{ErrorCode::kIo, path + ": " + std::strerror(errno)}; };
  OwnedFd fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd.open() || ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) return failed();
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (memory == MAP_FAILED) return failed();
  return memory;
}

}  // namespace sentinel
