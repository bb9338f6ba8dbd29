#include "wire/strict_json.h"

#include <limits>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace sentinel {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kGzip = "\x1f\x8b";  // what it begins with, RFC 1952

// nlohmann's events in, members of the outermost object out. What is nested is written down again
// as text: it is kept, not understood.
class Reader {
 public:
  explicit Reader(JsonMembers* members) : members_(members) {}

  std::optional<Error> error;

  bool null() { return Scalar(JsonValue{}, "null"); }
  bool boolean(bool value) {
    JsonValue json;
    json.kind = JsonValue::Kind::kBool;
    json.boolean = value;
    return Scalar(std::move(json), value ? "true" : "false");
  }
  bool number_integer(int64_t value) { return Integer(value); }
  bool number_unsigned(uint64_t value) {
    if (value <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return Integer(static_cast<int64_t>(value));
    }
    return Number(static_cast<double>(value), std::to_string(value));
  }
  bool number_float(double value, const std::string& text) { return Number(value, text); }
  bool string(std::string& value) {
    if (depth_ > 1) return Scalar(JsonValue{}, JsonString(value));
    JsonValue json;
    json.kind = JsonValue::Kind::kString;
    json.text = std::move(value);
    return Scalar(std::move(json), {});
  }
  bool binary(Json::binary_t&) { return Refuse("binary"); }

  bool start_object(size_t) { return Open('{'); }
  bool end_object() {
    keys_.resize(keys_.size() - 1);
    return Close('}');
  }
  bool start_array(size_t) { return Open('['); }
  bool end_array() { return Close(']'); }

  bool key(std::string& name) {
    if (!keys_.back().insert(name).second) {
      return Refuse("the key " + JsonString(name) + " comes twice");
    }
    if (depth_ == 1) {
      key_ = std::move(name);
    } else {
      Separate();
      nested_ += JsonString(name);
      nested_ += ':';
      after_key_ = true;
    }
    return true;
  }

  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception&) {
    return Refuse("not JSON from byte " + std::to_string(position) + " on");
  }

 private:
  bool Integer(int64_t value) {
    JsonValue json;
    json.kind = JsonValue::Kind::kInteger;
    json.integer = value;
    json.number = static_cast<double>(value);
    return Scalar(std::move(json), depth_ > 1 ? std::to_string(value) : std::string());
  }
  bool Number(double value, const std::string& text) {
    JsonValue json;
    json.kind = JsonValue::Kind::kNumber;
    json.number = value;
    if (depth_ == 1) json.text = text;
    return Scalar(std::move(json), text);
  }

  // `text`: the value as JSON, needed inside of something nested only.
  bool Scalar(JsonValue value, std::string_view text) {
    if (depth_ == 0) return Refuse("not a JSON object");
    if (depth_ == 1) return Deliver(std::move(value));
    Separate();
    nested_ += text;
    return true;
  }

  bool Open(char bracket) {
    if (depth_ == 0 && bracket != '{') return Refuse("not a JSON object");
    if (depth_ == kJsonDepthMax) {
      return Refuse("deeper than " + std::to_string(kJsonDepthMax) + " levels");
    }
    ++depth_;
    if (bracket == '{') keys_.emplace_back();
    if (depth_ == 1) return true;
    if (depth_ > 2) Separate();
    nested_ += bracket;
    return true;
  }

  bool Close(char bracket) {
    --depth_;
    if (depth_ == 0) return true;
    nested_ += bracket;
    if (depth_ > 1) return true;
    JsonValue value;
    value.kind = JsonValue::Kind::kNested;
    value.text = std::exchange(nested_, {});
    return Deliver(std::move(value));
  }

  void Separate() {
    if (std::exchange(after_key_, false)) return;
    if (nested_.back() != '[' && nested_.back() != '{') nested_ += ',';
  }

  bool Deliver(JsonValue value) {
    Status taken = members_->Take(key_, std::move(value));
    if (!taken.ok()) error = taken.error();
    return taken.ok();
  }

  bool Refuse(std::string why) {
    error = Error{ErrorCode::kInvalidArgument, std::move(why)};
    return false;
  }

  JsonMembers* members_;
  int depth_ = 0;
  std::vector<std::set<std::string>> keys_;  // of the objects that are open
  std::string key_;                          // of the outermost object
  std::string nested_;
  bool after_key_ = false;
};

class AnyMembers final : public JsonMembers {
 public:
  Status Take(const std::string&, JsonValue) override { return {}; }
};

}  // namespace

std::string JsonString(std::string_view text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string JsonText(const JsonValue& value) {
  switch (value.kind) {
    case JsonValue::Kind::kNull:
      return "null";
    case JsonValue::Kind::kBool:
      return value.boolean ? "true" : "false";
    case JsonValue::Kind::kInteger:
      return std::to_string(value.integer);
    case JsonValue::Kind::kNumber:
      return Json(value.number).dump();
    case JsonValue::Kind::kString:
      return JsonString(value.text);
    case JsonValue::Kind::kNested:
      return value.text;
  }
  return {};
}

Status ReadJsonObject(std::string_view text, JsonMembers* members) {
  if (text.starts_with(kGzip)) return WrongJson("compressed (gzip); it is to be sent as it is");
  Reader reader(members);
  bool whole = Json::sax_parse(text.data(), text.data() + text.size(), &reader);
  if (reader.error) return *reader.error;
  if (!whole) return Error{ErrorCode::kInvalidArgument, "not JSON"};
  return {};
}

Error WrongJson(const std::string& what) { return Error{ErrorCode::kInvalidArgument, what}; }

Error WrongMember(const std::string& key, const std::string& expected) {
  return WrongJson(key + " must be " + expected);
}

Status CheckJsonObject(std::string_view text) {
  AnyMembers members;
  return ReadJsonObject(text, &members);
}

}  // namespace sentinel
