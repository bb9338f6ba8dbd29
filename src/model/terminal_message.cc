#include "model/terminal_message.h"

namespace sentinel {

std::string_view LightModeName(LightMode mode) {
  switch (mode) {
    case LightMode::kFlash:
      return "flash";
    case LightMode::kBreath:
      return "breath";
    case LightMode::kSteady:
      return "steady";
    case LightMode::kOff:
      return "off";
  }
  return "";
}

std::string_view AudioModeName(AudioMode mode) {
  switch (mode) {
    case AudioMode::kCycle:
      return "cycle";
    case AudioMode::kOnce:
      return "once";
    case AudioMode::kOff:
      return "off";
  }
  return "";
}

}  // namespace sentinel
