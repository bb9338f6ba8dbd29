#include "terminal/announcer.h"

#include <spdlog/spdlog.h>

#include <utility>

#include <boost/asio/post.hpp>

#include "base/clock.h"

namespace sentinel {
namespace {

// The contract's sentences; their fixed runs are made before the first alarm needs them.
constexpr const char* kWarmUpSentences[] = {
    "训练集群紧急预警，机架 A03 节点 gpu-worker-08 触发通信死锁，全环算力挂起",
    "训练集群已恢复正常",
    "硬件致命故障，机架 A03 节点 gpu-worker-08 第 3 号卡发生驱动级报错",
    "链路降级预警，机架 A03 节点 gpu-worker-08 第 3 号卡 NVLink 降速，请排查互联链路",
    "光链路预警，机架 A03 节点 gpu-worker-08 光模块误码告警，请排查光纤跳线",
    "算力水准预警，机架 A03 节点 gpu-worker-08 算力利用率突降至百分之 4",
    "设备告警，机架",
};

std::vector<SpeechRun> WarmUp() {
  std::vector<SpeechRun> runs;
  for (const char* sentence : kWarmUpSentences) {
    for (SpeechRun& run : SplitRuns(sentence)) runs.push_back(std::move(run));
  }
  return runs;
}

}  // namespace

Announcer::Announcer(boost::asio::io_context& io, AnnouncerOptions options,
                     std::unique_ptr<SpeechEngine> engine, std::unique_ptr<SoundSink> sink,
                     std::function<void(const SpeechEvent&)> listener)
    : io_(io), options_(std::move(options)), listener_(std::move(listener)) {
  if (!sink) return;
  speaker_ = std::make_unique<Speaker>(
      std::move(engine), std::move(sink), WarmUp(), [this, alive = alive_](SpeechReport report) {
        boost::asio::post(io_, [this, alive, report = std::move(report)] {
          if (*alive) Reported(report);
        });
      });
}

Announcer::~Announcer() { *alive_ = false; }

void Announcer::Perform(const SpeechOrder& order) {
  if (const auto* hush = std::get_if<Hush>(&order)) {
    if (speaker_) speaker_->Hush(hush->id);
    return;
  }
  const Say& say = std::get<Say>(order);
  Utterance utterance;
  utterance.id = say.id;
  utterance.name = options_.sound_prefix + "-" + std::to_string(say.id);
  utterance.runs = SplitRuns(say.text);
  utterance.below_full_db =
      say.loudness == Loudness::kLoud ? options_.loud_below_full_db : options_.normal_below_full_db;
  running_[say.id] = {say, utterance.name, SpokenText(utterance.runs)};
  if (speaker_) {
    speaker_->Say(std::move(utterance));
    return;
  }
  SpeechReport silent;
  silent.id = say.id;
  silent.at = MonotonicNow();
  boost::asio::post(io_, [this, alive = alive_, silent] {
    if (*alive) Reported(silent);
  });
}

std::shared_ptr<const Pcm> Announcer::Sound(const std::string& name) const {
  for (const auto& [known, sound] : sounds_) {
    if (known == name) return sound;
  }
  return nullptr;
}

void Announcer::Reported(const SpeechReport& report) {
  if (report.kind == SpeechReport::Kind::kWarm || report.kind == SpeechReport::Kind::kEnded) {
    bool news = report.error != trouble_ && !report.error.empty();
    if (news) spdlog::warn("event=speech_trouble why=\"{}\"", report.error);
    trouble_ = report.error;
  }
  auto found = running_.find(report.id);
  if (found == running_.end()) return;
  switch (report.kind) {
    case SpeechReport::Kind::kWarm:
      break;
    case SpeechReport::Kind::kBegan:
      Tell(SpeechEvent::Kind::kBegan, found->second, report.at);
      break;
    case SpeechReport::Kind::kMade:
      sounds_.emplace_back(found->second.sound, report.sound);
      if (sounds_.size() > kSoundsKept) sounds_.pop_front();
      Tell(SpeechEvent::Kind::kReady, found->second, report.at);
      break;
    case SpeechReport::Kind::kEnded: {
      Running ended = std::move(found->second);
      running_.erase(found);
      Tell(SpeechEvent::Kind::kEnded, ended, report.at);
      break;
    }
  }
}

void Announcer::Tell(SpeechEvent::Kind kind, const Running& running, Instant at) {
  SpeechEvent event{kind, running.say, running.sound, running.spoken, at};
  if (kind == SpeechEvent::Kind::kBegan) saying_ = event;
  if (kind == SpeechEvent::Kind::kEnded && saying_ && saying_->say.id == running.say.id) {
    saying_.reset();
  }
  listener_(event);
}

}  // namespace sentinel
