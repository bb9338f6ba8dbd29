// The keys one side shares with another, each with its time. Pure.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace sentinel {

struct KeyPair {
  std::string key;     // its id: a name, not a secret
  std::string secret;  // of the HMAC
  std::optional<WallTime> not_before{};
  std::optional<WallTime> not_after{};

  bool ActiveAt(WallTime now) const;
  bool operator==(const KeyPair&) const = default;
};

// At once in use: the old and the new one while they are exchanged.
constexpr size_t kActiveKeysMax = 2;

// A host without a battery wakes up before this, and then no time of a key or message means
// anything to it.
constexpr WallTime kClockIsSetSince{std::chrono::seconds(1735689600)};  // 2025
inline bool ClockIsSet(WallTime now) { return now >= kClockIsSetSince; }

// Copies are the same ring: what is replaced in one is replaced in all. One thread's.
class KeyRing {
 public:
  KeyRing() = default;
  KeyRing(KeyPair pair);  // NOLINT: implicit, a single key is a ring
  explicit KeyRing(std::vector<KeyPair> pairs);

  void Replace(std::vector<KeyPair> pairs) { *pairs_ = std::move(pairs); }

  // Those in use, the newest last; the newest kActiveKeysMax if there are more. All count as in use
  // while this host's clock is not set.
  std::vector<KeyPair> Active(WallTime now) const;
  // The active key of that id.
  std::optional<KeyPair> Find(std::string_view id, WallTime now) const;
  bool Holds(const KeyPair& pair, WallTime now) const;

  const std::vector<KeyPair>& all() const { return *pairs_; }
  // The same keys, be it the same ring or not.
  bool operator==(const KeyRing& other) const { return *pairs_ == *other.pairs_; }
  bool empty() const { return pairs_->empty(); }

 private:
  std::shared_ptr<std::vector<KeyPair>> pairs_ = std::make_shared<std::vector<KeyPair>>();
};

// What a key or boot id looks like: 1 to 128 printable ASCII characters, no space, ',' or ';'.
bool IsKeyId(std::string_view id);

}  // namespace sentinel
