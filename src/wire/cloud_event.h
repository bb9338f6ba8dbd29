// Events in the envelope of CloudEvents 1.0, over HTTP: structured, binary, or a batch. Pure.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/event.h"
#include "wire/malformed.h"

namespace sentinel {

// Events in one batch; beyond, it is refused.
constexpr size_t kCloudEventsMax = 256;

// The media types that say which of them it is; anything else is binary.
constexpr std::string_view kCloudEventType = "application/cloudevents";
constexpr std::string_view kCloudEventBatchType = "application/cloudevents-batch";
// Whether that Content-Type, in whatever case and with whatever parameters, says it is a batch.
bool IsCloudEventBatch(std::string_view content_type);

struct ReceivedCloudEvents {
  std::vector<Event> events;
  std::vector<size_t> places;  // of each of them in the batch
  Malformed malformed;         // of a batch
};

// `header` gives a header's value, or "".
//
// Each event's data is a gpu_event. Its id where the data names none: `source` and `id` together,
// as CloudEvents has it; its observed_at likewise: `time`. An event of a batch that is not as it
// has to be costs no other its place. kInvalidArgument with what is wrong and what is expected for
// one that comes alone, and for what is no batch: then none of it counts.
Result<ReceivedCloudEvents> ParseCloudEvents(
    std::string_view body, const std::function<std::string_view(std::string_view)>& header);

}  // namespace sentinel
