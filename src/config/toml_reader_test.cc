#include "config/toml_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sentinel {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::StartsWith;

enum class Colour { kRed, kGreen };

// A file with one of everything.
struct Settings {
  std::string name = "n";
  std::string path = "/p";
  bool flag = false;
  double level = -9;
  int count = 3;
  Duration wait = milliseconds(250);
  std::vector<std::string> texts{"t"};
  Colour colour = Colour::kRed;
  std::map<std::string, int> numbers;
  std::map<std::string, std::string> names;
  std::vector<int> rows;
};

Result<Settings> Read(std::string_view text) {
  TomlReader reader = TRY(TomlReader::Parse(text, "f.toml"));
  Settings settings;
  reader.Name("name", &settings.name);
  reader.AbsolutePath("path", &settings.path);
  reader.Flag("flag", &settings.flag);
  reader.Section("more", [&](TomlReader& more) {
    more.Decimal("level", -60, 0, &settings.level);
    more.Whole("count", 1, 9, &settings.count);
    more.Millis("wait_ms", &settings.wait, 5, 1000);
    more.Texts("texts", &settings.texts);
    more.Choice<Colour>("colour", {{"red", Colour::kRed}, {"green", Colour::kGreen}},
                        &settings.colour);
    more.Numbers("numbers", &settings.numbers);
    more.Names("names", &settings.names);
  });
  reader.Sections("rows", [&](TomlReader& row) {
    int at = 0;
    row.Whole("at", 0, 100, &at);
    if (at == 13) row.Wrong("at", "nobody sits there");
    settings.rows.push_back(at);
  });
  TRY(reader.Finish());
  return settings;
}

std::string Complaint(std::string_view text) {
  const Result<Settings> settings = Read(text);
  return settings.ok() ? "" : settings.error().message;
}

TEST(TomlReader, WhatIsNotWrittenStaysAsItWas) {
  const Result<Settings> settings = Read("");
  ASSERT_TRUE(settings.ok());
  EXPECT_EQ(settings->name, "n");
  EXPECT_EQ(settings->wait, milliseconds(250));
  EXPECT_EQ(settings->texts, std::vector<std::string>{"t"});
}

TEST(TomlReader, TakesEachKind) {
  const Result<Settings> settings = Read(R"(
name = "hall-1"
path = "/var"
flag = true
[more]
level = -12
count = 9
wait_ms = 5
texts = "one"
colour = "green"
numbers = { "0000:3b:00.0" = 2 }
[[rows]]
at = 1
[[rows]]
at = 2
)");
  ASSERT_TRUE(settings.ok()) << settings.error().message;
  EXPECT_EQ(settings->name, "hall-1");
  EXPECT_TRUE(settings->flag);
  EXPECT_EQ(settings->level, -12);
  EXPECT_EQ(settings->count, 9);
  EXPECT_EQ(settings->wait, milliseconds(5));
  EXPECT_EQ(settings->texts, std::vector<std::string>{"one"});
  EXPECT_EQ(settings->colour, Colour::kGreen);
  EXPECT_EQ(settings->numbers.at("0000:3b:00.0"), 2);
  EXPECT_EQ(settings->rows, (std::vector<int>{1, 2}));
}

TEST(TomlReader, AnUnknownKeyIsRefusedWithItsPlaceAndWhatIsAllowedThere) {
  EXPECT_EQ(Complaint("flag = true\nflog = 1"),
            "f.toml:2:1: unknown key 'flog'; allowed here: name, path, flag, more, rows");
  EXPECT_THAT(
      Complaint("[more]\nname = 'x'"),
      testing::AllOf(StartsWith("f.toml:2:1: unknown key 'name'"), HasSubstr("level, count")));
  EXPECT_THAT(Complaint("[[rows]]\nat = 1\n[[rows]]\nto = 1"), StartsWith("f.toml:4:1:"));
}

TEST(TomlReader, AWrongValueIsToldWithItsPlace) {
  EXPECT_EQ(Complaint("name = 5"), "f.toml:1:8: name: a string is expected");
  EXPECT_THAT(Complaint("name = 'a b'"), StartsWith("f.toml:1:8: name: 1 to 64 letters"));
  EXPECT_THAT(Complaint("path = 'var'"), HasSubstr("path: an absolute path"));
  EXPECT_THAT(Complaint("path = ''"), HasSubstr("path: an absolute path"));
  EXPECT_THAT(Complaint("flag = 1"), HasSubstr("flag: true or false"));
  EXPECT_THAT(Complaint("more = 1"), HasSubstr("more: a table"));
  EXPECT_THAT(Complaint("rows = 1"), HasSubstr("[[rows]] tables"));
  EXPECT_THAT(Complaint("rows = [1]"), HasSubstr("[[rows]] tables"));
  EXPECT_THAT(Complaint("[more]\nlevel = 6"), HasSubstr("level: a number from -60 to 0"));
  EXPECT_THAT(Complaint("[more]\nlevel = nan"), HasSubstr("level: a number"));
  EXPECT_THAT(Complaint("[more]\ncount = 10"), HasSubstr("count: a whole number from 1 to 9"));
  EXPECT_THAT(Complaint("[more]\ncount = 1.5"), HasSubstr("count: a whole number"));
  EXPECT_THAT(Complaint("[more]\nwait_ms = 1"), HasSubstr("wait_ms: a whole number from 5"));
  EXPECT_THAT(Complaint("[more]\ntexts = ['a', 1]"), HasSubstr("texts: an array of strings"));
  EXPECT_THAT(Complaint("[more]\ncolour = 'blue'"), HasSubstr("'blue' is not one of red, green"));
  EXPECT_THAT(Complaint("[more]\nnumbers = { a = -1 }"), HasSubstr("numbers: 'a' has no whole"));
  EXPECT_THAT(Complaint("name = "), StartsWith("f.toml:1:"));
}

