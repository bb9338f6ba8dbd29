// The entries of a posted list that are not as they have to be, where the others count all the
// same.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace sentinel {

// Entries of which it is told what is wrong; the rest is only counted.
constexpr size_t kMalformedToldMax = 32;
// Of what its sender calls an entry; what is longer is cut, between characters.
constexpr size_t kMalformedNameBytesMax = 64;

struct MalformedEntry {
  size_t index = 0;  // where it stands in the list
  std::string name;  // what its sender calls it; empty if it says nothing of the kind
  std::string why;
};

struct Malformed {
  size_t count = 0;
  std::vector<MalformedEntry> told;  // the first of them

  void Add(size_t index, std::string name, std::string why) {
    ++count;
    if (told.size() == kMalformedToldMax) return;
    if (name.size() > kMalformedNameBytesMax) {
      size_t end = kMalformedNameBytesMax;
      while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0) == 0x80) --end;
      name.resize(end);
    }
    told.push_back({index, std::move(name), std::move(why)});
  }
};

}  // namespace sentinel
