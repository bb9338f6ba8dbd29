// Result<T>: a value, or an error that carries a code to decide on and words for a person.
//
//   Result<Config> LoadConfig(const std::string& path) {
//     std::string text = TRY(ReadFile(path));      // one TRY to a statement, never inside braces
//     return ParseConfig(text);
//   }
//
// Asking a failed Result for its value is a mistake of ours and CHECKs.
#pragma once

#include <string>
#include <utility>

#include <tl/expected.hpp>

#include "base/check.h"

namespace sentinel {

enum class ErrorCode {
  kInvalidArgument,  // the caller's or the user's input is wrong; trying again is no use
  kNotFound,
  kDenied,       // not allowed, or not authentic
  kCorrupt,      // bytes that are not what they claim to be
  kExhausted,    // a named bound was reached
  kUnavailable,  // the other side is not there; trying again may help
  kTimeout,
  kIo,  // the operating system said no; the message has its words
};

struct Error {
  ErrorCode code;
  std::string message;
};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : inner_(std::move(value)) {}                    // NOLINT: implicit by design
  Result(Error error) : inner_(tl::unexpect, std::move(error)) {}  // NOLINT: implicit by design

  bool ok() const { return inner_.has_value(); }

  const T& value() const& { return Checked().value(); }
  T& value() & {
    CHECK(ok());
    return *inner_;
  }
  T&& value() && {
    CHECK(ok());
    return std::move(*inner_);
  }
  const T& operator*() const& { return value(); }
  T& operator*() & { return value(); }
  const T* operator->() const { return &value(); }
  T* operator->() { return &value(); }

  const Error& error() const {
    CHECK(!ok());
    return inner_.error();
  }

 private:
  const tl::expected<T, Error>& Checked() const {
    CHECK(ok());
    return inner_;
  }

  tl::expected<T, Error> inner_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : inner_(tl::unexpect, std::move(error)) {}  // NOLINT: implicit by design

  bool ok() const { return inner_.has_value(); }
  void value() const { CHECK(ok()); }
  const Error& error() const {
    CHECK(!ok());
    return inner_.error();
  }

 private:
  tl::expected<void, Error> inner_;
};

using Status = Result<void>;

}  // namespace sentinel

// The value of a Result, or return its error from the enclosing function. One to a statement and
// never inside a braced initialiser (both compilers leak there); in a coroutine CO_TRY, never
// together with co_await (scripts/tidy.py looks).
#define TRY(expression)                              \
  ({                                                 \
    auto try_result = (expression);                  \
    if (!try_result.ok()) return try_result.error(); \
    std::move(try_result).value();                   \
  })
#define CO_TRY(expression)                              \
  ({                                                    \
    auto try_result = (expression);                     \
    if (!try_result.ok()) co_return try_result.error(); \
    std::move(try_result).value();                      \
  })
