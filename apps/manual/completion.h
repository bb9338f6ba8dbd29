// What a shell offers while a command is being written, made of the command line itself.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace sentinel {

// Scripts to be sourced by bash, and to be found by zsh as _<name>.
std::string BashCompletion(const CLI::App& app);
std::string ZshCompletion(const CLI::App& app);

}  // namespace sentinel
