#include "gateway/body_reader.h"

#include <algorithm>
#include <utility>

#include "base/length.h"
#include "wire/strict_json.h"

namespace sentinel {

Result<BodyReader> BodyReader::Parse(std::string_view body) {
  if (body.empty()) return BodyReader(nlohmann::json::object());
  const Status strict = CheckJsonObject(body);
  if (!strict.ok()) {
    return Error{ErrorCode::kInvalidArgument,
                 "a JSON object is expected: " + strict.error().message};
  }
  return BodyReader(nlohmann::json::parse(body, nullptr, false));
}

const nlohmann::json* BodyReader::Take(const char* key) {
  known_.insert(key);
  auto found = object_.find(key);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

bool BodyReader::TakeText(const nlohmann::json& value, const char* key, std::string* out) {
  const auto* text = value.get_ptr<const std::string*>();
  const bool fits = text != nullptr && !text->empty() && text->size() <= kBodyTextBytesMax &&
                    std::none_of(text->begin(), text->end(),
                                 [](unsigned char c) { return c < 0x20 || c == 0x7f; });
  if (fits) {
    *out = *text;
  } else {
    Wrong(key, "a text of 1 to " + std::to_string(kBodyTextBytesMax) +
                   " bytes without control characters is expected");
  }
  return fits;
}

void BodyReader::Text(const char* key, std::string* out) {
  if (const nlohmann::json* value = Take(key)) TakeText(*value, key, out);
}

void BodyReader::Texts(const char* key, std::vector<std::string>* out) {
  const nlohmann::json* value = Take(key);
  if (value == nullptr) return;
  if (!value->is_array() || value->size() > kBodyListMax) {
    return Wrong(key, "a list of at most " + std::to_string(kBodyListMax) + " texts is expected");
  }
  out->clear();
  for (const nlohmann::json& entry : *value) {
    std::string text;
    if (!TakeText(entry, key, &text)) return;
    out->push_back(std::move(text));
  }
}

void BodyReader::Flag(const char* key, bool* out) {
  const nlohmann::json* value = Take(key);
  if (value == nullptr) return;
  if (!value->is_boolean()) return Wrong(key, "true or false is expected");
  *out = value->get<bool>();
}

void BodyReader::Millis(const char* key, int64_t min, int64_t max, std::optional<Duration>* out) {
  const nlohmann::json* value = Take(key);
  if (value == nullptr) return;
  const int64_t millis = value->is_number_integer() ? value->get<int64_t>() : min - 1;
  if (millis < min || millis > max) {
    return Wrong(key, "whole milliseconds from " + std::to_string(min) + " to " +
                          std::to_string(max) + " (" +
                          FormatLength(std::chrono::milliseconds(max)) + ") are expected");
  }
  *out = std::chrono::milliseconds(millis);
}

void BodyReader::At(const char* key, std::optional<WallTime>* out) {
  std::string text;
  Text(key, &text);
  if (text.empty()) return;
  *out = ParseRfc3339(text);
  if (!*out) Wrong(key, "a time such as 2026-08-17T08:30:00Z is expected");
}

void BodyReader::Wrong(const char* key, const std::string& what) {
  if (wrong_.empty()) wrong_ = std::string(key) + ": " + what;
}

Status BodyReader::Finish() const {
  if (!wrong_.empty()) return Error{ErrorCode::kInvalidArgument, wrong_};
  for (const auto& [key, value] : object_.items()) {
    if (known_.contains(key)) continue;
    std::string allowed;
    for (const std::string& name : known_) allowed += (allowed.empty() ? "" : ", ") + name;
    return Error{ErrorCode::kInvalidArgument,
                 "there is no field '" + key.substr(0, 64) + "' here; there are " + allowed};
  }
  return {};
}

}  // namespace sentinel
