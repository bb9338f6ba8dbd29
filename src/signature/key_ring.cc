#include "signature/key_ring.h"

#include <algorithm>
#include <utility>

#include "base/digest.h"

namespace sentinel {
namespace {

constexpr size_t kIdBytesMax = 128;

}  // namespace

bool KeyPair::ActiveAt(WallTime now) const {
  if (!ClockIsSet(now)) return true;
  return (!not_before || now >= *not_before) && (!not_after || now < *not_after);
}

KeyRing::KeyRing(KeyPair pair) { pairs_->push_back(std::move(pair)); }
KeyRing::KeyRing(std::vector<KeyPair> pairs) { *pairs_ = std::move(pairs); }

std::vector<KeyPair> KeyRing::Active(WallTime now) const {
  std::vector<KeyPair> active;
  for (const KeyPair& pair : *pairs_) {
    if (pair.ActiveAt(now)) active.push_back(pair);
  }
  std::stable_sort(active.begin(), active.end(), [](const KeyPair& a, const KeyPair& b) {
    return a.not_before.value_or(WallTime{}) < b.not_before.value_or(WallTime{});
  });
  if (active.size() > kActiveKeysMax) {
    active.erase(active.begin(), active.end() - static_cast<ptrdiff_t>(kActiveKeysMax));
  }
  return active;
}

std::optional<KeyPair> KeyRing::Find(std::string_view id, WallTime now) const {
  for (KeyPair& pair : Active(now)) {
    if (pair.key == id) return std::move(pair);
  }
  return std::nullopt;
}

bool KeyRing::Holds(const KeyPair& pair, WallTime now) const {
  std::optional<KeyPair> ours = Find(pair.key, now);
  return ours && ConstantTimeEqual(ours->secret, pair.secret);
}

bool IsKeyId(std::string_view id) {
  return !id.empty() && id.size() <= kIdBytesMax &&
         std::all_of(id.begin(), id.end(),
                     [](unsigned char c) { return c > 0x20 && c < 0x7f && c != ',' && c != ';'; });
}

}  // namespace sentinel
