// Sound as numbers: 22 050 Hz, mono, 16 bit, which is what espeak-ng makes. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace sentinel {

constexpr int kSampleRate = 22050;
using Pcm = std::vector<int16_t>;

Duration Length(const Pcm& pcm);
Pcm Silence(Duration length);

// The samples of a WAV file. A data size beyond the bytes that are there means "to the end": a
// program that writes WAV into a pipe cannot know it. kCorrupt for anything but mono 16-bit PCM at
// our rate.
Result<Pcm> ParseWav(std::string_view bytes);

// The header of a WAV file of that many samples, and a whole file.
std::string WavHeader(size_t samples);
std::string WriteWav(const Pcm& pcm);
std::string_view Bytes(const Pcm& pcm);  // little-endian, as they lie in memory

// Cuts silence at both ends down to `keep`.
Pcm Trim(const Pcm& pcm, Duration keep);

// Brings the peak to full scale less `below_full_db` decibels (>= 0). Silence stays silence.
void Normalise(Pcm* pcm, double below_full_db);

// Two soft falling notes that say "listen"; not a siren. A third of a second, ready at once, so it
// also covers the time the first words take to be made.
Pcm Chime(double below_full_db);

}  // namespace sentinel
