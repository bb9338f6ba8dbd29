// For tests of configurations: that each key there is, of every table, refuses a value that it does
// not take with the place of that value.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "base/result.h"

namespace sentinel {

struct TestedTable {
  std::string header;                         // "[voice]", "[[terminals]]"; empty: the top
  std::map<std::string, std::string> needed;  // what a table cannot do without, as written
};

// Reads a text as the file f.toml.
using ParseTested = std::function<Status(const std::string& text)>;

inline std::string RefusalOf(const ParseTested& parse, const std::string& text) {
  const Status parsed = parse(text);
  return parsed.ok() ? "" : parsed.error().message;
}

// The keys of a table, as the refusal of one that nobody knows tells them.
inline std::vector<std::string> KeysOf(const TestedTable& table, const ParseTested& parse) {
  std::string text = table.header + "\nnobody_knows_this = 1\n";
  for (const auto& [key, value] : table.needed) text += key + " = " + value + "\n";
  const std::string refusal = RefusalOf(parse, text);
  const std::string before = "f.toml:2:1: unknown key 'nobody_knows_this'; allowed here: ";
  EXPECT_EQ(refusal.rfind(before, 0), 0u) << table.header << ": " << refusal;
  if (refusal.rfind(before, 0) != 0) return {};
  std::vector<std::string> keys;
  std::istringstream words(refusal.substr(before.size()));
  for (std::string key; words >> key;) {
    if (key.back() == ',') key.pop_back();
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
  }
  return keys;
}

// A date is what no key of ours takes.
inline void ExpectEveryKeyToTellThePlace(const std::vector<TestedTable>& tables,
                                         const ParseTested& parse) {
  for (const TestedTable& table : tables) {
    for (const std::string& key : KeysOf(table, parse)) {
      std::string text = table.header + "\n" + key + " = 1979-05-27\n";
      for (const auto& [needed, value] : table.needed) {
        if (needed != key) text += needed + " = " + value + "\n";
      }
      const std::string place = "f.toml:2:" + std::to_string(key.size() + 4) + ": " + key + ": ";
      const std::string refusal = RefusalOf(parse, text);
      EXPECT_EQ(refusal.rfind(place, 0), 0u) << table.header << " " << key << ": " << refusal;
      EXPECT_GT(refusal.size(), place.size()) << "and what is expected";
    }
  }
}

// A value that a key does not take, and a word of what is said of it.
struct Refused {
  std::string lines;  // the value stands in the last of them
  std::string key;
  std::string word;
};

inline void ExpectRefusedInTheLastLine(const std::vector<Refused>& table,
                                       const ParseTested& parse) {
  for (const Refused& row : table) {
    const auto line = 1 + std::count(row.lines.begin(), row.lines.end(), '\n');
    const std::string place = "f.toml:" + std::to_string(line) + ":";
    const std::string refusal = RefusalOf(parse, row.lines);
    EXPECT_EQ(refusal.rfind(place, 0), 0u) << row.lines << "\n" << refusal;
    EXPECT_NE(refusal.find(": " + row.key + ": "), std::string::npos) << row.lines << "\n"
                                                                      << refusal;
    EXPECT_NE(refusal.find(row.word), std::string::npos) << row.lines << "\n" << refusal;
  }
}

}  // namespace sentinel
