// A prepared statement of SQLite while it is in use.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace sentinel {

// Bound from 1 up, reset at the end whatever happens.
class Statement {
 public:
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}
  ~Statement() {
    sqlite3_reset(statement_);
    sqlite3_clear_bindings(statement_);
  }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  // The text must outlive the statement's use.
  Statement& Text(std::string_view text) {
    // A null pointer would bind NULL.
    sqlite3_bind_text64(statement_, ++bound_, text.data() == nullptr ? "" : text.data(),
                        text.size(), SQLITE_STATIC, SQLITE_UTF8);
    return *this;
  }
  Statement& Bytes(std::string_view bytes) {
    sqlite3_bind_blob64(statement_, ++bound_, bytes.data() == nullptr ? "" : bytes.data(),
                        bytes.size(), SQLITE_STATIC);
    return *this;
  }
  Statement& Integer(int64_t value) {
    sqlite3_bind_int64(statement_, ++bound_, value);
    return *this;
  }
  Statement& Real(double value) {
    sqlite3_bind_double(statement_, ++bound_, value);
    return *this;
  }
  Statement& Null() {
    sqlite3_bind_null(statement_, ++bound_);
    return *this;
  }

  int Step() { return sqlite3_step(statement_); }
  std::string TextAt(int column) const {
    const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
    return text == nullptr
               ? std::string()
               : std::string(text, static_cast<size_t>(sqlite3_column_bytes(statement_, column)));
  }
  int64_t IntegerAt(int column) const { return sqlite3_column_int64(statement_, column); }

 private:
  sqlite3_stmt* statement_;
  int bound_ = 0;
};

}  // namespace sentinel
