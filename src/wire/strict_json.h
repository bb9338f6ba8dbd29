// JSON read strictly and without a tree: one object, no key twice, no deeper than kJsonDepthMax,
// every string valid UTF-8. Pure.
//
// A parser that keeps the last of two equal keys and a signer or a neighbour that keeps the first
// read two different messages out of the same bytes, so such bytes are refused.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sentinel {

constexpr int kJsonDepthMax = 16;

// A member's value, as the reader meets it.
struct JsonValue {
  enum class Kind { kNull, kBool, kInteger, kNumber, kString, kNested };
  Kind kind = Kind::kNull;
  bool boolean = false;
  int64_t integer = 0;  // kInteger
  double number = 0;    // kInteger and kNumber
  // kString: the string; kNested: the array or object as JSON text; kNumber: it as it was written,
  // since a long id has more digits than a double.
  std::string text;
};

// The value as JSON text.
std::string JsonText(const JsonValue& value);
// The string as a JSON string, quotes included; bytes that are no UTF-8 become U+FFFD.
std::string JsonString(std::string_view text);

// Takes the members of the outermost object in the order in which they come. A failed Status ends
// the reading.
class JsonMembers {
 public:
  virtual ~JsonMembers() = default;
  virtual Status Take(const std::string& key, JsonValue value) = 0;
};

// What is said of a text that is not what it should be, and of a member of one.
Error WrongJson(const std::string& what);
Error WrongMember(const std::string& key, const std::string& expected);

// Whether it is such an object, for somebody who then reads it another way. kInvalidArgument with
// what is wrong and where.
Status CheckJsonObject(std::string_view text);

// kInvalidArgument with what is wrong and where.
Status ReadJsonObject(std::string_view text, JsonMembers* members);

}  // namespace sentinel
