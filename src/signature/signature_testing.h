// What the tests of signatures sign, and with which keys.
#pragma once

#include <string>

#include "signature/key_ring.h"
#include "signature/nonce_memory.h"

namespace sentinel {

// The worked example of docs/formats/signature.md.
inline constexpr char kExampleKeyId[] = "gpu_cluster_sentinel";
inline constexpr char kExampleSecret[] = "AI#TrainSecureHMACSecretKey2026";
inline constexpr char kExampleBody[] =
    R"({"text":"训练集群紧急预警，机架 A03 节点 gpu-worker-08 触发通信死锁，全环算力挂起",)"
    R"("color":"#FF0000","light_mode":"flash","audio_mode":"cycle","repeat_times":3})";

inline const KeyPair kHallKey{"hall", "0123456789abcdef"};

inline std::string NonceOf(int number) {
  const std::string digits = std::to_string(number);
  return std::string(kNonceChars - digits.size(), 'n') + digits;
}

}  // namespace sentinel
