#include "correlate/intra_node.h"

namespace sentinel {
namespace {

void Settle(Finding* f, HangClass hang_class, std::vector<Rank> ranks) {
  f->hang_class = hang_class;
  if (ranks.size() == 1) {
    f->rank = ranks.front();
  } else {
    f->suspects = std::move(ranks);
  }
}

}  // namespace

std::vector<Rank> OnSameHost(const Scene& scene, Rank rank) {
  const Digest* d = scene.DigestOf(rank);
  if (d == nullptr || d->member.place.host.empty()) return {rank};
  std::vector<Rank> node;
  for (const Scene::Seat& seat : scene.seats()) {
    if (seat.report != nullptr && seat.report->digest().member.place.host == d->member.place.host) {
      node.push_back(seat.rank);
    }
  }
  return node;
}

std::optional<Finding> ExactWithinNode(const Scene& scene, const std::vector<Rank>& node,
                                       Rank waiter) {
  std::vector<Rank> not_entered;
  std::vector<Rank> not_started;
  for (Rank rank : node) {
    const Standing standing = scene.StandingOf(rank);
    if (standing == Standing::kNotEntered) not_entered.push_back(rank);
    if (standing != Standing::kInside && standing != Standing::kEnqueued) continue;
    const KernelProgress& kernels = scene.DigestOf(rank)->kernels;
    if (kernels.watched && kernels.started == 0) not_started.push_back(rank);
  }
  Finding f;
  f.op = scene.op;
  f.waiter = waiter;
  if (!not_entered.empty()) {
    Settle(&f, HangClass::kNotEntered, std::move(not_entered));
  } else if (!not_started.empty() && not_started.size() < node.size()) {
    Settle(&f, HangClass::kGpuNotStarted, std::move(not_started));
  } else {
    return std::nullopt;
  }
  return f;
}

Finding JudgeByKernels(const Scene& scene) {
  Finding f;
  f.op = scene.op;
  std::vector<Rank> not_entered, enqueued, not_started, inside, missing;
  size_t participants = 0;
  std::optional<Rank> waiter;
  bool watched = true;
  for (const Scene::Seat& seat : scene.seats()) {
    const Standing standing = scene.StandingOf(seat);
    switch (standing) {
      case Standing::kMissing:
        missing.push_back(seat.rank);
        continue;
      case Standing::kNotEntered:
        ++participants;
        not_entered.push_back(seat.rank);
        continue;
      case Standing::kFinished:
        ++participants;
        continue;
      case Standing::kEnqueued:
      case Standing::kInside:
        break;
    }
    ++participants;
    if (!waiter) waiter = seat.rank;
    const Digest& d = seat.report->digest();
    watched &= d.kernels.watched;
    if (standing == Standing::kEnqueued) {
      enqueued.push_back(seat.rank);
    } else if (d.kernels.watched && d.kernels.started == 0) {
      not_started.push_back(seat.rank);
    } else {
      inside.push_back(seat.rank);
    }
  }
  f.waiter = waiter;
  f.missing = missing;
  if (!not_entered.empty()) {
    Settle(&f, HangClass::kNotEntered, std::move(not_entered));
    return f;
  }
  if (!missing.empty()) {
    f.suspects = std::move(missing);
    if (scene.nodes() > 1) f.suspects.insert(f.suspects.end(), enqueued.begin(), enqueued.end());
    return f;
  }
  const size_t idle = enqueued.size() + not_started.size();
  if (watched && idle > 0 && idle < participants) {
    not_started.insert(not_started.end(), enqueued.begin(), enqueued.end());
    // On several nodes the event of a kernel's start comes from the proxy thread: neither seen, the
    // proxy is what is silent.
    const bool proxy = scene.nodes() > 1 && !enqueued.empty();
    Settle(&f, proxy ? HangClass::kProxyStuck : HangClass::kGpuNotStarted, std::move(not_started));
    return f;
  }
  // All have started. Those that have not completed are one of them, if any has.
  inside.insert(inside.end(), enqueued.begin(), enqueued.end());
  inside.insert(inside.end(), not_started.begin(), not_started.end());
  if (inside.size() == 1) {
    Settle(&f, HangClass::kGpuStuck, std::move(inside));
  } else {
    // Which of several kernels stands, or the link between them, nobody sees.
    if (watched && idle == 0 && scene.nodes() == 1) f.hang_class = HangClass::kGpuStuck;
    f.suspects = std::move(inside);
  }
  return f;
}

}  // namespace sentinel
