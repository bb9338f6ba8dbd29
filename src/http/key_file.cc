#include "http/key_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "config/toml_reader.h"

namespace sentinel {
namespace {

constexpr size_t kFileBytesMax = 4096;
constexpr size_t kKeyBytesMax = 128;
constexpr char kSampleKey[] = "gpu_cluster_sentinel";
constexpr char kSampleSecret[] = "AI#TrainSecureHMACSecretKey2026";

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() {
    if (fd_ >= 0) close(fd_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

Error Failed(ErrorCode code, const std::string& path, const std::string& why) {
  return Error{code, "key file " + path + ": " + why};
}

// systemd gives a service's user its credentials through an ACL, whose mask shows up as group bits.
bool IsSystemdCredential(const std::string& path) {
  const char* folder = std::getenv("CREDENTIALS_DIRECTORY");
  return folder != nullptr && *folder != '\0' && path.starts_with(std::string(folder) + "/");
}

bool FitsAHeader(const std::string& key) {
  for (unsigned char c : key) {
    if (c <= 0x20 || c >= 0x7f) return false;
  }
  return key.size() <= kKeyBytesMax;
}

}  // namespace

Result<std::string> ReadOwnersFile(const std::string& path) {
  FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) {
    ErrorCode code = errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo;
    return Failed(code, path, std::strerror(errno));
  }
  struct stat found {};
  if (fstat(file.get(), &found) != 0) return Failed(ErrorCode::kIo, path, std::strerror(errno));
  if (!S_ISREG(found.st_mode)) return Failed(ErrorCode::kDenied, path, "not a regular file");
  mode_t forbidden = IsSystemdCredential(path) ? 0027 : 0077;
  if ((found.st_mode & forbidden) != 0) {
    return Failed(ErrorCode::kDenied, path, "others can read it; run: chmod 600 " + path);
  }
  if (found.st_uid != 0 && found.st_uid != geteuid()) {
    return Failed(ErrorCode::kDenied, path, "it belongs to another user");
  }
  std::string text(kFileBytesMax + 1, '\0');
  size_t size = 0;
  while (size < text.size()) {
    ssize_t got = read(file.get(), text.data() + size, text.size() - size);
    if (got < 0) return Failed(ErrorCode::kIo, path, std::strerror(errno));
    if (got == 0) break;
    size += static_cast<size_t>(got);
  }
  if (size > kFileBytesMax) return Failed(ErrorCode::kInvalidArgument, path, "it is too long");
  text.resize(size);
  return text;
}

Result<KeyPair> LoadKeyFile(const std::string& path, SampleKey sample) {
  std::string text = TRY(ReadOwnersFile(path));
  TomlReader reader = TRY(TomlReader::Parse(text, path));
  KeyPair pair;
  reader.Text("key", &pair.key);
  reader.Text("secret", &pair.secret);
  TRY(reader.Finish());
  if (pair.key.empty()) return Failed(ErrorCode::kInvalidArgument, path, "key is missing");
  if (pair.secret.empty()) return Failed(ErrorCode::kInvalidArgument, path, "secret is missing");
  if (!FitsAHeader(pair.key)) {
    return Failed(ErrorCode::kInvalidArgument, path,
                  "key must be printable ASCII without spaces, at most " +
                      std::to_string(kKeyBytesMax) + " characters");
  }
  bool is_sample = pair.key == kSampleKey || pair.secret == kSampleSecret;
  if (is_sample && sample == SampleKey::kRefused) {
    return Failed(ErrorCode::kDenied, path,
                  "it holds the published sample key or secret, which everybody knows; make your "
                  "own, for example with: openssl rand -hex 32");
  }
  return pair;
}

}  // namespace sentinel
