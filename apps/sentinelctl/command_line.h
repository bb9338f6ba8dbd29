// The commands of sentinelctl: each file adds its own to the command line.
#pragma once

#include <functional>

#include <CLI/CLI.hpp>

#include "ctl/commands.h"

namespace sentinel {

// Built once, parsed once, run once. Outlives the app that commands were added to.
struct CommandLine {
  ControlOptions options;
  std::function<int()> run;  // what was asked for; returns the exit code
};

void AddViews(CLI::App* app, CommandLine* line);   // incidents, terminals, agents
void AddSend(CLI::App* app, CommandLine* line);    // send
void AddConfig(CLI::App* app, CommandLine* line);  // config
void AddKey(CLI::App* app, CommandLine* line);     // key
void AddCa(CLI::App* app, CommandLine* line);      // ca

}  // namespace sentinel
