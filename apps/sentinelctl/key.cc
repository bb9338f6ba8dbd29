// Keys that messages are signed with, without a gateway: files in a folder.
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>

#include "base/clock.h"
#include "command_line.h"
#include "ctl/key_folder.h"
#include "ctl/table.h"
#include "wire/json_text.h"

namespace sentinel {
namespace {

struct KeyAsked {
  std::string folder = "/etc/gpu-sentinel/keys";
  std::string id;
  int overlap_hours = 24;
};

OrderedJson TimeJson(const std::optional<WallTime>& time) {
  return time ? OrderedJson(FormatRfc3339(*time)) : OrderedJson(nullptr);
}

// Never the secret: what is printed ends up in logs and in the shell's memory.
OrderedJson EntryJson(const KeyFolder::Entry& entry) {
  const KeyPair& pair = entry.file.pair;
  return {{"key", pair.key},
          {"state", KeyStateName(entry.state)},
          {"not_before_at", TimeJson(pair.not_before)},
          {"not_after_at", TimeJson(pair.not_after)},
          {"revoked_at", TimeJson(entry.file.revoked_at)},
          {"file", entry.path}};
}

Paint PaintOf(KeyState state) {
  switch (state) {
    case KeyState::kActive:
      return Paint::kGreen;
    case KeyState::kNext:
      return Paint::kYellow;
    case KeyState::kEnded:
    case KeyState::kRevoked:
      return Paint::kDim;
  }
  return Paint::kNone;
}

int List(const KeyAsked& asked, const ControlOptions& options) {
  auto entries = KeyFolder(asked.folder).List(WallNow());
  if (!entries.ok()) return Complain(entries.error());
  if (options.json) {
    OrderedJson list = OrderedJson::array();
    for (const KeyFolder::Entry& entry : *entries) list.push_back(EntryJson(entry));
    std::printf("%s\n", OrderedJson{{"keys", std::move(list)}}.dump(2).c_str());
    return kExitDone;
  }
  Table table({"KEY", "STATE", "FROM", "UNTIL"});
  for (const KeyFolder::Entry& entry : *entries) {
    auto text = [](const std::optional<WallTime>& time) {
      return time ? FormatRfc3339(*time) : std::string("-");
    };
    const auto& until = entry.file.revoked_at ? entry.file.revoked_at : entry.file.pair.not_after;
    table.Add({{entry.file.pair.key},
               {std::string(KeyStateName(entry.state)), PaintOf(entry.state)},
               {text(entry.file.pair.not_before)},
               {text(until)}});
  }
  bool colour = options.colour && isatty(STDOUT_FILENO) == 1;
  std::fputs(table.Print(colour, "no keys in " + asked.folder).c_str(), stdout);
  return kExitDone;
}

int Made(const KeyAsked& asked, const ControlOptions& options, const Result<KeyPair>& made,
         const std::string& next) {
  if (!made.ok()) return Complain(made.error());
  const std::string path = KeyFolder(asked.folder).PathOf(made->key);
  if (options.json) {
    std::printf("%s\n", OrderedJson{{"key", made->key}, {"file", path}}.dump(2).c_str());
    return kExitDone;
  }
  std::printf("%s\n", path.c_str());
  std::fprintf(stderr, "%s\n", next.c_str());
  return kExitDone;
}

int New(const KeyAsked& asked, const ControlOptions& options) {
  return Made(asked, options, KeyFolder(asked.folder).New(asked.id, WallNow()),
              "Copy it to the other side, mode 0600, and reload both daemons (SIGHUP).");
}

int Rotate(const KeyAsked& asked, const ControlOptions& options) {
  auto made =
      KeyFolder(asked.folder).Rotate(asked.id, std::chrono::hours(asked.overlap_hours), WallNow());
  return Made(asked, options, made,
              "Copy it to the other side, mode 0600, and reload both daemons (SIGHUP) within " +
                  std::to_string(asked.overlap_hours) +
                  " h: so long the old key is valid beside it.");
}

int Revoke(const KeyAsked& asked, const ControlOptions& options) {
  Status revoked = KeyFolder(asked.folder).Revoke(asked.id, WallNow());
  if (!revoked.ok()) return Complain(revoked.error());
  if (options.json) {
    std::printf("%s\n", OrderedJson{{"key", asked.id}, {"state", "revoked"}}.dump(2).c_str());
    return kExitDone;
  }
  std::fprintf(stderr, "Reload the daemons on both sides (SIGHUP): until then they know it.\n");
  return kExitDone;
}

}  // namespace

void AddKey(CLI::App* app, CommandLine* line) {
  auto asked = std::make_shared<KeyAsked>();
  CLI::App* key = app->add_subcommand("key", "Keys that messages are signed with");
  key->require_subcommand(1);
  using Run = int (*)(const KeyAsked&, const ControlOptions&);
  auto add = [&](const char* name, const char* about, Run run) {
    CLI::App* command = key->add_subcommand(name, about);
    command->add_option("--folder", asked->folder, "Where they lie")->capture_default_str();
    command->callback([asked, line, run] {
      line->run = [asked, line, run] { return run(*asked, line->options); };
    });
    return command;
  };
  add("list", "Which there are; never their secrets", List);
  add("new", "One more, with a secret of chance", New)
      ->add_option("id", asked->id, "Its name (default: one is made up)");
  CLI::App* rotate = add("rotate", "A new one, and an end for the old one", Rotate);
  rotate->add_option("id", asked->id, "The new one's name (default: one is made up)");
  rotate->add_option("--overlap-hours", asked->overlap_hours, "So long both are valid")
      ->check(CLI::Range(0, 24 * 365))
      ->capture_default_str();
  add("revoke", "Worth nothing from now on; its secret is removed", Revoke)
      ->add_option("id", asked->id, "Its name")
      ->required();
}

}  // namespace sentinel
