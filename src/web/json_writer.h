// JSON written straight into one string, for what is written ten thousand times a second.
//
// The caller keeps the order of calls right (a key, then its value); commas are set here. Bytes
// that are not UTF-8 become '?', so that what is written can be read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sentinel {

class JsonWriter {
 public:
  JsonWriter& Open(char bracket) {  // '{' or '['
    Separate();
    out_ += bracket;
    first_ = true;
    return *this;
  }
  JsonWriter& Close(char bracket) {
    out_ += bracket;
    first_ = false;
    return *this;
  }
  JsonWriter& Key(std::string_view key) {  // ours: nothing in it needs escaping
    Separate();
    out_ += '"';
    out_ += key;
    out_ += "\":";
    first_ = true;
    return *this;
  }
  JsonWriter& Text(std::string_view text);
  JsonWriter& Number(int64_t number);
  JsonWriter& Unsigned(uint64_t number);
  JsonWriter& Real(double number);
  JsonWriter& Null();

  template <typename T>
  JsonWriter& NumberOrNull(const std::optional<T>& number) {
    return number ? Number(static_cast<int64_t>(*number)) : Null();
  }

  std::string Take() && { return std::move(out_); }

 private:
  void Separate() {
    if (!first_) out_ += ',';
    first_ = false;
  }

  std::string out_;
  bool first_ = true;
};

}  // namespace sentinel
