#include "manual/completion.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "manual/manual.h"

namespace sentinel {
namespace {

std::vector<std::string> Names(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back('-' + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

std::string Joined(const std::vector<std::string>& words, const char* between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

// Options of the program itself may stand after any command.
std::vector<const CLI::Option*> OptionsAt(const CLI::App& app) {
  std::vector<const CLI::Option*> options = ShownOptions(app);
  for (const CLI::App* above = app.get_parent(); above != nullptr; above = above->get_parent()) {
    for (const CLI::Option* option : ShownOptions(*above)) {
      if (option->get_lnames() != std::vector<std::string>{"version"}) options.push_back(option);
    }
  }
  return options;
}

struct BashCases {
  std::string steps;   // a word leads from one command to the next
  std::string values;  // what an option takes
  std::string words;   // what may stand there otherwise
};

void AddBash(const CLI::App& app, const std::string& path, BashCases* cases) {
  std::vector<std::string> words;
  for (const CLI::App* command : ShownCommands(app)) {
    const std::string name = command->get_name();
    words.push_back(name);
    cases->steps += "      \"" + path + ' ' + name + "\") path=\"" + path + ' ' + name + "\" ;;\n";
  }
  for (const CLI::Option* option : OptionsAt(app)) {
    const std::vector<std::string> choices = ChoicesOf(*option);
    if (option->get_positional()) {
      words.insert(words.end(), choices.begin(), choices.end());
      continue;
    }
    const std::vector<std::string> names = Names(*option);
    words.insert(words.end(), names.begin(), names.end());
    if (!TakesValue(*option)) continue;
    std::string pattern;
    for (const std::string& name : names) {
      pattern += (pattern.empty() ? "\"" : " | \"") + path + ' ' + name + '"';
    }
    // Where any text may stand it may be the name of a file.
    const std::string offer =
        choices.empty() ? "compopt -o default; return" : "words=\"" + Joined(choices, " ") + '"';
    cases->values += "    " + pattern + ") " + offer + " ;;\n";
  }
  cases->words += "      \"" + path + "\") words=\"" + Joined(words, " ") + "\" ;;\n";
  for (const CLI::App* command : ShownCommands(app)) {
    AddBash(*command, path + ' ' + command->get_name(), cases);
  }
}

// As it stands between quotes in a zsh specification.
std::string ZshText(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else if (c == '[' || c == ']' || c == ':' || c == '\\') {
      out += std::string("\\") + c;
    } else {
      out += c == '\n' ? ' ' : c;
    }
  }
  return out;
}

std::string ZshFunctionName(const std::string& path) {
  std::string name = "_" + path;
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}

std::string ZshArgument(const CLI::Option& option) {
  const std::vector<std::string> choices = ChoicesOf(option);
  return choices.empty() ? "_files" : '(' + Joined(choices, " ") + ')';
}

void AddZsh(const CLI::App& app, const std::string& path, std::string* out) {
  const std::vector<const CLI::App*> commands = ShownCommands(app);
  std::string specs;
  int place = 1;
  for (const CLI::Option* option : OptionsAt(app)) {
    if (option->get_positional()) {
      const bool several = option->get_items_expected_max() > 1;
      specs += " \\\n    '" + (several ? "*" : std::to_string(place++)) + ':' +
               ZshText(option->get_name(true, false)) + ':' + ZshArgument(*option) + '\'';
      continue;
    }
    for (const std::string& name : Names(*option)) {
      specs += " \\\n    '" + name + '[' + ZshText(option->get_description()) + ']' +
               (TakesValue(*option) ? ":value:" + ZshArgument(*option) : "") + '\'';
    }
  }
  *out += ZshFunctionName(path) + "() {\n";
  if (commands.empty()) {
    *out += "  _arguments" + specs + "\n}\n";
    return;
  }
  *out += "  local -a commands=(\n";
  for (const CLI::App* command : commands) {
    *out += "    '" + command->get_name() + ':' + ZshText(command->get_description()) + "'\n";
  }
  *out += "  )\n  local state line\n  _arguments -C" + specs +
          " \\\n    '1: :->command' '*:: :->rest'\n  case $state in\n"
          "    command) _describe command commands ;;\n    rest)\n      case $line[1] in\n";
  for (const CLI::App* command : commands) {
    *out += "        " + command->get_name() + ") " +
            ZshFunctionName(path + ' ' + command->get_name()) + " ;;\n";
  }
  *out += "      esac ;;\n  esac\n}\n";
  for (const CLI::App* command : commands) AddZsh(*command, path + ' ' + command->get_name(), out);
}

}  // namespace

std::string BashCompletion(const CLI::App& app) {
  const std::string& name = app.get_name();
  BashCases cases;
  AddBash(app, "", &cases);
  return "# bash completion for " + name + ", made by `" + name + " completion bash`\n_" + name +
         "() {\n"
         "  local word words=\"\" path=\"\" index\n"
         "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n"
         "  COMPREPLY=()\n"
         "  for ((index = 1; index < COMP_CWORD; ++index)); do\n"
         "    case \"$path ${COMP_WORDS[index]}\" in\n" +
         cases.steps +
         "    esac\n"
         "  done\n"
         "  case \"$path $previous\" in\n" +
         cases.values +
         "    *)\n"
         "    case \"$path\" in\n" +
         cases.words +
         "    esac ;;\n"
         "  esac\n"
         "  for word in $(compgen -W \"$words\" -- \"$current\"); do\n"
         "    # Options are offered once somebody begins one.\n"
         "    if [[ $word != -* || $current == -* ]]; then COMPREPLY+=(\"$word\"); fi\n"
         "  done\n"
         "}\ncomplete -F _" +
         name + ' ' + name + '\n';
}

std::string ZshCompletion(const CLI::App& app) {
  const std::string& name = app.get_name();
  std::string out = "#compdef " + name + "\n# made by `" + name + " completion zsh`\n";
  AddZsh(app, name, &out);
  return out + "if [ \"$funcstack[1]\" = _" + name + " ]; then _" + name +
         " \"$@\"; else compdef _" + name + ' ' + name + "; fi\n";
}

}  // namespace sentinel
