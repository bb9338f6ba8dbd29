// What the matrix shows: 16 x 16 pixels, RGB888, row by row from the top left.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "base/time.h"
#include "model/terminal_message.h"

namespace sentinel {

constexpr int kFrameWidth = 16;
constexpr int kFrameHeight = 16;
constexpr size_t kFrameBytes = size_t{kFrameWidth} * kFrameHeight * 3;
constexpr int kFramesPerSecond = 30;
constexpr Duration kFramePeriod = Duration(std::chrono::seconds(1)) / kFramesPerSecond;

using Frame = std::array<uint8_t, kFrameBytes>;

inline Color PixelAt(const Frame& frame, int x, int y) {
  size_t at = (static_cast<size_t>(y) * kFrameWidth + static_cast<size_t>(x)) * 3;
  return {frame[at], frame[at + 1], frame[at + 2]};
}

inline void SetPixel(Frame* frame, int x, int y, Color color) {
  size_t at = (static_cast<size_t>(y) * kFrameWidth + static_cast<size_t>(x)) * 3;
  (*frame)[at] = color.red;
  (*frame)[at + 1] = color.green;
  (*frame)[at + 2] = color.blue;
}

}  // namespace sentinel
