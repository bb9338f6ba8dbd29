#include "http/http_date.h"

#include <array>
#include <charconv>

namespace sentinel {
namespace {

constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

std::optional<int> Digits(std::string_view text) {
  int number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

}  // namespace

std::optional<WallTime> ParseHttpDate(std::string_view text) {
  // 0         1         2
  // 01234567890123456789012345678
  // Tue, 17 Aug 2026 08:30:00 GMT
  if (text.size() != 29 || !text.ends_with(" GMT") || text[3] != ',' || text[19] != ':' ||
      text[22] != ':') {
    return std::nullopt;
  }
  std::optional<int> day = Digits(text.substr(5, 2));
  std::optional<int> year = Digits(text.substr(12, 4));
  std::optional<int> hour = Digits(text.substr(17, 2));
  std::optional<int> minute = Digits(text.substr(20, 2));
  std::optional<int> second = Digits(text.substr(23, 2));
  unsigned month = 0;
  while (month < kMonths.size() && kMonths[month] != text.substr(8, 3)) ++month;
  if (!day || !year || !hour || !minute || !second || month == kMonths.size()) return std::nullopt;
  std::chrono::year_month_day date{std::chrono::year(*year), std::chrono::month(month + 1),
                                   std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok() || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  std::chrono::seconds since_epoch = std::chrono::sys_days(date).time_since_epoch();
  since_epoch +=
      std::chrono::hours(*hour) + std::chrono::minutes(*minute) + std::chrono::seconds(*second);
  return WallTime{since_epoch};
}

}  // namespace sentinel
