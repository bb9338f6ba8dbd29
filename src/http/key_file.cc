#include "http/key_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>

#include "config/toml_reader.h"

namespace sentinel {
namespace {

constexpr size_t kFileBytesMax = 16 * 1024;
constexpr std::string_view kExtension = ".key";
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

// Root, too: what another user may write is that user's say, so it is that user who manages it.
Error Foreign(const std::string& path, uid_t owner) {
  return Failed(ErrorCode::kDenied, path,
                "it belongs to another user (uid " + std::to_string(owner) +
                    ", and this runs as uid " + std::to_string(geteuid()) +
                    "); run this as that user, or give it to root");
}

// systemd gives a service's user its credentials through an ACL, whose mask shows up as group bits.
bool IsSystemdCredential(const std::string& path) {
  const char* folder = std::getenv("CREDENTIALS_DIRECTORY");
  return folder != nullptr && *folder != '\0' && path.starts_with(std::string(folder) + "/");
}

Result<std::optional<WallTime>> TimeOf(const std::string& text) {
  std::optional<WallTime> time = ParseRfc3339(text);
  if (!time) {
    return Error{ErrorCode::kInvalidArgument, "a time such as 2026-08-17T08:30:00Z is expected"};
  }
  return time;
}

// The folder is its owner's: who may write there may bring a key of his own.
Status CheckFolder(const std::string& path) {
  struct stat found {};
  if (stat(path.c_str(), &found) != 0) return Failed(ErrorCode::kIo, path, std::strerror(errno));
  if ((found.st_mode & 0022) != 0) {
    return Failed(ErrorCode::kDenied, path, "others can write there; run: chmod 700 " + path);
  }
  if (found.st_uid != 0 && found.st_uid != geteuid()) {
    return Foreign(path, found.st_uid);
  }
  return {};
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
    return Foreign(path, found.st_uid);
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

bool IsFolder(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

Result<KeyFile> ReadKeyFile(const std::string& path, SampleKey sample) {
  std::string text = TRY(ReadOwnersFile(path));
  TomlReader reader = TRY(TomlReader::Parse(text, path));
  KeyFile file;
  KeyPair& pair = file.pair;
  reader.Text("key", &pair.key);
  reader.Text("secret", &pair.secret);
  reader.Parsed("not_before", TimeOf, &pair.not_before);
  reader.Parsed("not_after", TimeOf, &pair.not_after);
  reader.Parsed("revoked_at", TimeOf, &file.revoked_at);
  TRY(reader.Finish());
  if (pair.key.empty()) return Failed(ErrorCode::kInvalidArgument, path, "key is missing");
  if (!IsKeyId(pair.key)) {
    return Failed(ErrorCode::kInvalidArgument, path,
                  "key must be printable ASCII without spaces, ',' and ';', at most 128 "
                  "characters");
  }
  if (file.revoked_at) return file;
  if (pair.secret.empty()) return Failed(ErrorCode::kInvalidArgument, path, "secret is missing");
  bool is_sample = pair.key == kSampleKey || pair.secret == kSampleSecret;
  if (is_sample && sample == SampleKey::kRefused) {
    return Failed(ErrorCode::kDenied, path,
                  "it holds the published sample key or secret, which everybody knows; make your "
                  "own with: sentinelctl key new");
  }
  return file;
}

Result<KeyPair> LoadKeyFile(const std::string& path, SampleKey sample) {
  KeyFile file = TRY(ReadKeyFile(path, sample));
  if (file.revoked_at) return Failed(ErrorCode::kDenied, path, "the key is revoked");
  return std::move(file.pair);
}

Result<std::vector<std::string>> ListKeyFiles(const std::string& folder) {
  TRY(CheckFolder(folder));
  std::vector<std::string> files;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    std::string name = at->path().filename().string();
    if (name.starts_with('.') || !name.ends_with(kExtension)) continue;
    if (files.size() == kKeyFilesMax) {
      return Failed(ErrorCode::kExhausted, folder,
                    "it holds more than " + std::to_string(kKeyFilesMax) +
                        " keys; remove the files of revoked and ended ones");
    }
    files.push_back(at->path().string());
  }
  if (error) return Failed(ErrorCode::kIo, folder, error.message());
  std::sort(files.begin(), files.end());
  return files;
}

Result<std::vector<KeyPair>> LoadKeys(const std::string& path, SampleKey sample) {
  std::vector<KeyPair> pairs;
  std::vector<std::string> files{path};
  if (IsFolder(path)) files = TRY(ListKeyFiles(path));
  std::set<std::string> ids;
  for (const std::string& name : files) {
    KeyFile file = TRY(ReadKeyFile(name, sample));
    if (file.revoked_at) continue;
    if (!ids.insert(file.pair.key).second) {
      return Failed(ErrorCode::kInvalidArgument, name, "another file holds a key of that id");
    }
    pairs.push_back(std::move(file.pair));
  }
  // Where all are revoked there are none, and that is no mistake: otherwise a daemon that is told
  // to read again would go on with the very key that was revoked.
  if (files.empty()) {
    return Failed(ErrorCode::kNotFound, path,
                  "there is no key in it; make one with: sentinelctl key new --folder " + path);
  }
  return pairs;
}

}  // namespace sentinel
