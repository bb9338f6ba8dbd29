#include "progress/board_watch.h"

#include <algorithm>
#include <utility>

namespace sentinel {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kAskAgainAfter = milliseconds(60);  // a full read that failed, or told nothing
constexpr Duration kRepeatEvery = seconds(1);
// Operations too quick for a scan to meet are known from full reads alone: soon after a
// communicator is new, then rarely (a full read costs 20 times a scan).
constexpr Duration kLearnFirst = seconds(1);
constexpr Duration kLearnMax = seconds(16);
constexpr int kUnsizedReads = 2;  // one may have met it while it was being written
// One that does not say who it is, and has been used, is asked so often and then no more.
constexpr int kUnknownReadsMax = 32;

}  // namespace

BoardWatch::BoardWatch(const WatchOptions& options, std::string job, JobScope scope, Place place,
                       int32_t job_ranks)
    : options_(options),
      job_(std::move(job)),
      scope_(scope),
      place_(std::move(place)),
      job_ranks_(job_ranks),
      learn_every_(kLearnFirst) {}

bool BoardWatch::OnHeader(const BoardHeader& header, Instant now) {
  if (scanned_ && now - *scanned_ > options_.overslept_after) {
    ++overslept_;
    const Duration unseen = now - *scanned_ - options_.scan_period;
    for (auto& [index, slot] : slots_) slot.watch.Forgive(unseen);
  }
  scanned_ = now;
  Observe(header, /*scan=*/true, now);

  const Duration since_asked = asked_ ? now - *asked_ : Duration::max();
  if (since_asked < kAskAgainAfter) return false;
  bool wanted = finished_ != finished_learned_ && since_asked >= learn_every_;
  for (const auto& [index, slot] : slots_) {
    wanted = wanted || Unknown(slot) || (slot.identified && slot.watch.Candidate(now));
  }
  if (wanted) asked_ = now;
  return wanted;
}

void BoardWatch::Observe(const BoardHeader& header, bool scan, Instant now) {
  if (header.generation != generation_) {
    for (const auto& [index, slot] : slots_) Retire(slot);
    slots_.clear();
    generation_ = header.generation;
    ++version_;
  }
  finished_ = 0;
  const size_t count = std::min(header.comms.size(), kSlotsMax);
  for (size_t i = 0; i < count; ++i) {
    const CommLine& line = header.comms[i];
    const int index = static_cast<int>(i);
    const auto found = slots_.find(index);
    finished_ += line.operations_finished;
    if (found == slots_.end()) {
      if (line.live) Replace(index, line, now);
    } else if (found->second.watch.line().generation != line.generation) {
      Retire(found->second);
      slots_.erase(found);
      ++version_;
      if (line.live) Replace(index, line, now);
    } else if (!line.live && !line.finalized) {
      Retire(found->second);
      slots_.erase(found);
      ++version_;
    } else {
      found->second.marks.See(line);
      if (scan) {
        found->second.watch.Scan(line, now);
      } else {
        found->second.watch.Refresh(line, now);
      }
    }
  }
}

void BoardWatch::Replace(int index, const CommLine& line, Instant now) {
  const auto made = slots_.emplace(index, Slot(CommWatch(options_, line, now))).first;
  if (recalled_.board == generation_) {
    std::erase_if(recalled_.comms, [&](const LearnedComm& learned) {
      const bool same = learned.slot == index && learned.generation == line.generation;
      if (same) made->second.watch.Recall(learned);
      return same;
    });
  }
  made->second.marks.See(line);
  learn_every_ = kLearnFirst;
}

void BoardWatch::Retire(const Slot& slot) {
  if (slot.reported) retired_.push_back(slot.member);
}

void BoardWatch::OnImage(const BoardImage& image, Instant now) {
  Observe(image.header, /*scan=*/false, now);
  for (const CommImage& comm : image.comms) {
    const auto found = slots_.find(comm.slot);
    if (found == slots_.end()) continue;
    Slot& slot = found->second;
    // Taken over by another communicator between header and slot: the next read has it.
    if (slot.watch.line().generation != comm.line.generation) continue;
    // Being written while it was read, or nonsense: who it is, is not known yet.
    const int32_t size = SizeOf(comm);
    const bool known = size > 0 && comm.rank >= 0 && comm.rank < size;
    if (!known && !slot.identified) {
      ++slot.reads;
      if (size == 0 && comm.comm_id != 0 && ++slot.unsized == kUnsizedReads) unsized_ = true;
      continue;
    }
    Member member;
    const bool named = scope_ == JobScope::kCluster || comm.nodes == 1;
    member.comm = {named ? job_ : std::string(), comm.comm_id, size};
    member.rank = comm.rank;
    member.nodes = comm.nodes;
    member.comm_name = comm.name;
    member.place = place_;
    member.place.pci = comm.pci;
    if (known && (!slot.identified || member != slot.member)) {
      slot.member = std::move(member);
      slot.identified = true;
      slot.size_assumed = comm.nranks == 0;
      ++version_;
    }
    slot.watch.Refresh(comm.line, now);
    slot.watch.Learn(comm.operations);
    slot.picture.Update(comm, image.header, slot.watch.changed(), now);
  }
  finished_learned_ = finished_;
  learn_every_ = std::min<Duration>(learn_every_ * 2, kLearnMax);
}

