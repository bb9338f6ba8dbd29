#include "base/time.h"

#include <charconv>
#include <cstdio>
#include <ctime>

namespace sentinel {
namespace {

// Takes what is read off the front of a text.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  // Exactly so many digits; -1 if they are not there.
  int Digits(size_t count) {
    int value = 0;
    if (text_.size() < count) return -1;
    const char* end = text_.data() + count;
    auto [rest, error] = std::from_chars(text_.data(), end, value);
    if (error != std::errc{} || rest != end || value < 0) return -1;
    text_.remove_prefix(count);
    return value;
  }
  bool Char(char wanted) {
    if (text_.empty() || text_.front() != wanted) return false;
    text_.remove_prefix(1);
    return true;
  }
  bool AtDigit() const { return !text_.empty() && text_.front() >= '0' && text_.front() <= '9'; }
  bool AtEnd() const { return text_.empty(); }

 private:
  std::string_view text_;
};

bool Between(int value, int least, int most) { return value >= least && value <= most; }

}  // namespace

std::string FormatRfc3339(WallTime time) {
  int64_t millis = time.since_epoch.count();
  std::time_t seconds = millis / 1000;
  int64_t rest = millis % 1000;
  if (rest < 0) {
    rest += 1000;
    seconds -= 1;
  }
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  char text[48];
  size_t length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc);
  std::snprintf(text + length, sizeof text - length, ".%03dZ", static_cast<int>(rest));
  return text;
}

std::optional<WallTime> ParseRfc3339(std::string_view text) {
  Reader reader(text);
  const int year = reader.Digits(4);
  const bool dash = reader.Char('-');
  const int month = reader.Digits(2);
  const bool second_dash = reader.Char('-');
  const int day = reader.Digits(2);
  const bool t = reader.Char('T') || reader.Char('t');
  const int hour = reader.Digits(2);
  const bool colon = reader.Char(':');
  const int minute = reader.Digits(2);
  const bool second_colon = reader.Char(':');
  const int second = reader.Digits(2);
  if (!dash || !second_dash || !t || !colon || !second_colon) return std::nullopt;
  if (!Between(hour, 0, 23) || !Between(minute, 0, 59) || !Between(second, 0, 60)) {
    return std::nullopt;
  }
  using namespace std::chrono;
  const year_month_day date{std::chrono::year(year),
                            std::chrono::month(static_cast<unsigned>(month)),
                            std::chrono::day(static_cast<unsigned>(day))};
  if (year < 0 || month < 0 || day < 0 || !date.ok()) return std::nullopt;

  milliseconds fraction{0};
  if (reader.Char('.')) {
    if (!reader.AtDigit()) return std::nullopt;
    for (int weight = 100; reader.AtDigit(); weight /= 10)
      fraction += milliseconds(weight * reader.Digits(1));
  }
  minutes ahead{0};
  if (!reader.Char('Z') && !reader.Char('z')) {
    const bool behind = reader.Char('-');
    if (!behind && !reader.Char('+')) return std::nullopt;
    const int hours_ahead = reader.Digits(2);
    const bool offset_colon = reader.Char(':');
    const int minutes_ahead = reader.Digits(2);
    if (!offset_colon || !Between(hours_ahead, 0, 23) || !Between(minutes_ahead, 0, 59))
      return std::nullopt;
    ahead = hours(hours_ahead) + minutes(minutes_ahead);
    if (behind) ahead = -ahead;
  }
  if (!reader.AtEnd()) return std::nullopt;
  return WallTime{sys_days(date).time_since_epoch() + hours(hour) + minutes(minute) +
                  seconds(second) + fraction - ahead};
}

}  // namespace sentinel
