#include "progress/gap_sketch.h"

#include <algorithm>
#include <cmath>

namespace sentinel {
namespace {

// From 1 ms, below which nothing is decided, to 65 s, beyond which everything is late.
constexpr int kBucketsPerDoubling = 8;
constexpr int kDoublings = 16;
constexpr int kBuckets = kBucketsPerDoubling * kDoublings + 1;

int BucketOf(Duration gap) {
  const double ms = std::chrono::duration<double, std::milli>(gap).count();
  if (ms <= 1) return 0;
  const int bucket = static_cast<int>(std::ceil(std::log2(ms) * kBucketsPerDoubling));
  return std::clamp(bucket, 0, kBuckets - 1);
}

Duration UpperEnd(int bucket) {
  const double ms = std::exp2(static_cast<double>(bucket) / kBucketsPerDoubling);
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double, std::milli>(ms));
}

}  // namespace

void GapSketch::Add(Duration gap, uint64_t times) {
  if (times == 0) return;
  count_ += times;
  if (buckets_.empty()) buckets_.resize(kBuckets);
  uint32_t& bucket = buckets_[BucketOf(gap)];
  // One call never adds more than is kept: an operation counter that leaps is not worth more.
  const uint64_t added = std::min<uint64_t>(times, kRecentMax / 2);
  bucket += static_cast<uint32_t>(added);
  recent_ += added;
  longest_ = std::max(longest_, gap);
  if (recent_ <= kRecentMax) return;
  recent_ = 0;
  int last = 0;
  for (int i = 0; i < kBuckets; ++i) {
    buckets_[i] /= 2;
    recent_ += buckets_[i];
    if (buckets_[i] > 0) last = i;
  }
  longest_ = std::min(longest_, last == kBuckets - 1 ? longest_ : UpperEnd(last));
}

Duration GapSketch::P999() const {
  if (recent_ < 1000) return longest_;
  const uint64_t above_max = recent_ / 1000;  // how many may lie above it
  uint64_t above = 0;
  for (int i = kBuckets - 1; i >= 0; --i) {
    above += buckets_[i];
    if (above > above_max) return i == kBuckets - 1 ? longest_ : std::min(longest_, UpperEnd(i));
  }
  return longest_;
}

GapSketch::Parts GapSketch::parts() const {
  Parts parts{count_, longest_, {}};
  for (size_t i = 0; i < buckets_.size(); ++i) {
    if (buckets_[i] > 0) parts.buckets.emplace_back(static_cast<int>(i), buckets_[i]);
  }
  return parts;
}

std::optional<GapSketch> GapSketch::Assemble(const Parts& parts) {
  GapSketch sketch;
  if (parts.longest < Duration(0)) return std::nullopt;
  int last = -1;
  for (const auto& [bucket, times] : parts.buckets) {
    if (bucket <= last || bucket >= kBuckets || times == 0) return std::nullopt;
    last = bucket;
    if (sketch.buckets_.empty()) sketch.buckets_.resize(kBuckets);
    sketch.buckets_[bucket] = times;
    sketch.recent_ += times;
  }
  if (sketch.recent_ > kRecentMax || sketch.recent_ > parts.count) return std::nullopt;
  sketch.count_ = parts.count;
  sketch.longest_ = parts.longest;
  return sketch;
}

}  // namespace sentinel
