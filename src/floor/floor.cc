#include "floor/floor.h"

#include <algorithm>

namespace sentinel {
namespace {

// Places named on the matrix at a time; the rest is on the page.
constexpr size_t kPlacesShownMax = 4;

}  // namespace

Floor::Floor(FloorOptions options, Instant now) : options_(options), started_(now) {}

Floor::Taken Floor::Accept(FloorMessage message, Instant now) {
  EndMute(now);
  Taken taken;
  taken.serial = next_serial_++;
  IncidentTable::Outcome outcome = incidents_.Admit(message, taken.serial);
  if (outcome.admission == IncidentTable::Admission::kDuplicate) {
    taken.disposition = Disposition::kDuplicate;
    return taken;
  }
  if (outcome.admission == IncidentTable::Admission::kSuperseded) {
    taken.disposition = Disposition::kSuperseded;
    return taken;
  }
  std::vector<const OpenIncident*> open = incidents_.Open();
  bool fire = !open.empty() && open.front()->message.severity == Severity::kP0;
  if (message.severity == Severity::kNormal) {
    // Green is for the last P0 that closes. While another burns, neither its light nor its sentence
    // would be true of the floor.
    if (fire) {
      speech_.Drop(message.incident_id);
      taken.disposition = Disposition::kSuperseded;
      return taken;
    }
    if (message.body.light_mode != LightMode::kOff) {
      green_ =
          Green{taken.serial, message.body.color, message.body.light_mode, now + options_.green};
    }
  }
  if (message.Opens()) green_.reset();
  if (message.Opens() && message.severity == Severity::kP0) speech_.DropRecoveries();
  taken.disposition = Voice(message, taken.serial, outcome.acknowledged, now);
  if (taken.disposition == Disposition::kQueued || !message.Opens()) return taken;
  // Without a voice of its own, what decides is whether its light is the one on show.
  bool shown = open.front()->message.severity == message.severity;
  if (!message.Sounds() && !shown) taken.disposition = Disposition::kQueued;
  return taken;
}

Disposition Floor::Voice(const FloorMessage& message, uint64_t serial, bool acknowledged,
                         Instant now) {
  if (!message.Sounds()) {
    speech_.Drop(message.incident_id);
    return Disposition::kPlaying;
  }
  Sentence sentence;
  sentence.incident_id = message.incident_id;
  sentence.serial = serial;
  sentence.text = message.body.text;
  sentence.severity = message.severity;
  sentence.loudness = message.severity == Severity::kP0 ? Loudness::kLoud : Loudness::kNormal;
  sentence.times =
      message.body.audio_mode == AudioMode::kCycle ? std::max(1, message.body.repeat_times) : 1;
  sentence.not_before = now;
  if (muted_until_) {
    bool new_fire = message.severity == Severity::kP0 && message.Opens() && !acknowledged;
    if (!new_fire || options_.strict_mute) {
      speech_.Drop(message.incident_id);
      return Disposition::kMuted;
    }
    if (mute_break_) {
      sentence.not_before = std::max(now, *mute_break_ + options_.mute_break_gap);
    }
    mute_break_ = sentence.not_before;
    sentence.times = 1;
    sentence.loudness = Loudness::kNormal;
  }
  speech_.Add(std::move(sentence));
  return speech_.Leads(serial, now) ? Disposition::kPlaying : Disposition::kQueued;
}

Floor::Press Floor::Pressed(Instant now) {
  EndMute(now);
  Press press;
  std::vector<const OpenIncident*> open = incidents_.Open();
  if (open.empty()) {
    lamp_.Blink(now);
    return press;
  }
  press.acknowledged = true;
  for (const OpenIncident* incident : open) {
    if (!incident->id.empty()) press.incidents.push_back(incident->id);
  }
  incidents_.Acknowledge();
  speech_.DropAll();
  muted_until_ = now + options_.mute;
  mute_break_.reset();
  return press;
}

void Floor::Mute(Instant until, Instant now) {
  EndMute(now);
  if (until <= now || (muted_until_ && *muted_until_ >= until)) return;
  if (!muted_until_) mute_break_.reset();
  muted_until_ = until;
}

void Floor::ShortenMute(Instant until) {
  if (muted_until_) muted_until_ = std::min(*muted_until_, until);
}

void Floor::Unmute() {
  muted_until_.reset();
  mute_break_.reset();
}

void Floor::EndMute(Instant now) {
  if (!muted_until_ || now < *muted_until_) return;
  muted_until_.reset();
  mute_break_.reset();
  // The gateway reminds us of what still burns. Where none is there to do it, we do.
  if (options_.gateway_expected && !Blind(now)) return;
  std::vector<const OpenIncident*> open = incidents_.Open();
  if (open.empty()) return;
  const OpenIncident& worst = *open.front();
  if (worst.message.body.text.empty()) return;
  Sentence reminder;
  reminder.incident_id = worst.id;
  reminder.serial = worst.serial;
  reminder.text = worst.message.body.text;
  reminder.severity = worst.message.severity;
  reminder.not_before = now;
  speech_.Add(std::move(reminder));
}

bool Floor::Blind(Instant now) const {
  return options_.gateway_expected && now - heard_.value_or(started_) > options_.blind_after;
}

bool Floor::Burns(Severity at_least, const std::string& except) const {
  for (const OpenIncident* incident : incidents_.Open()) {
    if (incident->message.severity >= at_least && incident->id != except) return true;
  }
  return false;
}

Look Floor::Choose(Instant now) const {
  Look look;
  std::vector<const OpenIncident*> open = incidents_.Open();
  if (!open.empty()) {
    const OpenIncident& worst = *open.front();
    look.kind = LookKind::kAlarm;
    look.color = worst.message.body.color;
    look.mode = worst.acknowledged ? LightMode::kSteady : worst.message.body.light_mode;
    size_t places = 0;
    for (const OpenIncident* incident : open) {
      // Every frame asks: what no matrix will show is not put into its letters.
      if (incident->message.severity != worst.message.severity || places == kPlacesShownMax) break;
      std::string place = MatrixText(incident->message.body.text);
      if (place.empty()) continue;
      ++places;
      if (!look.text.empty()) look.text += " + ";
      look.text += place;
    }
    return look;
  }
  if (green_ && now < green_->until) {
    look.kind = LookKind::kRecovered;
    look.color = green_->color;
    look.mode = green_->mode;
    return look;
  }
  if (Blind(now)) {
    look.kind = LookKind::kBlind;
    look.color = {255, 255, 255};
    look.mode = LightMode::kBreath;
    look.text = "NO GATEWAY";
  }
  return look;
}

Floor::Rendered Floor::Render(Instant now) {
  EndMute(now);
  lamp_.Show(Choose(now), now);
  Rendered rendered;
  rendered.frame = lamp_.Render(now);
  if (!lamp_.lit()) return rendered;
  const Look& look = lamp_.shown();
  if (look.kind == LookKind::kRecovered && green_) rendered.lit.push_back(green_->serial);
  if (look.kind == LookKind::kAlarm) {
    for (const OpenIncident* incident : incidents_.Open()) {
      if (incident->message.body.color == look.color) rendered.lit.push_back(incident->serial);
    }
  }
  return rendered;
}

std::vector<SpeechOrder> Floor::Speech(Instant now) {
  EndMute(now);
  return speech_.Due(now);
}

}  // namespace sentinel
