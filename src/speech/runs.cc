#include "speech/runs.h"

#include "speech/lexicon.h"

namespace sentinel {
namespace {

constexpr std::string_view kMandarinDigits[] = {"零", "一", "二", "三", "四",
                                                "五", "六", "七", "八", "九"};
constexpr std::string_view kEnglishDigits[] = {"zero", "one", "two",   "three", "four",
                                               "five", "six", "seven", "eight", "nine"};
constexpr size_t kNumberDigitsMax = 4;  // a longer number is an identifier

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsJoint(char c) { return c == '-' || c == '_' || c == '.' || c == ':' || c == '/'; }

struct CodePoint {
  uint32_t value = 0;  // 0: not a character
  size_t length = 1;
};

CodePoint DecodeFirst(std::string_view text) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC2 ? 2 : 0;
  if (length == 0 || lead > 0xF4 || text.size() < length) return {0, 1};
  uint32_t value = lead & (0x7Fu >> length);
  for (size_t i = 1; i < length; i++) {
    if ((byte(i) & 0xC0) != 0x80) return {0, 1};
    value = value << 6 | (byte(i) & 0x3Fu);
  }
  return {value, length};
}

bool IsHanzi(uint32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || c == 0x3007;
}

// A pause within a sentence, as the Mandarin voice understands it.
std::string_view Pause(uint32_t c) {
  switch (c) {
    case 0x3002:  // 。
    case 0xFF01:  // ！
    case 0xFF1F:  // ？
    case '!':
    case '?':
      return "。";
    case 0x3001:  // 、
    case 0xFF0C:  // ，
    case 0xFF1A:  // ：
    case 0xFF1B:  // ；
    case 0xFF08:  // （
    case 0xFF09:  // ）
    case 0x2014:  // —
    case ',':
    case ';':
    case '(':
    case ')':
      return "，";
    default:
      return "";
  }
}

// Collects words into runs. Hanzi and the digits of an identifier make runs of their own, so that
// the fixed parts of a template are the same run in every sentence and stay in the cache.
class Builder {
 public:
  enum class Kind { kWords, kDigits };

  explicit Builder(Voice language) : language_(language) {}

  Voice language() const { return language_; }

  // Joins the last run if that is of the same voice and kind.
  void Word(Voice voice, std::string_view text, Kind kind = Kind::kWords) {
    if (!runs_.empty() && runs_.back().voice == voice && kind_ == kind) {
      if (voice == Voice::kEnglish) runs_.back().text += ' ';
      runs_.back().text += text;
    } else if (runs_.size() < kRunsMax) {
      runs_.push_back({voice, std::string(text)});
    }
    kind_ = kind;
  }

  void Comma(std::string_view pause) {
    if (runs_.empty()) return;
    std::string& text = runs_.back().text;
    if (runs_.back().voice == Voice::kMandarin) {
      if (!text.ends_with("，") && !text.ends_with("。")) text += pause;
    } else if (!text.ends_with(",") && !text.ends_with(".")) {
      text += pause == "。" ? "." : ",";
    }
  }

  std::vector<SpeechRun> Take() { return std::move(runs_); }

