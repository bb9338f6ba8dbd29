// Files that nobody but their owner reads: whole or not there, whatever happens meanwhile.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace sentinel {

enum class Replace : bool { kNo, kYes };

// Mode 0600, written beside and renamed. Where we are root it is given to the owner of its folder,
// who is to read it. kInvalidArgument if it is there and must not be replaced.
Status WritePrivateFile(const std::string& path, std::string_view text, Replace replace);

// Makes the folder with mode 0700 if it is not there.
Status MakePrivateFolder(const std::string& path);

}  // namespace sentinel
