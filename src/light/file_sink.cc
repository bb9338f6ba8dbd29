#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "light/frame_sink.h"

namespace sentinel {
namespace {

class FileSink : public FrameSink {
 public:
  explicit FileSink(std::string path) : path_(std::move(path)) {}
  ~FileSink() override { Close(); }
  FileSink(const FileSink&) = delete;
  FileSink& operator=(const FileSink&) = delete;

  Status Show(const Frame& frame) override {
    if (fd_ < 0) TRY(Open());
    if (fd_ < 0) return {};  // a FIFO without a reader
    // A frame is smaller than PIPE_BUF: a FIFO takes the whole of it or nothing.
    static_assert(kFrameBytes <= 4096);
    ssize_t written = regular_ ? pwrite(fd_, frame.data(), frame.size(), 0)
                               : write(fd_, frame.data(), frame.size());
    if (written == static_cast<ssize_t>(frame.size())) return {};
    if (written < 0 && (errno == EAGAIN || errno == EINTR)) return {};
    bool reader_left = written < 0 && errno == EPIPE;
    Error failed = Failed(written < 0 ? errno : EIO);
    Close();
    return reader_left ? Status() : Status(failed);
  }

 private:
  Status Open() {
    fd_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_NONBLOCK | O_CLOEXEC, 0644);
    if (fd_ < 0) return errno == ENXIO ? Status() : Status(Failed(errno));
    struct stat kind {};
    regular_ = fstat(fd_, &kind) == 0 && S_ISREG(kind.st_mode);
    if (regular_ && ftruncate(fd_, 0) != 0) return Failed(errno);
    return {};
  }

  Error Failed(int reason) const {
    return {ErrorCode::kIo, "cannot write frames to " + path_ + ": " + strerror(reason)};
  }

  void Close() {
    if (fd_ >= 0) close(std::exchange(fd_, -1));
  }

  std::string path_;
  int fd_ = -1;
  bool regular_ = false;
};

}  // namespace

std::unique_ptr<FrameSink> MakeFileSink(std::string path) {
  return std::make_unique<FileSink>(std::move(path));
}

}  // namespace sentinel