 private:
  Voice language_;
  std::vector<SpeechRun> runs_;
  Kind kind_ = Kind::kWords;
};

void SayDigits(std::string_view digits, Builder::Kind kind, Builder* out) {
  std::string text;
  for (char digit : digits) {
    auto value = static_cast<size_t>(digit - '0');
    if (out->language() == Voice::kMandarin) {
      text += kMandarinDigits[value];
    } else {
      if (!text.empty()) text += ' ';
      text += kEnglishDigits[value];
    }
  }
  out->Word(out->language(), text, kind);
}

std::string Spelt(std::string_view letters) {
  std::string text;
  for (char c : letters) {
    if (!text.empty()) text += ' ';
    text += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return text;
}

void SayLetters(std::string_view letters, bool plain_word, Builder* out) {
  if (auto entry = LexiconEntry(letters, out->language())) {
    out->Word(entry->voice, entry->text);
  } else if (Pronounceable(letters) || (plain_word && out->language() == Voice::kEnglish)) {
    out->Word(Voice::kEnglish, letters);
  } else {
    out->Word(Voice::kEnglish, Spelt(letters));
  }
}

// A token: Latin letters, digits and the joints between them, as in gpu-worker-08 or 10.0.3.7.
void SayToken(std::string_view token, Builder* out) {
  bool identifier = false;
  bool plain_word = true;  // small letters only, as in "is"
  size_t dots = 0;
  for (char c : token) {
    identifier = identifier || IsLetter(c) || (IsJoint(c) && c != '.');
    plain_word = plain_word && c >= 'a' && c <= 'z';
    if (c == '.') dots++;
  }
  identifier = identifier || dots > 1;
  // An English sentence is one run: its names are read by the same voice.
  bool apart = out->language() == Voice::kMandarin && (identifier || dots == 0);
  Builder::Kind digits_kind = apart ? Builder::Kind::kDigits : Builder::Kind::kWords;
  size_t at = 0;
  while (at < token.size()) {
    size_t end = at;
    while (end < token.size() && (IsLetter(token[end]) || IsDigit(token[end]))) end++;
    std::string_view part = token.substr(at, end - at);
    if (!part.empty()) {
      if (auto entry = LexiconEntry(part, out->language())) {
        out->Word(entry->voice, entry->text);
      } else {
        for (size_t i = 0; i < part.size();) {
          size_t j = i;
          while (j < part.size() && IsDigit(part[j]) == IsDigit(part[i])) j++;
          std::string_view piece = part.substr(i, j - i);
          bool number = !identifier && piece.size() <= kNumberDigitsMax &&
                        (piece.size() == 1 || piece.front() != '0' || at > 0);
          if (!IsDigit(piece.front())) {
            SayLetters(piece, plain_word, out);
          } else if (number && at == 0) {
            out->Word(out->language(), piece);
          } else {
            SayDigits(piece, digits_kind, out);
          }
          i = j;
        }
      }
    }
    if (end < token.size() && token[end] == '.') {
      bool mandarin = out->language() == Voice::kMandarin;
      out->Word(out->language(), mandarin ? "点" : "point", digits_kind);
    }
    at = end + 1;
  }
}

bool HasHanzi(std::string_view text) {
  while (!text.empty()) {
    CodePoint c = DecodeFirst(text);
    if (IsHanzi(c.value)) return true;
    text.remove_prefix(c.length);
  }
  return false;
}

size_t TokenLength(std::string_view text) {
  size_t length = 0;
  while (length < text.size()) {
    char c = text[length];
    bool inside =
        length + 1 < text.size() && (IsLetter(text[length + 1]) || IsDigit(text[length + 1]));
    if (!IsLetter(c) && !IsDigit(c) && !(IsJoint(c) && length > 0 && inside)) break;
    length++;
  }
  return length;
}

}  // namespace

std::vector<SpeechRun> SplitRuns(std::string_view sentence) {
  Builder out(HasHanzi(sentence) ? Voice::kMandarin : Voice::kEnglish);
  while (!sentence.empty()) {
    if (size_t length = TokenLength(sentence); length > 0) {
      SayToken(sentence.substr(0, length), &out);
      sentence.remove_prefix(length);
      continue;
    }
    CodePoint c = DecodeFirst(sentence);
    std::string_view bytes = sentence.substr(0, c.length);
    sentence.remove_prefix(c.length);
    if (IsHanzi(c.value)) {
      out.Word(Voice::kMandarin, bytes);
    } else if (std::string_view pause = Pause(c.value); !pause.empty()) {
      out.Comma(pause);
    } else if (c.value == '.' || (c.value == ':' && out.language() == Voice::kEnglish)) {
      out.Comma(c.value == '.' ? "。" : "，");
    } else if (c.value == '%') {
      out.Word(out.language(), out.language() == Voice::kMandarin ? "百分号" : "per cent");
    } else if (c.value == 0x2103) {  // ℃
      out.Word(out.language(), out.language() == Voice::kMandarin ? "摄氏度" : "degrees");
    }
  }
  return out.Take();
}

std::string SpokenText(const std::vector<SpeechRun>& runs) {
  std::string text;
  for (const SpeechRun& run : runs) {
    if (!text.empty()) text += ' ';
    text += run.text;
  }
  return text;
}

}  // namespace sentinel
