#include "manual/manual.h"

#include <algorithm>
#include <cstdio>

namespace sentinel {
namespace {

constexpr const char* kPrograms[] = {"sentinelctl(1)", "sentinel-agent(8)", "sentinel-gateway(8)",
                                     "sentinel-ring(1)", "sentinel-terminal(8)"};

// Plain words as troff: what would be a macro or an escape is neither.
std::string Escaped(const std::string& text) {
  std::string out;
  bool line_start = true;
  for (const char c : text) {
    if (line_start && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
    line_start = c == '\n';
  }
  return out;
}

std::string Bold(const std::string& text) { return "\\fB" + Escaped(text) + "\\fR"; }

// Blank lines part paragraphs.
std::string Paragraphs(const std::string& text) {
  std::string out = ".PP\n";
  const std::string escaped = Escaped(text);
  size_t begin = 0;
  for (size_t end = escaped.find("\n\n"); end != std::string::npos;
       begin = end + 2, end = escaped.find("\n\n", begin)) {
    out += escaped.substr(begin, end - begin) + "\n.PP\n";
  }
  return out + escaped.substr(begin) + '\n';
}

std::string Tagged(const std::string& tag, const std::string& words) {
  return ".TP\n" + Bold(tag) + '\n' + (words.empty() ? "\\&" : Escaped(words)) + '\n';
}

std::string Upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

std::string Options(const CLI::App& app) {
  std::string out;
  for (const CLI::Option* option : ShownOptions(app)) {
    std::string words = option->get_description();
    if (!option->get_default_str().empty())
      words += " (default: " + option->get_default_str() + ')';
    const std::vector<std::string> choices = ChoicesOf(*option);
    if (!choices.empty()) {
      words += words.empty() ? "One of" : "; one of";
      for (const std::string& choice : choices) words += ' ' + choice;
    }
    out += Tagged(OptionWords(*option), words);
  }
  return out;
}

std::string Commands(const CLI::App& app, const std::string& before) {
  std::string out;
  for (const CLI::App* command : ShownCommands(app)) {
    const std::string name = before + ' ' + command->get_name();
    if (ShownCommands(*command).empty()) {
      std::string usage = name;
      for (const CLI::Option* option : ShownOptions(*command)) {
        if (option->get_positional()) usage += ' ' + OptionWords(*option);
      }
      out += ".SS " + Escaped(usage) + '\n' + Escaped(command->get_description()) + ".\n" +
             Options(*command);
    } else {
      out += Commands(*command, name);
    }
  }
  return out;
}

std::string Section(const char* title,
                    const std::vector<std::pair<std::string, std::string>>& entries) {
  if (entries.empty()) return "";
  std::string out = std::string(".SH ") + title + '\n';
  for (const auto& [tag, words] : entries) out += Tagged(tag, words);
  return out;
}

}  // namespace

std::vector<const CLI::Option*> ShownOptions(const CLI::App& app) {
  std::vector<const CLI::Option*> shown;
  for (const CLI::Option* option : app.get_options()) {
    const bool hidden = option->get_group().empty();
    const bool help = option == app.get_help_ptr() && app.get_parent() != nullptr;
    if (!hidden && !help) shown.push_back(option);
  }
  // Groups of options are subcommands without a name.
  for (const CLI::App* group : app.get_subcommands(std::function<bool(const CLI::App*)>())) {
    if (!group->get_name().empty()) continue;
    for (const CLI::Option* option : ShownOptions(*group)) shown.push_back(option);
  }
  return shown;
}

std::vector<const CLI::App*> ShownCommands(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* command) {
    return !command->get_name().empty() && !command->get_group().empty();
  });
}

bool TakesValue(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

std::vector<std::string> ChoicesOf(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const size_t open = type.find('{');
  const size_t close = type.find('}', open == std::string::npos ? 0 : open);
  if (open == std::string::npos || close == std::string::npos) return {};
  std::vector<std::string> choices;
  std::string word;
  for (const char c : type.substr(open + 1, close - open - 1) + ',') {
    if (c != ',') {
      word += c;
    } else {
      choices.push_back(std::exchange(word, {}));
    }
  }
  return choices;
}

std::string OptionWords(const CLI::Option& option) {
  if (option.get_positional()) {
    const bool several = option.get_items_expected_max() > 1;
    const std::string name = option.get_name(true, false) + (several ? " ..." : "");
    return option.get_required() ? name : '[' + name + ']';
  }
  std::string words;
  for (const std::string& name : option.get_snames()) words += (words.empty() ? "-" : ", -") + name;
  for (const std::string& name : option.get_lnames()) {
    words += (words.empty() ? "--" : ", --") + name;
  }
  if (!TakesValue(option)) return words;
  const std::string type = option.get_type_name();
  return words + ' ' +
         (ChoicesOf(option).empty() ? type.substr(0, type.find_first_of(": ")) : "WORD");
}

std::string ManualPage(const CLI::App& app, const ManualNotes& notes) {
  const std::string& name = app.get_name();
  const std::string section = std::to_string(notes.section);
  std::string page =
      ".TH " + Upper(Escaped(name)) + ' ' + section + " \"\" \"GPU Sentinel\" \"GPU Sentinel\"\n";
  page += ".SH NAME\n" + Escaped(name) + " \\- " + Escaped(notes.purpose) + '\n';
  page += ".SH SYNOPSIS\n" + Bold(name) + " [\\fIoptions\\fR]";
  const bool commands = !ShownCommands(app).empty();
  if (commands) page += " \\fIcommand\\fR ...";
  page += "\n.SH DESCRIPTION\n" + Paragraphs(app.get_description());
  page += ".SH OPTIONS\n" + Options(app);
  if (commands) page += ".SH COMMANDS\n" + Commands(app, name);
  page += ".SH EXIT STATUS\n";
  for (const ExitCode& code : notes.exit_codes) {
    page += Tagged(std::to_string(code.code), code.words);
  }
  page += Section("FILES", notes.files) + Section("ENVIRONMENT", notes.environment) +
          Section("EXAMPLES", notes.examples);
  page += ".SH SEE ALSO\n";
  std::string others;
  for (const char* program : kPrograms) {
    if (!std::string(program).starts_with(name + '(')) {
      others += (others.empty() ? "" : ", ") + Escaped(program);
    }
  }
  return page + others + '\n';
}

void AddManual(CLI::App* app, ManualNotes notes) {
  app->footer(ExitFooter(notes.exit_codes));
  app->add_flag_callback("--man",
                         [app, notes = std::move(notes)] {
                           std::fputs(ManualPage(*app, notes).c_str(), stdout);
                           throw CLI::Success();
                         })
      ->group("");
}

}  // namespace sentinel
