#include "speech/engine.h"

#include <vector>

#include "speech/child_process.h"

namespace sentinel {
namespace {

constexpr const char* kWordsPerMinute = "150";  // slower than its default: the hall is loud
constexpr Duration kEdgeSilence = std::chrono::milliseconds(15);

const char* EspeakVoice(Voice voice) {
  switch (voice) {
    case Voice::kMandarin:
      return "cmn-latn-pinyin";  // "cmn" of 1.51 reads hanzi as English letters
    case Voice::kEnglish:
      return "en-us";
  }
  return "";
}

}  // namespace

Result<Pcm> EspeakEngine::Synthesise(const SpeechRun& run) {
  std::vector<std::string> arguments = {
      program_, "--stdin", "--stdout",      "-b", "1",
      "-z",     "-s",      kWordsPerMinute, "-v", EspeakVoice(run.voice)};
  std::string wav = TRY(RunChild(arguments, run.text + "\n", {}));
  Pcm pcm = TRY(ParseWav(wav));
  pcm = Trim(pcm, kEdgeSilence);
  Normalise(&pcm, 0);
  return pcm;
}

Result<Pcm> CachingEngine::Synthesise(const SpeechRun& run) {
  Key key(run.voice, run.text);
  auto place = places_.find(key);
  if (place != places_.end()) {
    entries_.splice(entries_.begin(), entries_, place->second);
    return entries_.front().pcm;
  }
  Pcm pcm = TRY(inner_->Synthesise(run));
  size_t bytes = pcm.size() * sizeof(int16_t);
  if (bytes > bytes_max_) return pcm;
  bytes_ += bytes;
  entries_.push_front({key, pcm});
  places_[key] = entries_.begin();
  while (bytes_ > bytes_max_) {
    bytes_ -= entries_.back().pcm.size() * sizeof(int16_t);
    places_.erase(entries_.back().key);
    entries_.pop_back();
  }
  return pcm;
}

}  // namespace sentinel
