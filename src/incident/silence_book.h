// Silences that run, that are to come, and the last that were: what they cover, and when that
// changes. Pure; knows nothing of incidents.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/silence.h"

namespace sentinel {

// Running or to come; beyond it a new one is refused.
constexpr size_t kSilencesMax = 512;
// Over, and remembered; beyond it the one over for longest is forgotten.
constexpr size_t kSilencesOverMax = 100;
constexpr std::chrono::hours kSilenceLongest = std::chrono::hours(31 * 24);
constexpr size_t kSilenceFieldBytesMax = 256;     // of a matcher's field and of an author
constexpr size_t kSilenceCommentBytesMax = 1024;  // of a comment

// What may be covered. `places`: where it is; more than one for a hang whose place is not known.
struct SilenceSubject {
  struct Place {
    std::string_view host;  // as it is known by (IdentityHost)
    std::string_view rack;  // as it is spoken
  };
  std::vector<Place> places;
  std::string_view type;
  std::string_view job;
};

class SilenceBook {
 public:
  // Gives it its id: the same silence twice is one, also where it has no end and comes again
  // later, as a drain that somebody repeats every night does. kInvalidArgument, in words, for one
  // that covers everything by saying nothing, ends before it begins, lasts too long or has no
  // author; kExhausted at the bound.
  Result<Silence> Add(Silence silence, Moment now);
  // It ends now. kNotFound if it is not known or over already.
  Status Expire(const std::string& id, Moment now);
  // From an earlier process. False if it is over and therefore forgotten.
  bool Restore(Silence silence, Moment now);

  // Those that began or ended since the last call.
  struct Changes {
    bool begun = false;
    std::vector<Silence> ended;
    bool any() const { return begun || !ended.empty(); }
  };
  Changes Advance(Instant now);
  std::optional<Instant> NextChange() const;

  // The maintenance silence that covers all places of the subject, its type and its job.
  const Silence* Covering(const SilenceSubject& subject) const;
  // The silence that puts that host out of service.
  const Silence* OutOfService(const SilenceSubject::Place& place) const;

  const Silence* Find(const std::string& id) const;
  SilencePhase PhaseOf(const Silence& silence) const;
  // Those that run or are to come by their beginning, then those that are over, the last first.
  std::vector<Silence> All() const;

 private:
  struct Entry {
    Silence silence;
    Instant starts;
    std::optional<Instant> ends;
    bool active = false;
    bool expired = false;  // taken back
  };
  const Silence* LastingLike(const Silence& silence) const;
  void Insert(Silence silence, Moment now);

  std::map<std::string, Entry> entries_;  // running or to come
  std::vector<Silence> over_;             // the last one last
};

}  // namespace sentinel
