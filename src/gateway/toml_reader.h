// A TOML table read key by key: each key once, each with its type, and none that nobody asked for.
#pragma once

#include <toml++/toml.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace sentinel {

Result<toml::table> ParseToml(std::string_view text, const std::string& file);

// The first thing found wrong is kept; after that nothing more is read. Ask Finish at the end.
class TomlReader {
 public:
  TomlReader(const toml::table& table, std::string file) : table_(table), file_(std::move(file)) {}

  void Text(std::string_view key, std::string* out);
  void Integer(std::string_view key, int64_t min, int64_t max, std::optional<int64_t>* out);
  void Millis(std::string_view key, Duration* out);
  void Flag(std::string_view key, bool* out);
  // A string, or an array of strings.
  void Texts(std::string_view key, std::vector<std::string>* out);
  // Nothing if it is not there.
  const toml::table* Table(std::string_view key);
  std::vector<const toml::table*> Tables(std::string_view key);

  // With the place of this key, or of the table if it is not there.
  Error Wrong(std::string_view key, const std::string& what) const;
  void Fail(Error error);
  // An error of what was read, or of a key that nobody asked for.
  Status Finish() const;

  const std::string& file() const { return file_; }

 private:
  const toml::node* Take(std::string_view key);

  const toml::table& table_;
  std::string file_;
  std::vector<std::string> asked_;
  std::optional<Error> error_;
};

}  // namespace sentinel
