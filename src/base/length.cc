#include "base/length.h"

#include <array>
#include <utility>

namespace sentinel {
namespace {

constexpr std::array<std::pair<char, int64_t>, 4> kUnits = {
    {{'d', 86'400}, {'h', 3600}, {'m', 60}, {'s', 1}}};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

Result<Duration> ParseLength(std::string_view text) {
  const Error wrong{
      ErrorCode::kInvalidArgument,
      "'" + std::string(text) +
          "' is no length of time such as 90s, 15m, 2h, 1d or 1h30m, of at most a year"};
  const int64_t seconds_max = std::chrono::duration_cast<std::chrono::seconds>(kLengthMax).count();
  int64_t seconds = 0;
  std::string_view rest = text;
  while (!rest.empty()) {
    int64_t number = 0;
    size_t digits = 0;
    for (; digits < rest.size() && IsDigit(rest[digits]); ++digits) {
      number = number * 10 + (rest[digits] - '0');
      if (number > seconds_max) return wrong;
    }
    if (digits == 0 || digits == rest.size()) return wrong;
    int64_t unit = 0;
    for (const auto& [letter, length] : kUnits) {
      if (letter == rest[digits]) unit = length;
    }
    seconds += number * unit;
    if (unit == 0 || seconds > seconds_max) return wrong;
    rest.remove_prefix(digits + 1);
  }
  if (seconds == 0) return wrong;
  return Duration(std::chrono::seconds(seconds));
}

std::string FormatLength(Duration length) {
  int64_t seconds = std::chrono::duration_cast<std::chrono::seconds>(length).count();
  if (seconds <= 0) return "0s";
  std::string text;
  for (const auto& [letter, unit] : kUnits) {
    if (seconds >= unit) text += std::to_string(seconds / unit) + letter;
    seconds %= unit;
  }
  return text;
}

}  // namespace sentinel
