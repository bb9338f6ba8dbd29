#include "config/toml_reader.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <limits>
#include <optional>

#include "config/key_parts.h"

namespace sentinel {
namespace {

constexpr size_t kNameBytesMax = 64;

Error At(const std::string& file, const toml::source_region& where, const std::string& what) {
  return {ErrorCode::kInvalidArgument,
          fmt::format("{}:{}:{}: {}", file, where.begin.line, where.begin.column, what)};
}

}  // namespace

// toml++ is known to this file alone: its header costs every compilation seconds.
struct TomlReader::Table {
  std::shared_ptr<const toml::table> document;  // owns what `nodes` is part of
  const toml::table* nodes;
  std::string file;
  NamedFiles named;
  std::vector<std::string> asked;
  std::optional<Error> error;

  // None if it is not written, or if something was wrong already.
  const toml::node* Take(std::string_view key) {
    asked.emplace_back(key);
    return error ? nullptr : nodes->get(key);
  }
  // A mistake in this very node, of this key.
  void WrongAt(const toml::node& node, std::string_view key, const std::string& what) {
    if (!error) error = At(file, node.source(), std::string(key) + ": " + what);
  }
  void Read(const toml::table& inner, const std::function<void(TomlReader&)>& read) {
    TomlReader reader(std::make_unique<Table>(Table{document, &inner, file, named, {}, {}}));
    read(reader);
    const Status finished = reader.Finish();
    if (!finished.ok() && !error) error = finished.error();
  }
};

TomlReader::TomlReader(std::unique_ptr<Table> table) : table_(std::move(table)) {}
TomlReader::TomlReader(TomlReader&&) noexcept = default;
TomlReader::~TomlReader() = default;

Result<TomlReader> TomlReader::Parse(std::string_view text, const std::string& file,
                                     NamedFiles named) {
  if (const std::optional<size_t> line = LineOfTooLongKey(text)) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{}:{}: a key has more than {} parts", file, *line, kKeyPartsMax)};
  }
  try {
    auto document = std::make_shared<const toml::table>(toml::parse(text));
    const toml::table* top = document.get();
    return TomlReader(
        std::make_unique<Table>(Table{std::move(document), top, file, named, {}, {}}));
  } catch (const toml::parse_error& error) {
    return At(file, error.source(), std::string(error.description()));
  }
}

void TomlReader::Wrong(std::string_view key, const std::string& what) {
  Conflict(key, std::string(key) + ": " + what);
}

void TomlReader::Conflict(std::string_view key, const std::string& what) {
  if (table_->error) return;
  const toml::node* node = table_->nodes->get(key);
  table_->error =
      At(table_->file, node == nullptr ? table_->nodes->source() : node->source(), what);
}

void TomlReader::Wrong(std::string_view key, const Error& found) {
  if (table_->error) return;
  Wrong(key, found.message);
  table_->error->code = found.code;
}

bool TomlReader::ok() const { return !table_->error; }

bool TomlReader::String(std::string_view key, std::string* out) {
  const toml::node* node = table_->Take(key);
  if (node == nullptr) return false;
  if (!node->is_string()) {
    Wrong(key, "a string is expected");
    return false;
  }
  const std::string& text = node->as_string()->get();
  if (text.find('\0') != std::string::npos) {
    Wrong(key, "a string without zero bytes is expected");
    return false;
  }
  *out = text;
  return true;
}

void TomlReader::Text(std::string_view key, std::string* out) { String(key, out); }

void TomlReader::Name(std::string_view key, std::string* out) {
  if (!String(key, out)) return;
  const bool fits = !out->empty() && out->size() <= kNameBytesMax &&
                    std::all_of(out->begin(), out->end(), [](unsigned char c) {
                      return isalnum(c) || c == '-' || c == '_' || c == '.';
                    });
  if (!fits) Wrong(key, "1 to 64 letters, digits, '-', '_' and '.' are expected");
}

void TomlReader::AbsolutePath(std::string_view key, std::string* out) {
  if (String(key, out) && !out->starts_with('/')) Wrong(key, "an absolute path is expected");
}

void TomlReader::File(std::string_view key, std::string* out) {
  if (!String(key, out)) return;
  if (out->empty()) return Wrong(key, "a path is expected");
  Look(key, *out);
}

void TomlReader::Look(std::string_view key, const std::string& path) {
  if (table_->named != NamedFiles::kLookedFor || path.empty()) return;
  struct stat found {};
  if (stat(path.c_str(), &found) == 0) return;
  const int why = errno;
  const ErrorCode code = why == ENOENT || why == ENOTDIR ? ErrorCode::kNotFound
                         : why == EACCES                 ? ErrorCode::kDenied
                                                         : ErrorCode::kIo;
  Wrong(key, Error{code, path + ": " + std::strerror(why)});
}

void TomlReader::Flag(std::string_view key, bool* out) {
  const toml::node* node = table_->Take(key);
  if (node == nullptr) return;
  if (!node->is_boolean()) return Wrong(key, "true or false is expected");
  *out = node->as_boolean()->get();
}

