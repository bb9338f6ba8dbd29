// Where frames go: a matrix, a bridge to one, or nowhere but the page.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "floor/frame.h"

namespace sentinel {

class FrameSink {
 public:
  virtual ~FrameSink() = default;
  // Called with every frame that differs from the last one. Never blocks: a device that is not
  // ready misses the frame. An error is the device's, and the next frame is tried again.
  virtual Status Show(const Frame& frame) = 0;
};

// 768 raw bytes a frame (docs/formats/terminal.md). A regular file always holds the latest frame
// and nothing else; a FIFO or device is written frame after frame, and frames are dropped while
// nobody reads.
std::unique_ptr<FrameSink> MakeFileSink(std::string path);

}  // namespace sentinel
