#include "progress/operation_picture.h"

#include <algorithm>
#include <tuple>

namespace sentinel {
namespace {

bool Open(const CommLine& line) { return line.operations_started > line.operations_finished; }
bool Calling(const CommLine& line) { return !Open(line) && line.api_calls_open > 0; }

auto EdgeKey(const EdgeProgress& edge) {
  return std::make_tuple(edge.channel, edge.direction, edge.peer);
}

bool SameProgress(const EdgeProgress& a, const EdgeProgress& b) {
  return a.steps == b.steps && a.started == b.started && a.done == b.done && a.state == b.state &&
         a.in_state == b.in_state;
}

bool Finished(const EdgeProgress& edge) { return edge.steps > 0 && edge.done >= edge.steps; }

// What the line's oldest business is: the first unfinished operation, else the call that has
// enqueued nothing, else the last operation finished. Null if the board no longer holds it.
const OperationImage* Oldest(const CommImage& image) {
  const OperationImage* found = nullptr;
  for (const OperationImage& operation : image.operations) {
    if (Open(image.line)) {
      if (operation.enqueued && !operation.finished) return &operation;
    } else if (Calling(image.line)) {
      if (!operation.enqueued) found = &operation;
    } else if (operation.enqueued && operation.finished) {
      found = &operation;
    }
  }
  return found;
}

Phase PhaseOf(const CommLine& line, const OperationImage* operation) {
  if (Calling(line)) return Phase::kCalling;
  if (!Open(line)) return Phase::kBetween;
  if (operation == nullptr) return Phase::kInside;
  const bool taken_up = operation->kernels_started > 0 || operation->proxies_started > 0;
  return taken_up ? Phase::kInside : Phase::kEnqueued;
}

}  // namespace

void OperationPicture::Update(const CommImage& image, const BoardHeader& header, Instant changed,
                              Instant now) {
  const OperationImage* operation = Oldest(image);
  const bool same = op_ && operation != nullptr && op_->index == operation->op.index;
  if (!same) edges_.clear();
  op_.reset();
  kernels_ = {};
  if (operation != nullptr) op_ = operation->op;
  if (operation != nullptr && Open(image.line)) {
    StampEdges(*operation, changed, now);
    kernels_.watched = header.kernels_watched;
    kernels_.channels = operation->op.channels;
    kernels_.started = static_cast<int>(operation->kernels_started);
    kernels_.completed = static_cast<int>(operation->kernels_completed);
  } else {
    edges_.clear();
  }
  recent_.clear();
  for (const OperationImage& each : image.operations) {
    if (each.enqueued) recent_.push_back(each.op);
  }
  if (recent_.size() > kRecentCallsMax)
    recent_.erase(recent_.begin(), recent_.end() - kRecentCallsMax);
  line_ = image.line;
  phase_ = PhaseOf(image.line, operation);
  truncated_ = image.truncated || (operation == nullptr && Open(image.line));
  taken_ = now;
}

void OperationPicture::StampEdges(const OperationImage& operation, Instant changed, Instant now) {
  const bool moved_since_taken = !taken_ || *taken_ <= changed;
  std::vector<Edge> edges;
  edges.reserve(operation.edges.size());
  for (const EdgeProgress& progress : operation.edges) {
    edges.push_back({progress, moved_since_taken ? changed : now});
  }
  std::sort(edges.begin(), edges.end(),
            [](const Edge& a, const Edge& b) { return EdgeKey(a.progress) < EdgeKey(b.progress); });
  auto old = edges_.begin();
  for (Edge& edge : edges) {
    while (old != edges_.end() && EdgeKey(old->progress) < EdgeKey(edge.progress)) ++old;
    if (old == edges_.end()) break;
    const bool known = EdgeKey(old->progress) == EdgeKey(edge.progress);
    if (known && SameProgress(old->progress, edge.progress)) edge.changed = old->changed;
  }
  edges_ = std::move(edges);
}

bool OperationPicture::Current(const CommLine& line) const {
  return taken_ && line.operations_finished == line_.operations_finished &&
         Open(line) == Open(line_) && Calling(line) == Calling(line_) &&
         line.progress == line_.progress;
}

void OperationPicture::Describe(const CommLine& line, Instant now, Digest* digest) const {
  digest->recent = recent_;
  if (!Current(line)) {
    digest->phase = PhaseOf(line, nullptr);
    digest->truncated = true;
    return;
  }
  digest->phase = phase_;
  digest->op = op_;
  digest->kernels = kernels_;
  digest->truncated = truncated_;
  for (const bool finished : {false, true}) {
    for (const Edge& edge : edges_) {
      if (Finished(edge.progress) != finished) continue;
      if (digest->edges.size() >= kDigestEdgesMax) {
        digest->truncated = true;
        return;
      }
      digest->edges.push_back(edge.progress);
      digest->edges.back().age = std::max(now - edge.changed, Duration(0));
    }
  }
}

}  // namespace sentinel