void TomlReader::Decimal(std::string_view key, double min, double max, double* out) {
  const toml::node* node = table_->Take(key);
  if (node == nullptr) return;
  const std::optional<double> value = node->value<double>();
  // A number that is none is within no limits.
  if (!value || !(*value >= min && *value <= max)) {
    return Wrong(key, fmt::format("a number from {} to {} is expected", min, max));
  }
  *out = *value;
}

bool TomlReader::Integer(std::string_view key, int64_t min, int64_t max, int64_t* out) {
  const toml::node* node = table_->Take(key);
  if (node == nullptr) return false;
  if (!node->is_integer() || node->as_integer()->get() < min || node->as_integer()->get() > max) {
    Wrong(key, fmt::format("a whole number from {} to {} is expected", min, max));
    return false;
  }
  *out = node->as_integer()->get();
  return true;
}

void TomlReader::Millis(std::string_view key, Duration* out, int64_t min, int64_t max) {
  int64_t millis = 0;
  if (Integer(key, min, max, &millis)) *out = std::chrono::milliseconds(millis);
}

bool TomlReader::Each(std::string_view key, const std::function<Status(const std::string&)>& take) {
  const toml::node* node = table_->Take(key);
  if (node == nullptr) return false;
  const toml::array* array = node->as_array();
  const auto one = [&](const toml::node& item) {
    if (!item.is_string()) {
      return table_->WrongAt(item, key,
                             array != nullptr ? "an array of strings is expected"
                                              : "a string or an array of strings is expected");
    }
    const std::string& text = item.as_string()->get();
    if (text.empty() || text.find('\0') != std::string::npos) {
      return table_->WrongAt(item, key, "an empty string, or one with a zero byte, is none");
    }
    const Status taken = take(text);
    if (!taken.ok()) table_->WrongAt(item, key, taken.error().message);
  };
  if (array == nullptr) {
    one(*node);
  } else {
    for (const toml::node& item : *array) one(item);
  }
  return ok();
}

void TomlReader::Texts(std::string_view key, std::vector<std::string>* out) {
  std::vector<std::string> all;
  const bool written = Each(key, [&all](const std::string& text) -> Status {
    all.push_back(text);
    return {};
  });
  if (written) *out = std::move(all);
}

void TomlReader::Numbers(std::string_view key, std::map<std::string, int>* out) {
  const toml::node* node = table_->Take(key);
  if (node == nullptr) return;
  if (!node->is_table()) return Wrong(key, "a table of names with whole numbers is expected");
  for (const auto& [name, number] : *node->as_table()) {
    const int64_t* value = number.is_integer() ? &number.as_integer()->get() : nullptr;
    if (value == nullptr || *value < 0 || *value > std::numeric_limits<int>::max()) {
      return table_->WrongAt(number, key,
                             "'" + std::string(name.str()) + "' has no whole number from 0 on");
    }
    (*out)[std::string(name.str())] = static_cast<int>(*value);
  }
}

void TomlReader::Names(std::string_view key, std::map<std::string, std::string>* out) {
  const toml::node* node = table_->Take(key);
  if (node == nullptr) return;
  if (!node->is_table()) return Wrong(key, "a table of names with strings is expected");
  for (const auto& [name, text] : *node->as_table()) {
    if (!text.is_string()) {
      return table_->WrongAt(text, key, "'" + std::string(name.str()) + "' has no string");
    }
    const std::string& value = text.as_string()->get();
    if (name.str().find('\0') != std::string_view::npos || value.find('\0') != std::string::npos) {
      return table_->WrongAt(text, key, "names and strings without zero bytes are expected");
    }
    (*out)[std::string(name.str())] = value;
  }
}

void TomlReader::Section(std::string_view key, const std::function<void(TomlReader&)>& read) {
  const toml::node* node = table_->Take(key);
  if (node == nullptr) return;
  if (!node->is_table()) return Wrong(key, "a table is expected");
  table_->Read(*node->as_table(), read);
}

void TomlReader::Sections(std::string_view key, const std::function<void(TomlReader&)>& read) {
  const toml::node* node = table_->Take(key);
  if (node == nullptr) return;
  const toml::array* array = node->as_array();
  const std::string expected = "[[" + std::string(key) + "]] tables are expected";
  if (array == nullptr) return Wrong(key, expected);
  for (const toml::node& item : *array) {
    if (!item.is_table()) return table_->WrongAt(item, key, expected);
    if (ok()) table_->Read(*item.as_table(), read);
  }
}

Status TomlReader::Finish() const {
  if (table_->error) return *table_->error;
  for (const auto& [key, node] : *table_->nodes) {
    const std::string name(key.str());
    const std::vector<std::string>& asked = table_->asked;
    if (std::find(asked.begin(), asked.end(), name) != asked.end()) continue;
    return At(table_->file, key.source(),
              fmt::format("unknown key '{}'; allowed here: {}", name, fmt::join(asked, ", ")));
  }
  return {};
}

}  // namespace sentinel
