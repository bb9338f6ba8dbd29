#include "speech/speaker.h"

#include <algorithm>

#include "base/clock.h"

namespace sentinel {
namespace {

// How long a cancelled sentence may go on, and a dead player be waited for.
constexpr Duration kSlice = std::chrono::milliseconds(40);
constexpr double kChimeBelowSpeechDb = 6;

Duration PauseAfter(const SpeechRun& run) {
  auto ends = [&](std::string_view end) { return std::string_view(run.text).ends_with(end); };
  if (ends("。") || ends(".")) return std::chrono::milliseconds(320);
  if (ends("，") || ends(",")) return std::chrono::milliseconds(180);
  return std::chrono::milliseconds(50);
}

}  // namespace

Speaker::Speaker(std::unique_ptr<SpeechEngine> engine, std::unique_ptr<SoundSink> sink,
                 std::vector<SpeechRun> warm_up, std::function<void(SpeechReport)> report)
    : engine_(std::move(engine)),
      sink_(std::move(sink)),
      sink_name_(sink_->name()),
      warm_up_(warm_up.begin(), warm_up.end()),
      report_(std::move(report)),
      worker_([this] { Run(); }) {}

Speaker::~Speaker() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  worker_.join();
}

void Speaker::Say(Utterance utterance) {
  std::optional<uint64_t> unheard;
  {
    std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(utterance));
    if (waiting_.size() > kUtterancesWaitingMax) {
      unheard = waiting_.front().id;
      waiting_.pop_front();
    }
  }
  wake_.notify_all();
  if (unheard) Report(SpeechReport::Kind::kEnded, *unheard, "too many sentences were waiting");
}

void Speaker::Hush(uint64_t id) {
  bool was_waiting = false;
  {
    std::lock_guard lock(mutex_);
    if (current_ == id) cancel_ = true;
    was_waiting = std::erase_if(waiting_, [&](const Utterance& u) { return u.id == id; }) > 0;
  }
  wake_.notify_all();
  if (was_waiting) Report(SpeechReport::Kind::kEnded, id);
}

void Speaker::Run() {
  while (true) {
    Utterance next;
    {
      std::unique_lock lock(mutex_);
      if (warm_up_.empty()) wake_.wait(lock, [&] { return stop_ || !waiting_.empty(); });
      if (stop_) return;
      if (!waiting_.empty()) {
        next = std::move(waiting_.front());
        waiting_.pop_front();
        current_ = next.id;
        cancel_ = false;
      }
    }
    if (next.id == 0) {
      WarmUp();
      continue;
    }
    Perform(next);
    std::lock_guard lock(mutex_);
    current_ = 0;
  }
}

void Speaker::WarmUp() {
  Result<Pcm> made = engine_->Synthesise(warm_up_.front());
  warm_up_.pop_front();
  if (!warm_reported_) {
    warm_reported_ = true;
    Report(SpeechReport::Kind::kWarm, 0, made.ok() ? "" : made.error().message);
  }
  // An engine that is not there is not asked for the rest: it would fail at every start.
  if (!made.ok()) warm_up_.clear();
}

void Speaker::Perform(const Utterance& utterance) {
  Status begun = sink_->Begin(utterance.name);
  if (!begun.ok()) {
    Report(SpeechReport::Kind::kEnded, utterance.id, begun.error().message);
    return;
  }
  auto whole = std::make_shared<Pcm>();
  std::string error;
  bool began = false;
  bool going = true;
  auto play = [&](const Pcm& pcm) {
    if (!going) return;
    whole->insert(whole->end(), pcm.begin(), pcm.end());
    going = Play(pcm, utterance, &began, &error);
  };
  play(Chime(utterance.below_full_db + kChimeBelowSpeechDb));
  for (const SpeechRun& run : utterance.runs) {
    if (!going || Cancelled()) break;
    Result<Pcm> made = engine_->Synthesise(run);
    if (!made.ok()) {
      error = made.error().message;  // the other runs may still name the place
      continue;
    }
    Pcm pcm = std::move(made).value();
    Normalise(&pcm, utterance.below_full_db);
    Pcm pause = Silence(PauseAfter(run));
    pcm.insert(pcm.end(), pause.begin(), pause.end());
    play(pcm);
  }
  if (going && !Cancelled()) {
    Report(SpeechReport::Kind::kMade, utterance.id, "", whole);
    while (!Cancelled() && !sink_->Drained(kSlice)) {
    }
  }
  sink_->Cut();
  Report(SpeechReport::Kind::kEnded, utterance.id, error);
}

bool Speaker::Play(const Pcm& pcm, const Utterance& utterance, bool* began, std::string* error) {
  size_t at = 0;
  while (at < pcm.size()) {
    if (Cancelled()) return false;
    Result<size_t> taken = sink_->Write(pcm.data() + at, pcm.size() - at, kSlice);
    if (!taken.ok()) {
      *error = taken.error().message;
      return false;
    }
    if (*taken > 0 && !*began) {
      *began = true;
      Report(SpeechReport::Kind::kBegan, utterance.id);
    }
    at += *taken;
  }
  return true;
}

bool Speaker::Cancelled() {
  std::lock_guard lock(mutex_);
  return cancel_ || stop_;
}

void Speaker::Report(SpeechReport::Kind kind, uint64_t id, std::string error,
                     std::shared_ptr<const Pcm> sound) {
  SpeechReport report;
  report.kind = kind;
  report.id = id;
  report.at = MonotonicNow();
  report.error = std::move(error);
  report.sound = std::move(sound);
  report_(std::move(report));
}

}  // namespace sentinel
