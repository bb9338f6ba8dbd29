// What a configuration names on this host, folders above all, looked at without making any.
#pragma once

#include <string>

#include "base/result.h"

namespace sentinel {

// kNotFound: this host cannot serve a setting that is well written.
Error NotHere(const std::string& key, const std::string& value, const std::string& why);

// What `path` lies in, with or without '/' at its end; "." for a mere name.
std::string FolderOf(std::string path);

// kNotFound with the system's words if it is no folder, or this user may not do with it what
// `access_mode` says (R_OK, W_OK, X_OK: access(2)).
Status CheckFolder(const std::string& path, int access_mode);

// Whether it can be written to, or made: then the nearest folder above it that is there can be.
// kNotFound names the one that is in the way.
Status CheckWritable(std::string folder);

}  // namespace sentinel
