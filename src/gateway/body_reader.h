// The JSON object that somebody posts, read field by field: each with its type, and none that
// nobody asked for, so that a word that is misspelt is not taken for one that is missing. No key
// comes twice, at any depth: see wire/strict_json.h.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/result.h"
#include "base/time.h"

namespace sentinel {

constexpr size_t kBodyTextBytesMax = 1024;  // of one text
constexpr size_t kBodyListMax = 1024;       // entries of a list

class BodyReader {
 public:
  // "" is an empty object.
  static Result<BodyReader> Parse(std::string_view body);

  // A field that is absent or null leaves `out` as it is. A text is not empty and holds no control
  // characters.
  void Text(const char* key, std::string* out);
  void Texts(const char* key, std::vector<std::string>* out);
  void Flag(const char* key, bool* out);
  void Millis(const char* key, int64_t min, int64_t max, std::optional<Duration>* out);
  void At(const char* key, std::optional<WallTime>* out);  // RFC 3339

  // What the caller alone can see.
  void Wrong(const char* key, const std::string& what);
  // What was wrong first, or else a field that nobody asked for.
  Status Finish() const;

 private:
  explicit BodyReader(nlohmann::json object) : object_(std::move(object)) {}
  const nlohmann::json* Take(const char* key);
  bool TakeText(const nlohmann::json& value, const char* key, std::string* out);

  nlohmann::json object_;
  std::set<std::string> known_;
  std::string wrong_;
};

}  // namespace sentinel