// Whether a full read may tell who it is. Old NCCL names a communicator with its first operation.
bool BoardWatch::Unknown(const Slot& slot) const {
  if (slot.identified || slot.unsized >= kUnsizedReads) return false;
  const CommLine& line = slot.watch.line();
  const bool used = line.operations_started > 0 || line.api_calls > 0;
  return slot.reads < (used ? kUnknownReadsMax : kUnsizedReads);
}

int32_t BoardWatch::SizeOf(const CommImage& comm) const {
  if (comm.nranks != 0 || comm.comm_id == 0) return comm.nranks;
  const bool told = job_ranks_ > 1 && place_.job_rank >= 0 && place_.job_rank < job_ranks_;
  return told && comm.rank < job_ranks_ ? job_ranks_ : 0;
}

void BoardWatch::ForgetJobSize() {
  job_ranks_ = 0;
  for (auto& [index, slot] : slots_) {
    if (!slot.identified || !slot.size_assumed) continue;
    Retire(slot);
    slot.identified = slot.reported = false;
    slot.unsized = slot.reads = 0;
    ++version_;
  }
}

std::vector<Digest> BoardWatch::Due(const Vitals& vitals, Instant now) {
  std::vector<Digest> due;
  for (Member& member : retired_) {
    Digest digest;
    digest.member = std::move(member);
    digest.vitals = vitals;
    digest.vitals.ending = true;
    due.push_back(std::move(digest));
  }
  retired_.clear();
  for (auto& [index, slot] : slots_) {
    if (!slot.identified) continue;
    const bool suspect = slot.watch.Suspect(now);
    const bool again = suspect && slot.reported && now - slot.reported_at >= kRepeatEvery;
    if (suspect == slot.reported && !again) continue;
    slot.reported = suspect;
    slot.reported_at = now;
    due.push_back(Make(slot, /*request_id=*/0, vitals, now));
  }
  return due;
}

void BoardWatch::Forget() {
  for (auto& [index, slot] : slots_) slot.reported = false;
  retired_.clear();
}

void BoardWatch::TakeCallOrder(std::vector<MemberCalls>* out) {
  for (auto& [index, slot] : slots_) {
    if (!slot.identified || slot.marks.empty()) continue;
    out->push_back({slot.member.comm, slot.member.rank, place_.pid, slot.marks.Take()});
  }
}

std::vector<Digest> BoardWatch::Describe(const CommKey* comm, uint64_t request_id,
                                         const Vitals& vitals, Instant now) const {
  std::vector<Digest> digests;
  for (const auto& [index, slot] : slots_) {
    if (!slot.identified || (comm != nullptr && slot.member.comm != *comm)) continue;
    digests.push_back(Make(slot, request_id, vitals, now));
  }
  return digests;
}

Digest BoardWatch::Make(const Slot& slot, uint64_t request_id, const Vitals& vitals,
                        Instant now) const {
  const CommLine& line = slot.watch.line();
  Digest digest;
  digest.request_id = request_id;
  digest.member = slot.member;
  digest.operations_started = line.operations_started;
  digest.operations_finished = line.operations_finished;
  digest.age = slot.watch.Age(now);
  digest.suspect = slot.watch.Suspect(now);
  digest.suspect_after = slot.watch.Limit();
  digest.vitals = vitals;
  digest.vitals.ending = vitals.ending || line.finalized;
  digest.history = slot.watch.history();
  slot.picture.Describe(line, now, &digest);
  return digest;
}

std::vector<Member> BoardWatch::Members() const {
  std::vector<Member> members;
  for (const auto& [index, slot] : slots_) {
    if (slot.identified) members.push_back(slot.member);
  }
  return members;
}

bool BoardWatch::Suspects() const {
  const Instant now = scanned_.value_or(Instant{});
  return std::any_of(slots_.begin(), slots_.end(), [&](const auto& entry) {
    const CommWatch& watch = entry.second.watch;
    if (!(watch.open() || watch.calling()) || watch.line().finalized) return false;
    return watch.Age(now) >= options_.suspect_min / 2;
  });
}

LearnedProcess BoardWatch::Remember(Instant now) const {
  if (generation_ == 0) return recalled_;  // not read yet
  LearnedProcess learned;
  learned.board = generation_;
  for (const auto& [index, slot] : slots_) {
    if (!slot.watch.line().finalized) learned.comms.push_back(slot.watch.Remember(index, now));
  }
  return learned;
}

void BoardWatch::Recall(LearnedProcess learned) { recalled_ = std::move(learned); }

}  // namespace sentinel
