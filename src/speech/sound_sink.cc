#include "speech/sound_sink.h"

#include <string.h>
#include <time.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <vector>

#include "base/clock.h"

namespace sentinel {
namespace {

namespace fs = std::filesystem;

class CardSink : public SoundSink {
 public:
  Status Begin(const std::string&) override {
    player_.Kill();
    return player_.Start(
        {"aplay", "-q", "-t", "raw", "-f", "S16_LE", "-c", "1", "-r", std::to_string(kSampleRate)});
  }

  Result<size_t> Write(const int16_t* samples, size_t count, Duration timeout) override {
    std::string_view bytes(reinterpret_cast<const char*>(samples), count * sizeof(int16_t));
    size_t taken = TRY(player_.WriteSome(bytes, timeout));
    // A socket may take half a sample; the other half must follow.
    while (taken % sizeof(int16_t) != 0)
      taken += TRY(player_.WriteSome(bytes.substr(taken, 1), timeout));
    return taken / sizeof(int16_t);
  }

  bool Drained(Duration timeout) override { return player_.Finish(timeout); }
  void Cut() override { player_.Kill(); }
  std::string name() const override { return "card"; }

 private:
  ChildWriter player_;
};

class WavSink : public SoundSink {
 public:
  WavSink(fs::path directory, bool paced) : directory_(std::move(directory)), paced_(paced) {}
  ~WavSink() override { Cut(); }

  Status Begin(const std::string& name) override {
    Cut();
    path_ = directory_ / (name + ".wav");
    file_ = fopen((path_.string() + ".part").c_str(), "wbe");
    if (file_ == nullptr) {
      return Error{ErrorCode::kIo, "cannot write " + path_.string() + ": " + strerror(errno)};
    }
    samples_ = 0;
    began_ = MonotonicNow();
    std::string header = WavHeader(0);
    fwrite(header.data(), 1, header.size(), file_);
    return {};
  }

  Result<size_t> Write(const int16_t* samples, size_t count, Duration) override {
    if (file_ == nullptr) return Error{ErrorCode::kUnavailable, "no file is open"};
    if (fwrite(samples, sizeof(int16_t), count, file_) != count || fflush(file_) != 0) {
      return Error{ErrorCode::kIo, "cannot write " + path_.string() + ": " + strerror(errno)};
    }
    samples_ += count;
    return count;
  }

  bool Drained(Duration timeout) override {
    Complete();
    if (!paced_) return true;
    Duration length(static_cast<int64_t>(samples_) * 1'000'000'000 / kSampleRate);
    Duration rest = began_ + length - MonotonicNow();
    if (rest <= Duration::zero()) return true;
    Duration pause = std::min(rest, timeout);
    timespec sleep{static_cast<time_t>(pause.count() / 1'000'000'000),
                   static_cast<long>(pause.count() % 1'000'000'000)};
    nanosleep(&sleep, nullptr);
    return rest <= timeout;
  }

  void Cut() override { Complete(); }
  std::string name() const override { return "wav"; }

 private:
  void Complete() {
    if (file_ == nullptr) return;
    std::string header = WavHeader(samples_);
    bool whole = fseek(file_, 0, SEEK_SET) == 0 &&
                 fwrite(header.data(), 1, header.size(), file_) == header.size();
    whole = fclose(file_) == 0 && whole;
    file_ = nullptr;
    std::error_code ignored;
    if (whole) {
      fs::rename(path_.string() + ".part", path_, ignored);
    } else {
      fs::remove(path_.string() + ".part", ignored);
    }
    RemoveOldest();
  }

  // Only files with our extension, in a directory that is ours by configuration.
  void RemoveOldest() const {
    std::error_code error;
    std::vector<std::pair<fs::file_time_type, fs::path>> files;
    for (const fs::directory_entry& entry : fs::directory_iterator(directory_, error)) {
      if (entry.path().extension() == ".wav") {
        files.emplace_back(entry.last_write_time(error), entry.path());
      }
    }
    if (files.size() <= kWavFilesMax) return;
    std::sort(files.begin(), files.end());
    for (size_t i = 0; i + kWavFilesMax < files.size(); i++) fs::remove(files[i].second, error);
  }

  fs::path directory_;
  bool paced_;
  fs::path path_;
  FILE* file_ = nullptr;
  size_t samples_ = 0;
  Instant began_;
};

}  // namespace

std::unique_ptr<SoundSink> MakeCardSink() { return std::make_unique<CardSink>(); }

Result<std::unique_ptr<SoundSink>> MakeWavSink(const std::string& directory, bool paced) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (!fs::is_directory(directory)) {
    return Error{ErrorCode::kIo, "cannot make the directory " + directory + ": " + error.message()};
  }
  return std::unique_ptr<SoundSink>(std::make_unique<WavSink>(directory, paced));
}

bool SoundCardPresent() {
  std::ifstream cards("/proc/asound/cards");
  std::string line;
  // " 0 [PCH            ]: HDA-Intel - …", or "--- no soundcards ---".
  while (std::getline(cards, line)) {
    if (line.find("]:") != std::string::npos) return true;
  }
  return false;
}

}  // namespace sentinel
