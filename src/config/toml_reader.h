// A TOML file read key by key: each key once, each with its type, and none that nobody asked for.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace sentinel {

// Whether files that a configuration names are looked for while it is read.
enum class NamedFiles { kTaken, kLookedFor };

// One table of the file. The first mistake is kept, with file:line:column, and nothing is read
// after it; ask Finish at the end. A key that is not written leaves `out` as it is. No string holds
// a zero byte, which would end it early for the system.
class TomlReader {
 public:
  static constexpr int64_t kMillisMax = 86'400'000;  // a day

  // The file's top table. `file` is its name, for people.
  static Result<TomlReader> Parse(std::string_view text, const std::string& file,
                                  NamedFiles named = NamedFiles::kTaken);
  TomlReader(TomlReader&&) noexcept;
  ~TomlReader();

  void Text(std::string_view key, std::string* out);
  // What a terminal or a host of ours may be called: 1 to 64 letters, digits, '-', '_' and '.'.
  void Name(std::string_view key, std::string* out);
  void AbsolutePath(std::string_view key, std::string* out);
  // A path, not empty; of something that is there, where named files are looked for.
  void File(std::string_view key, std::string* out);
  // That there is `path`, which was read as `key`, where named files are looked for.
  void Look(std::string_view key, const std::string& path);
  void Flag(std::string_view key, bool* out);
  // A number with or without a fraction.
  void Decimal(std::string_view key, double min, double max, double* out);
  template <typename T>
  void Whole(std::string_view key, int64_t min, int64_t max, T* out) {
    int64_t value = 0;
    if (Integer(key, min, max, &value)) *out = static_cast<T>(value);
  }
  void Millis(std::string_view key, Duration* out, int64_t min = 0, int64_t max = kMillisMax);
  // A string, or an array of strings, none of them empty: an empty one fits nothing, which nobody
  // means who writes it.
  void Texts(std::string_view key, std::vector<std::string>* out);
  // Likewise, of each of which `parse` makes a Result<T>.
  template <typename Parse, typename T>
  void ParsedEach(std::string_view key, Parse parse, std::vector<T>* out) {
    std::vector<T> all;
    const bool written = Each(key, [&parse, &all](const std::string& text) -> Status {
      auto parsed = parse(text);
      if (!parsed.ok()) return parsed.error();
      all.push_back(std::move(parsed).value());
      return {};
    });
    if (written) *out = std::move(all);
  }
  // A string that `parse` makes a Result<T> of.
  template <typename Parse, typename T>
  void Parsed(std::string_view key, Parse parse, T* out) {
    std::string text;
    if (!String(key, &text)) return;
    auto parsed = parse(text);
    if (!parsed.ok()) return Wrong(key, parsed.error().message);
    *out = std::move(parsed).value();
  }
  template <typename T>
  void Choice(std::string_view key, const std::vector<std::pair<std::string_view, T>>& choices,
              T* out) {
    std::string text;
    if (!String(key, &text)) return;
    std::string allowed;
    for (const auto& [name, value] : choices) {
      if (name == text) {
        *out = value;
        return;
      }
      allowed += (allowed.empty() ? "" : ", ") + std::string(name);
    }
    Wrong(key, "'" + text + "' is not one of " + allowed);
  }
  // A table whose keys are the site's own, each with a whole number.
  void Numbers(std::string_view key, std::map<std::string, int>* out);
  // Likewise, each with a string.
  void Names(std::string_view key, std::map<std::string, std::string>* out);

  // [key], and each [[key]]: `read` reads one of them, which is finished for it.
  void Section(std::string_view key, const std::function<void(TomlReader&)>& read);
  void Sections(std::string_view key, const std::function<void(TomlReader&)>& read);

  // A mistake that only the caller can see; told with the place of this key, or of its table where
  // it is not written.
  void Wrong(std::string_view key, const std::string& what);
  // The same, where something else has found it: its code is kept.
  void Wrong(std::string_view key, const Error& found);
  // The same of keys that do not go together: `what` names them itself.
  void Conflict(std::string_view key, const std::string& what);
  // False once something was wrong.
  bool ok() const;
  // What was wrong first, or else a key that nobody asked for.
  Status Finish() const;

 private:
  struct Table;
  explicit TomlReader(std::unique_ptr<Table> table);

  // True if it is written, and as it must be.
  bool String(std::string_view key, std::string* out);
  bool Integer(std::string_view key, int64_t min, int64_t max, int64_t* out);
  bool Each(std::string_view key, const std::function<Status(const std::string&)>& take);

  std::unique_ptr<Table> table_;
};

}  // namespace sentinel
