#include "speech/pcm.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <numbers>

namespace sentinel {
namespace {

static_assert(std::endian::native == std::endian::little, "WAV samples are written as they lie");

constexpr int kSilent = 200;  // of 32767: below it nothing is heard
constexpr size_t kHeaderBytes = 44;
constexpr uint16_t kFormatPcm = 1;

size_t Samples(Duration length) {
  return static_cast<size_t>(length.count() * kSampleRate / 1'000'000'000);
}

uint32_t Read32(std::string_view bytes, size_t at) {
  uint32_t value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}
uint16_t Read16(std::string_view bytes, size_t at) {
  uint16_t value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}
void Append32(std::string* out, uint32_t value) {
  out->append(reinterpret_cast<const char*>(&value), sizeof value);
}
void Append16(std::string* out, uint16_t value) {
  out->append(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace

Duration Length(const Pcm& pcm) {
  return Duration(static_cast<int64_t>(pcm.size()) * 1'000'000'000 / kSampleRate);
}

Pcm Silence(Duration length) { return Pcm(Samples(length), 0); }

Result<Pcm> ParseWav(std::string_view bytes) {
  if (bytes.size() < 12 || bytes.substr(0, 4) != "RIFF" || bytes.substr(8, 4) != "WAVE") {
    return Error{ErrorCode::kCorrupt, "not a WAV file"};
  }
  bool format_seen = false;
  size_t at = 12;
  while (at + 8 <= bytes.size()) {
    std::string_view id = bytes.substr(at, 4);
    size_t size = Read32(bytes, at + 4);
    at += 8;
    size = std::min(size, bytes.size() - at);
    if (id == "fmt ") {
      if (size < 16) return Error{ErrorCode::kCorrupt, "WAV format chunk is too short"};
      bool ours = Read16(bytes, at) == kFormatPcm && Read16(bytes, at + 2) == 1 &&
                  Read32(bytes, at + 4) == kSampleRate && Read16(bytes, at + 14) == 16;
      if (!ours) return Error{ErrorCode::kCorrupt, "WAV is not mono 16-bit PCM at 22050 Hz"};
      format_seen = true;
    } else if (id == "data") {
      if (!format_seen) return Error{ErrorCode::kCorrupt, "WAV has data before its format"};
      Pcm pcm(size / 2);
      std::memcpy(pcm.data(), bytes.data() + at, pcm.size() * 2);
      return pcm;
    }
    at += size + size % 2;
  }
  return Error{ErrorCode::kCorrupt, "WAV has no data"};
}

std::string WavHeader(size_t samples) {
  auto data = static_cast<uint32_t>(samples * 2);
  std::string out = "RIFF";
  Append32(&out, data + static_cast<uint32_t>(kHeaderBytes) - 8);
  out += "WAVEfmt ";
  Append32(&out, 16);
  Append16(&out, kFormatPcm);
  Append16(&out, 1);  // channels
  Append32(&out, kSampleRate);
  Append32(&out, kSampleRate * 2);  // bytes per second
  Append16(&out, 2);                // bytes per frame
  Append16(&out, 16);               // bits per sample
  out += "data";
  Append32(&out, data);
  return out;
}

std::string WriteWav(const Pcm& pcm) {
  std::string out = WavHeader(pcm.size());
  out += Bytes(pcm);
  return out;
}

std::string_view Bytes(const Pcm& pcm) {
  return {reinterpret_cast<const char*>(pcm.data()), pcm.size() * 2};
}

Pcm Trim(const Pcm& pcm, Duration keep) {
  auto loud = [](int16_t sample) { return std::abs(static_cast<int>(sample)) > kSilent; };
  auto first = std::find_if(pcm.begin(), pcm.end(), loud);
  if (first == pcm.end()) return {};
  auto last = std::find_if(pcm.rbegin(), pcm.rend(), loud).base();
  auto margin = static_cast<std::ptrdiff_t>(Samples(keep));
  first -= std::min(margin, first - pcm.begin());
  last += std::min(margin, pcm.end() - last);
  return Pcm(first, last);
}

void Normalise(Pcm* pcm, double below_full_db) {
  int peak = 0;
  for (int16_t sample : *pcm) peak = std::max(peak, std::abs(static_cast<int>(sample)));
  if (peak == 0) return;
  double gain = 32767 * std::pow(10, -below_full_db / 20) / peak;
  for (int16_t& sample : *pcm) {
    sample = static_cast<int16_t>(std::clamp(std::lround(sample * gain), -32767L, 32767L));
  }
}

Pcm Chime(double below_full_db) {
  Pcm pcm = Silence(std::chrono::milliseconds(340));
  struct Note {
    double hertz;
    double begins;  // seconds
  };
  for (Note note : {Note{784, 0}, Note{587, 0.14}}) {
    for (auto i = static_cast<size_t>(note.begins * kSampleRate); i < pcm.size(); i++) {
      double t = static_cast<double>(i) / kSampleRate - note.begins;
      double attack = std::min(1.0, t / 0.006);
      double sound = attack * std::exp(-t * 14) * std::sin(2 * std::numbers::pi * note.hertz * t);
      pcm[i] =
          static_cast<int16_t>(std::clamp(pcm[i] + std::lround(sound * 12000), -32767L, 32767L));
    }
  }
  Normalise(&pcm, below_full_db);
  return pcm;
}

}  // namespace sentinel
