#include "incident/silence_book.h"

#include <algorithm>
#include <utility>

#include "base/digest.h"
#include "base/glob.h"
#include "incident/speech_text.h"

namespace sentinel {
namespace {

constexpr size_t kIdDigits = 16;

Error Wrong(std::string what) { return {ErrorCode::kInvalidArgument, std::move(what)}; }

bool Exact(std::string_view pattern) {
  return pattern.find_first_of("*?") == std::string_view::npos;
}

bool FitsHost(const std::string& pattern, std::string_view host) {
  if (pattern.empty()) return true;
  return Exact(pattern) ? IdentityHost(pattern) == host : FitsGlob(pattern, host);
}

bool FitsPlace(const SilenceMatcher& matcher, const SilenceSubject::Place& place) {
  return FitsHost(matcher.host, place.host) &&
         (matcher.rack.empty() || FitsGlob(SpokenRack(matcher.rack), place.rack));
}

bool Fits(const SilenceMatcher& matcher, const SilenceSubject& subject) {
  if (!matcher.type.empty() && !FitsGlob(matcher.type, subject.type)) return false;
  if (!matcher.job.empty() && !FitsGlob(matcher.job, subject.job)) return false;
  if (matcher.host.empty() && matcher.rack.empty()) return true;
  return !subject.places.empty() &&
         std::all_of(subject.places.begin(), subject.places.end(),
                     [&](const auto& place) { return FitsPlace(matcher, place); });
}

std::string IdOf(const Silence& silence) {
  const SilenceMatcher& m = silence.matcher;
  std::string name;
  for (std::string_view part :
       {std::string_view(m.host), std::string_view(m.rack), std::string_view(m.type),
        std::string_view(m.job), NodeStateName(silence.state), std::string_view(silence.author)}) {
    name += std::to_string(part.size()) + ':';
    name += part;
  }
  name += std::to_string(silence.starts.since_epoch.count()) + '-';
  if (silence.expires) name += std::to_string(silence.expires->since_epoch.count());
  return Sha256Hex(name).substr(0, kIdDigits);
}

Status Check(const Silence& silence, WallTime now) {
  const SilenceMatcher& m = silence.matcher;
  for (const std::string* field : {&m.host, &m.rack, &m.type, &m.job, &silence.author}) {
    if (field->size() > kSilenceFieldBytesMax) return Wrong("a matcher or author is too long");
  }
  if (silence.comment.size() > kSilenceCommentBytesMax) return Wrong("the comment is too long");
  if (silence.author.empty()) return Wrong("a silence needs an author");
  if (m == SilenceMatcher{}) {
    return Wrong("a silence needs a host, rack, type or job; '*' covers everything");
  }
  const bool of_nodes = silence.state != NodeState::kInService;
  if (of_nodes && ((m.host.empty() && m.rack.empty()) || !m.type.empty() || !m.job.empty())) {
    return Wrong("a node state is of hosts and racks; it knows no type and no job");
  }
  if (!silence.expires) {
    return of_nodes ? Status() : Wrong("a silence needs an end; only a node state may have none");
  }
  if (*silence.expires <= now) return Wrong("its end has passed already");
  if (*silence.expires <= silence.starts) return Wrong("it ends before it begins");
  if (silence.expires->since_epoch - silence.starts.since_epoch > kSilenceLongest) {
    return Wrong("a silence lasts 31 days at most");
  }
  return {};
}

}  // namespace

Result<Silence> SilenceBook::Add(Silence silence, Moment now) {
  silence.created = now.wall;
  silence.starts = std::max(silence.starts, now.wall);
  TRY(Check(silence, now.wall));
  silence.id = IdOf(silence);
  auto known = entries_.find(silence.id);
  if (known != entries_.end()) return known->second.silence;
  if (const Silence* lasting = LastingLike(silence)) return *lasting;
  if (entries_.size() >= kSilencesMax) {
    return Error{ErrorCode::kExhausted,
                 "there are " + std::to_string(kSilencesMax) + " silences; end one of them first"};
  }
  Insert(silence, now);
  return silence;
}

// One without an end that has begun and says all that this one would.
const Silence* SilenceBook::LastingLike(const Silence& silence) const {
  if (silence.expires) return nullptr;
  for (const auto& [id, entry] : entries_) {
    const Silence& known = entry.silence;
    if (!entry.ends && known.starts <= silence.starts && known.matcher == silence.matcher &&
        known.state == silence.state && known.author == silence.author &&
        known.comment == silence.comment) {
      return &known;
    }
  }
  return nullptr;
}

void SilenceBook::Insert(Silence silence, Moment now) {
  Entry entry;
  entry.starts = now.mono + (silence.starts.since_epoch - now.wall.since_epoch);
  if (silence.expires) {
    entry.ends = now.mono + (silence.expires->since_epoch - now.wall.since_epoch);
  }
  std::string id = silence.id;
  entry.silence = std::move(silence);
  entries_.insert_or_assign(std::move(id), std::move(entry));
}

Status SilenceBook::Expire(const std::string& id, Moment now) {
  auto it = entries_.find(id);
  if (it == entries_.end() || it->second.expired) {
    return Error{ErrorCode::kNotFound, "there is no running silence " + id};
  }
  Entry& entry = it->second;
  entry.silence.expires = now.wall;
  entry.ends = now.mono;
  entry.expired = true;
  return {};
}

bool SilenceBook::Restore(Silence silence, Moment now) {
  const bool over = silence.expires && *silence.expires <= now.wall;
  if (over || silence.id.empty() || entries_.size() >= kSilencesMax) return false;
  // A clock that was wrong then or is now makes no silence longer than one may be.
  if (silence.state == NodeState::kInService) {
    if (!silence.expires) return false;
    const WallTime latest = std::max(silence.starts, now.wall) +
                            std::chrono::duration_cast<std::chrono::milliseconds>(kSilenceLongest);
    silence.expires = std::min(*silence.expires, latest);
  }
  Insert(std::move(silence), now);
  return true;
}

SilenceBook::Changes SilenceBook::Advance(Instant now) {
  Changes changes;
  for (auto it = entries_.begin(); it != entries_.end();) {
    Entry& entry = it->second;
    if (entry.ends && *entry.ends <= now) {
      changes.ended.push_back(entry.silence);
      over_.push_back(std::move(entry.silence));
      it = entries_.erase(it);
      continue;
    }
    if (!entry.active && entry.starts <= now) {
      entry.active = true;
      changes.begun = true;
    }
    ++it;
  }
  if (over_.size() > kSilencesOverMax) {
    over_.erase(over_.begin(), over_.end() - static_cast<std::ptrdiff_t>(kSilencesOverMax));
  }
  return changes;
}

std::optional<Instant> SilenceBook::NextChange() const {
  std::optional<Instant> next;
  auto earlier = [&next](Instant at) { next = std::min(next.value_or(at), at); };
  for (const auto& [id, entry] : entries_) {
    if (!entry.active) earlier(entry.starts);
    if (entry.ends) earlier(*entry.ends);
  }
  return next;
}

const Silence* SilenceBook::Covering(const SilenceSubject& subject) const {
  for (const auto& [id, entry] : entries_) {
    if (!entry.active || entry.silence.state != NodeState::kInService) continue;
    if (Fits(entry.silence.matcher, subject)) return &entry.silence;
  }
  return nullptr;
}

const Silence* SilenceBook::OutOfService(const SilenceSubject::Place& place) const {
  for (const auto& [id, entry] : entries_) {
    if (!entry.active || entry.silence.state == NodeState::kInService) continue;
    if (FitsPlace(entry.silence.matcher, place)) return &entry.silence;
  }
  return nullptr;
}

const Silence* SilenceBook::Find(const std::string& id) const {
  auto it = entries_.find(id);
  if (it != entries_.end()) return &it->second.silence;
  auto over = std::find_if(over_.begin(), over_.end(),
                           [&](const Silence& silence) { return silence.id == id; });
  return over == over_.end() ? nullptr : &*over;
}

SilencePhase SilenceBook::PhaseOf(const Silence& silence) const {
  auto it = entries_.find(silence.id);
  if (it == entries_.end() || it->second.expired) return SilencePhase::kOver;
  return it->second.active ? SilencePhase::kActive : SilencePhase::kPending;
}

std::vector<Silence> SilenceBook::All() const {
  std::vector<Silence> all;
  for (const auto& [id, entry] : entries_) all.push_back(entry.silence);
  std::sort(all.begin(), all.end(),
            [](const Silence& a, const Silence& b) { return a.starts < b.starts; });
  all.insert(all.end(), over_.rbegin(), over_.rend());
  return all;
}

}  // namespace sentinel