TEST(TomlReader, AKeyDeeperThanTheParserCanStandIsTold) {
  std::string deep = "a";
  for (int i = 0; i < 200'000; ++i) deep += ".a";
  EXPECT_EQ(Complaint("flag = true\n" + deep + " = 1"), "f.toml:2: a key has more than 64 parts");
}

TEST(TomlReader, AWrongItemIsToldWithItsOwnPlace) {
  EXPECT_THAT(Complaint("[more]\ntexts = ['a',\n  1]"), StartsWith("f.toml:3:3: texts: an array"));
  EXPECT_THAT(Complaint("[more]\ntexts = ['a', '']"), StartsWith("f.toml:2:15: texts: an empty"));
  EXPECT_THAT(Complaint("[more]\ntexts = ''"), StartsWith("f.toml:2:9: texts: an empty string"));
  EXPECT_THAT(Complaint("[more]\ntexts = 5"),
              StartsWith("f.toml:2:9: texts: a string or an array"));
  EXPECT_THAT(Complaint("[more]\nnumbers = { a = 1, b = -1 }"),
              StartsWith("f.toml:2:24: numbers: 'b' has no whole number"));
  EXPECT_THAT(Complaint("rows = [{at = 1}, 2]"), StartsWith("f.toml:1:19: rows: [[rows]] tables"));
}

TEST(TomlReader, AStringThatTheSystemWouldCutShortIsRefused) {
  EXPECT_THAT(Complaint("path = \"/a\\u0000b\""), StartsWith("f.toml:1:8: path: a string without"));
  EXPECT_THAT(Complaint("[more]\ntexts = [\"a\\u0000b\"]"), StartsWith("f.toml:2:10: texts: "));
  EXPECT_THAT(Complaint("[more]\nnames = { a = \"b\\u0000\" }"),
              StartsWith("f.toml:2:15: names: "));
  EXPECT_THAT(Complaint("[more]\nnames = { \"a\\u0000\" = 'b' }"), HasSubstr("zero bytes"));
}

TEST(TomlReader, EachOfSeveralIsReadByWhatIsSaidOfIt) {
  const auto read = [](std::string_view text) -> Result<std::vector<size_t>> {
    TomlReader reader = TRY(TomlReader::Parse(text, "f.toml"));
    std::vector<size_t> sizes{7};
    const auto size = [](const std::string& word) -> Result<size_t> {
      if (word.size() < 4) return word.size();
      return Error{ErrorCode::kInvalidArgument, "a short word is expected"};
    };
    reader.ParsedEach("words", size, &sizes);
    TRY(reader.Finish());
    return sizes;
  };
  EXPECT_EQ(*read("words = ['a', 'bcd']"), (std::vector<size_t>{1, 3}));
  EXPECT_EQ(*read("words = 'ab'"), std::vector<size_t>{2});
  EXPECT_EQ(*read("words = []"), std::vector<size_t>{});
  EXPECT_EQ(*read(""), std::vector<size_t>{7});
  const auto wrong = read("words = ['a', 'bcde', '']");
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().message, "f.toml:1:15: words: a short word is expected");
}

TEST(TomlReader, AFileThatIsNotThereIsToldWithItsPlaceWhereFilesAreLookedFor) {
  const auto read = [](const std::string& text, NamedFiles named) -> Status {
    TomlReader reader = TRY(TomlReader::Parse(text, "f.toml", named));
    std::string file;
    reader.Section("more", [&file](TomlReader& more) { more.File("key_file", &file); });
    return reader.Finish();
  };
  const std::string there = "[more]\nkey_file = '/'";
  const std::string gone = "[more]\nkey_file = '/no/such/file'";
  EXPECT_TRUE(read(there, NamedFiles::kLookedFor).ok());
  EXPECT_TRUE(read(gone, NamedFiles::kTaken).ok());
  const Status told = read(gone, NamedFiles::kLookedFor);
  ASSERT_FALSE(told.ok());
  EXPECT_EQ(told.error().message,
            "f.toml:2:12: key_file: /no/such/file: No such file or directory");
  EXPECT_EQ(told.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(read("[more]\nkey_file = ''", NamedFiles::kTaken).error().message,
            "f.toml:2:12: key_file: a path is expected");
}

TEST(TomlReader, TheFirstMistakeIsKept) {
  EXPECT_THAT(Complaint("flog = 1\nname = 5\nflag = 5"), StartsWith("f.toml:2:8: name"));
  EXPECT_THAT(Complaint("[[rows]]\nat = 13\n[[rows]]\nat = 'x'"),
              StartsWith("f.toml:2:6: at: nobody sits there"));
}

}  // namespace
}  // namespace sentinel
