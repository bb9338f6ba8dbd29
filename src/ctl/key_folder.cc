#include "ctl/key_folder.h"

#include <fcntl.h>
#include <openssl/rand.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "base/check.h"
#include "ctl/private_file.h"

namespace sentinel {
namespace {

constexpr size_t kSecretBytes = 32;
constexpr size_t kIdBytes = 4;
constexpr size_t kIdCharsMax = 64;

std::string ChanceHex(size_t bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::array<unsigned char, kSecretBytes> chance{};
  CHECK(bytes <= chance.size() && RAND_bytes(chance.data(), static_cast<int>(bytes)) == 1);
  std::string text;
  for (size_t i = 0; i < bytes; ++i) {
    text += kDigits[chance[i] >> 4];
    text += kDigits[chance[i] & 15];
  }
  return text;
}

// Also a file's name, so less than the wire would carry.
Status CheckId(const std::string& id) {
  bool fits = !id.empty() && id.size() <= kIdCharsMax && id[0] != '.' && id[0] != '-' &&
              std::all_of(id.begin(), id.end(), [](unsigned char c) {
                return isalnum(c) || c == '-' || c == '_' || c == '.';
              });
  if (fits) return {};
  return Error{ErrorCode::kInvalidArgument,
               "'" + id + "' is no key's id: 1 to 64 letters, digits, '-', '_' and '.'"};
}

// As a basic string of TOML. A secret that somebody else made may hold what ends one.
std::string Quoted(std::string_view value) {
  std::string text = "\"";
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      text += '\\';
      text += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04X", byte);
      text += escaped;
    } else {
      text += c;
    }
  }
  return text + '"';
}

std::string TextOf(const KeyFile& file) {
  std::string text;
  auto add = [&text](const char* name, const std::string& value) {
    text += std::string(name) + " = " + Quoted(value) + '\n';
  };
  add("key", file.pair.key);
  if (!file.revoked_at) add("secret", file.pair.secret);
  if (file.pair.not_before) add("not_before", FormatRfc3339(*file.pair.not_before));
  if (file.pair.not_after) add("not_after", FormatRfc3339(*file.pair.not_after));
  if (file.revoked_at) add("revoked_at", FormatRfc3339(*file.revoked_at));
  return text;
}

KeyState StateOf(const KeyFile& file, WallTime now) {
  if (file.revoked_at) return KeyState::kRevoked;
  if (file.pair.not_after && now >= *file.pair.not_after) return KeyState::kEnded;
  if (file.pair.not_before && now < *file.pair.not_before) return KeyState::kNext;
  return KeyState::kActive;
}

// One change of a folder at a time: what is counted must still be so when it is acted on. Waits; a
// file system without locks is taken as it is.
class FolderLock {
 public:
  explicit FolderLock(const std::string& folder)
      : fd_(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    while (fd_ >= 0 && flock(fd_, LOCK_EX) != 0 && errno == EINTR) {
    }
  }
  ~FolderLock() {
    if (fd_ >= 0) close(fd_);
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int fd_;
};

bool InUse(const KeyFolder::Entry& entry) {
  return entry.state == KeyState::kActive || entry.state == KeyState::kNext;
}

}  // namespace

std::string_view KeyStateName(KeyState state) {
  switch (state) {
    case KeyState::kActive:
      return "active";
    case KeyState::kNext:
      return "next";
    case KeyState::kEnded:
      return "ended";
    case KeyState::kRevoked:
      return "revoked";
  }
  return "";
}

Result<std::vector<KeyFolder::Entry>> KeyFolder::List(WallTime now) const {
  const std::vector<std::string> files = TRY(ListKeyFiles(path_));
  std::vector<Entry> entries;
  for (const std::string& name : files) {
    KeyFile file = TRY(ReadKeyFile(name, SampleKey::kAllowed));
    KeyState state = StateOf(file, now);
    entries.push_back({name, std::move(file), state});
  }
  return entries;
}

Result<KeyPair> KeyFolder::Add(const std::string& id, WallTime now) const {
  KeyFile file;
  file.pair.key = id.empty() ? "key-" + ChanceHex(kIdBytes) : id;
  TRY(CheckId(file.pair.key));
  file.pair.secret = ChanceHex(kSecretBytes);
  file.pair.not_before = now;
  TRY(WritePrivateFile(PathOf(file.pair.key), TextOf(file), Replace::kNo));
  return std::move(file.pair);
}

Result<KeyPair> KeyFolder::New(const std::string& id, WallTime now) const {
  TRY(MakePrivateFolder(path_));
  const FolderLock lock(path_);
  const std::vector<Entry> entries = TRY(List(now));
  if (std::count_if(entries.begin(), entries.end(), InUse) >= ptrdiff_t{kActiveKeysMax}) {
    return Error{
        ErrorCode::kExhausted,
        "two keys of " + path_ + " are in use already: wait until one ends, or revoke one"};
  }
  return Add(id, now);
}

Result<KeyPair> KeyFolder::Rotate(const std::string& id, std::chrono::hours overlap,
                                  WallTime now) const {
  const FolderLock lock(path_);
  std::vector<Entry> entries = TRY(List(now));
  std::erase_if(entries, [](const Entry& entry) { return !InUse(entry); });
  if (entries.size() != 1) {
    return Error{entries.empty() ? ErrorCode::kNotFound : ErrorCode::kExhausted,
                 entries.empty() ? "no key of " + path_ + " is in use: make one with key new"
                                 : "an exchange is under way in " + path_ +
                                       " already: wait until it ends, or revoke one of its keys"};
  }
  // The new one first: if we do not get further, there are two in use and nothing has ended.
  KeyPair made = TRY(Add(id, now));
  KeyFile& old = entries[0].file;
  WallTime end = now + overlap;
  old.pair.not_after = old.pair.not_after ? std::min(*old.pair.not_after, end) : end;
  TRY(WritePrivateFile(entries[0].path, TextOf(old), Replace::kYes));
  return made;
}

Status KeyFolder::Revoke(const std::string& id, WallTime now) const {
  const FolderLock lock(path_);
  const std::vector<Entry> entries = TRY(List(now));
  for (const Entry& entry : entries) {
    if (entry.file.pair.key != id) continue;
    if (entry.state == KeyState::kRevoked) return {};
    KeyFile file = entry.file;
    file.revoked_at = now;
    file.pair.secret.clear();
    return WritePrivateFile(entry.path, TextOf(file), Replace::kYes);
  }
  return Error{ErrorCode::kNotFound, "there is no key '" + id + "' in " + path_};
}

}  // namespace sentinel
