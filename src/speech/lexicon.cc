#include "speech/lexicon.h"

#include <algorithm>
#include <string>

namespace sentinel {
namespace {

struct Entry {
  std::string_view word;  // lower case
  std::string_view english;
  std::string_view mandarin;  // empty: the English words, by the English voice
};

constexpr Entry kEntries[] = {
    {"gpu", "G P U", ""},
    {"gpus", "G P Us", ""},
    {"cpu", "C P U", ""},
    {"xid", "X I D", ""},
    {"sxid", "S X I D", ""},
    {"nccl", "N C C L", ""},
    {"nic", "N I C", ""},
    {"nvlink", "N V link", ""},
    {"nvswitch", "N V switch", ""},
    {"nvml", "N V M L", ""},
    {"ecc", "E C C", ""},
    {"pcie", "P C I E", ""},
    {"pci", "P C I", ""},
    {"pfc", "P F C", ""},
    {"crc", "C R C", ""},
    {"fec", "F E C", ""},
    {"rdma", "R D M A", ""},
    {"roce", "rocky", ""},
    {"ib", "I B", ""},
    {"infiniband", "infini band", ""},
    {"mlx", "M L X", ""},
    {"eth", "E T H", ""},
    {"allreduce", "all reduce", ""},
    {"allgather", "all gather", ""},
    {"reducescatter", "reduce scatter", ""},
    {"slurm", "slurm", ""},
    {"p0", "priority zero", "一级告警"},
    {"p1", "priority one", "二级告警"},
};

}  // namespace

std::optional<SpeechRun> LexiconEntry(std::string_view word, Voice language) {
  std::string lower(word);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  for (const Entry& entry : kEntries) {
    if (entry.word != lower) continue;
    if (language == Voice::kMandarin && !entry.mandarin.empty()) {
      return SpeechRun{Voice::kMandarin, std::string(entry.mandarin)};
    }
    return SpeechRun{Voice::kEnglish, std::string(entry.english)};
  }
  return std::nullopt;
}

bool Pronounceable(std::string_view word) {
  if (word.size() < 3) return false;
  auto vowel = [](char c) {
    return std::string_view("aeiouyAEIOUY").find(c) != std::string_view::npos;
  };
  bool all_capitals =
      std::all_of(word.begin(), word.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
  if (all_capitals && word.size() <= 4) return false;  // an abbreviation
  return std::any_of(word.begin(), word.end(), vowel) &&
         !std::all_of(word.begin(), word.end(), vowel);
}

}  // namespace sentinel
