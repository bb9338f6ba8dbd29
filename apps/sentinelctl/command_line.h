// The commands of sentinelctl: each file adds its own to the command line.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "ctl/commands.h"

namespace sentinel {

// Built once, parsed once, run once. Outlives the app that commands were added to.
struct CommandLine {
  ControlOptions options;
  std::function<int()> run;  // what was asked for; returns the exit code
};

void AddViews(CLI::App* app, CommandLine* line);       // incidents, terminals, agents
void AddSend(CLI::App* app, CommandLine* line);        // send
void AddHands(CLI::App* app, CommandLine* line);       // ack, mute, unmute, test
void AddPolicy(CLI::App* app, CommandLine* line);      // route, silence, node, audit
void AddConfig(CLI::App* app, CommandLine* line);      // config
void AddBackup(CLI::App* app, CommandLine* line);      // backup
void AddKey(CLI::App* app, CommandLine* line);         // key
void AddCa(CLI::App* app, CommandLine* line);          // ca
void AddCompletion(CLI::App* app, CommandLine* line);  // completion; of all the others

// What several of them take. An event, or its whole body; --by; a length of time, which is wrong on
// the command line rather than at the gateway.
std::shared_ptr<EventOptions> AddEventOptions(CLI::App* command);
void AddBy(CLI::App* command, std::string* by);
std::string CheckLength(const std::string& text);

}  // namespace sentinel
