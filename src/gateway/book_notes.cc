#include "gateway/book_notes.h"

#include <spdlog/spdlog.h>

#include <optional>
#include <utility>

#include "base/digest.h"
#include "base/time.h"
#include "gateway/log_value.h"
#include "web/flap_json.h"
#include "web/silence_json.h"

namespace sentinel {
namespace {

constexpr const char* kMuteNote = "mute/";        // + terminal: until when it is silent, RFC 3339
constexpr const char* kSilenceNote = "silence/";  // + id: docs/formats/silences.md
constexpr const char* kFlapNote = "flap/";        // + 16 hex digits of the hash of the source
constexpr const char* kDigestNote = "digest";     // quiet hours until then were told of, RFC 3339

std::string FlapNoteOf(const std::string& source) {
  return kFlapNote + Sha256Hex(source).substr(0, 16);
}

template <typename Take>
void ForEach(const BookNotes::Notes& notes, const std::string& prefix, Take take) {
  for (auto it = notes.lower_bound(prefix); it != notes.end() && it->first.starts_with(prefix);
       ++it) {
    take(it->first.substr(prefix.size()), it->second);
  }
}

}  // namespace

void BookNotes::RestoreMutes(const Notes& notes, Moment now) {
  ForEach(notes, kMuteNote, [&](const std::string& terminal, const std::string& until) {
    std::optional<WallTime> end = ParseRfc3339(until);
    if (end) book_.Mute(terminal, *end, now);
    mutes_kept_.insert(terminal);
  });
}

void BookNotes::RestoreDigest(const Notes& notes, Moment now) {
  auto told = notes.find(kDigestNote);
  book_.RestoreDigest(told == notes.end() ? std::nullopt : ParseRfc3339(told->second), now);
}

void BookNotes::KeepMutes() {
  for (const auto& [terminal, until] : book_.mutes()) {
    spdlog::info("event=mute terminal={} until={}", LogValue(terminal), FormatRfc3339(until.wall));
    store_.PutNote({kMuteNote + terminal, FormatRfc3339(until.wall)}, {});
    mutes_kept_.insert(terminal);
  }
  std::erase_if(mutes_kept_, [this](const std::string& terminal) {
    if (book_.mutes().contains(terminal)) return false;
    spdlog::info("event=mute_ended terminal={}", LogValue(terminal));
    store_.PutNote({kMuteNote + terminal, ""}, {});
    return true;
  });
}

void BookNotes::RestoreSilences(const Notes& notes, Moment now) {
  ForEach(notes, kSilenceNote, [&](const std::string& id, const std::string& text) {
    Result<Silence> silence = ParseSilence(text, now.wall);
    if (silence.ok() && silence->id == id) {
      book_.RestoreSilence(std::move(*silence), now);
    } else {
      spdlog::error("event=silence_unreadable note={} what=\"it is left out\"", LogValue(id));
    }
  });
}

void BookNotes::RestoreFlaps(const Notes& notes, Moment now) {
  ForEach(notes, kFlapNote, [&](const std::string& hash, const std::string& text) {
    Result<FlapMemory> memory = ParseFlapNote(text);
    if (memory.ok()) {
      book_.RestoreFlaps(*memory, now);
    } else {
      store_.PutNote({kFlapNote + hash, ""}, {});
    }
  });
}

void BookNotes::Keep(const IncidentBook::Actions& actions) {
  if (actions.mutes_changed) KeepMutes();
  for (const Silence& silence : actions.silences) {
    store_.PutNote(
        {kSilenceNote + silence.id, SilenceJson(silence, book_.silences().PhaseOf(silence))}, {});
  }
  for (const std::string& id : actions.silences_over) {
    spdlog::info("event=silence_over id={}", LogValue(id));
    store_.PutNote({kSilenceNote + id, ""}, {});
  }
  for (const FlapMemory& memory : actions.flaps) {
    store_.PutNote({FlapNoteOf(memory.source), WriteFlapNote(memory)}, {});
  }
  for (const std::string& source : actions.flaps_over) {
    store_.PutNote({FlapNoteOf(source), ""}, {});
  }
  if (actions.digest_told) {
    store_.PutNote({kDigestNote, FormatRfc3339(*actions.digest_told)}, {});
  }
  for (const AuditRecord& line : actions.audit) KeepAct(line);
}

void BookNotes::KeepAct(const AuditRecord& line) {
  spdlog::info("event=act action={} by={} from={} subject={} detail={}",
               AuditActionName(line.action), LogValue(line.actor.by), LogValue(line.actor.from),
               LogValue(line.subject), LogValue(line.detail));
  store_.AppendAudit(line, {});
}

}  // namespace sentinel
