#include "gateway/toml_reader.h"

#include <algorithm>

namespace sentinel {
namespace {

constexpr int64_t kMillisMax = 86'400'000;

Error At(const std::string& file, const toml::source_region& where, const std::string& what) {
  return {ErrorCode::kInvalidArgument, file + ":" + std::to_string(where.begin.line) + ":" +
                                           std::to_string(where.begin.column) + ": " + what};
}

}  // namespace

Result<toml::table> ParseToml(std::string_view text, const std::string& file) {
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& error) {
    return At(file, error.source(), std::string(error.description()));
  }
}

const toml::node* TomlReader::Take(std::string_view key) {
  asked_.emplace_back(key);
  return error_ ? nullptr : table_.get(key);
}

Error TomlReader::Wrong(std::string_view key, const std::string& what) const {
  const toml::node* node = table_.get(key);
  return At(file_, node == nullptr ? table_.source() : node->source(),
            std::string(key) + ": " + what);
}

void TomlReader::Fail(Error error) {
  if (!error_) error_ = std::move(error);
}

void TomlReader::Text(std::string_view key, std::string* out) {
  const toml::node* node = Take(key);
  if (node == nullptr) return;
  if (!node->is_string()) return Fail(Wrong(key, "a string is expected"));
  *out = node->as_string()->get();
}

void TomlReader::Integer(std::string_view key, int64_t min, int64_t max,
                         std::optional<int64_t>* out) {
  const toml::node* node = Take(key);
  if (node == nullptr) return;
  if (!node->is_integer() || node->as_integer()->get() < min || node->as_integer()->get() > max) {
    return Fail(Wrong(key, "a whole number from " + std::to_string(min) + " to " +
                               std::to_string(max) + " is expected"));
  }
  *out = node->as_integer()->get();
}

void TomlReader::Millis(std::string_view key, Duration* out) {
  std::optional<int64_t> millis;
  Integer(key, 0, kMillisMax, &millis);
  if (millis) *out = std::chrono::milliseconds(*millis);
}

void TomlReader::Flag(std::string_view key, bool* out) {
  const toml::node* node = Take(key);
  if (node == nullptr) return;
  if (!node->is_boolean()) return Fail(Wrong(key, "true or false is expected"));
  *out = node->as_boolean()->get();
}

void TomlReader::Texts(std::string_view key, std::vector<std::string>* out) {
  const toml::node* node = Take(key);
  if (node == nullptr) return;
  out->clear();
  if (node->is_string()) return out->push_back(node->as_string()->get());
  const toml::array* array = node->as_array();
  if (array == nullptr) return Fail(Wrong(key, "a string or an array of strings is expected"));
  for (const toml::node& item : *array) {
    if (!item.is_string()) return Fail(Wrong(key, "an array of strings is expected"));
    out->push_back(item.as_string()->get());
  }
}

const toml::table* TomlReader::Table(std::string_view key) {
  const toml::node* node = Take(key);
  if (node == nullptr) return nullptr;
  if (!node->is_table()) Fail(Wrong(key, "a table is expected"));
  return node->as_table();
}

std::vector<const toml::table*> TomlReader::Tables(std::string_view key) {
  std::vector<const toml::table*> tables;
  const toml::node* node = Take(key);
  if (node == nullptr) return tables;
  const toml::array* array = node->as_array();
  bool fits = array != nullptr;
  for (size_t i = 0; fits && i < array->size(); ++i) {
    const toml::table* table = array->get(i)->as_table();
    fits = table != nullptr;
    if (fits) tables.push_back(table);
  }
  if (!fits) Fail(Wrong(key, "[[" + std::string(key) + "]] tables are expected"));
  return tables;
}

Status TomlReader::Finish() const {
  if (error_) return *error_;
  for (const auto& [key, node] : table_) {
    std::string name(key.str());
    if (std::find(asked_.begin(), asked_.end(), name) != asked_.end()) continue;
    std::string allowed;
    for (const std::string& one : asked_) allowed += (allowed.empty() ? "" : ", ") + one;
    return At(file_, key.source(), "unknown key '" + name + "'; allowed here: " + allowed);
  }
  return {};
}

}  // namespace sentinel
