#include "correlate/host_facts.h"

#include <algorithm>
#include <cstdlib>

namespace sentinel {
namespace {

enum class About { kGpu, kPort, kHost };
enum class Effect { kHard, kSharpen, kNote, kVeto };

// A fact about a GPU holds for the rank on that card, one about a port for the ends of a frozen
// edge, one about a host for every rank on it. kHard and kSharpen pick one rank out of several
// suspects; kNote is only told; kVeto keeps the lamp dark. `code`: the number the detail starts
// with, 0 for any. The first line that fits decides.
struct FactRule {
  std::string_view kind;
  long code;
  About about;
  Effect effect;
  std::string_view zh;
  std::string_view en;
};

constexpr FactRule kRules[] = {
    {"xid", 79, About::kGpu, Effect::kHard, "驱动报告该卡已掉线（Xid 79）",
     "the driver reports that its GPU has fallen off the bus (Xid 79)"},
    {"gpu_lost", 0, About::kGpu, Effect::kHard, "该卡已从系统中消失", "its GPU is lost"},
    {"xid", 0, About::kGpu, Effect::kSharpen, "驱动报告该卡出错",
     "the driver reports an Xid of its GPU"},
    {"ecc_error", 0, About::kGpu, Effect::kSharpen, "该卡显存有不可纠正错误",
     "its GPU has uncorrectable memory errors"},
    {"nvlink_error", 0, About::kGpu, Effect::kSharpen, "该卡 NVLink 报错",
     "its GPU reports NVLink errors"},
    {"pcie_error", 0, About::kGpu, Effect::kSharpen, "该卡 PCIe 链路报错",
     "its PCIe link reports errors"},
    {"thermal", 0, About::kGpu, Effect::kNote, "该卡因温度降频", "its GPU is slowed by heat"},
    {"link_down", 0, About::kPort, Effect::kHard, "网口链路已断开", "its network link is down"},
    {"nic_error", 0, About::kPort, Effect::kSharpen, "网卡报错", "its network card reports errors"},
    {"optics_error", 0, About::kPort, Effect::kSharpen, "光模块误码上升",
     "bit errors rise on its optical module"},
    {"optics_hot", 0, About::kPort, Effect::kSharpen, "光模块过热",
     "its optical module is too hot"},
    {"pfc_storm", 0, About::kPort, Effect::kNote, "网口出现 PFC 暂停风暴",
     "a storm of pause frames on its port"},
    {"oom", 0, About::kHost, Effect::kNote, "主机内存耗尽，进程被杀", "its host ran out of memory"},
    {"suspend", 0, About::kHost, Effect::kVeto, "主机正在挂起或恢复",
     "its host is being suspended or resumed"},
};

const FactRule* RuleFor(const HostEvidence& evidence) {
  const long code = std::strtol(evidence.detail.c_str(), nullptr, 10);
  for (const FactRule& rule : kRules) {
    if (rule.kind == evidence.kind && (rule.code == 0 || rule.code == code)) return &rule;
  }
  return nullptr;
}

bool Fits(const FactRule& rule, const HostEvidence& evidence, const Place& place) {
  if (rule.about != About::kGpu) return true;
  if (!evidence.pci.empty() && !place.pci.empty()) return evidence.pci == place.pci;
  return evidence.pid >= 0 && evidence.pid == place.pid;
}

}  // namespace

void HostFacts::Take(const HostEvidence& evidence, Instant now) {
  if (evidence.kind == "link_up") {
    auto it = by_host_.find(evidence.host);
    if (it == by_host_.end()) return;
    std::erase_if(it->second, [&evidence](const Fact& fact) {
      return fact.evidence.kind == "link_down" && fact.evidence.nic == evidence.nic;
    });
    return;
  }
  if (RuleFor(evidence) == nullptr) return;
  if (by_host_.size() >= kFactHostsMax && !by_host_.count(evidence.host)) {
    std::erase_if(by_host_, [now](const auto& entry) {
      return entry.second.empty() || now - entry.second.back().since > kFactLifetime;
    });
    if (by_host_.size() >= kFactHostsMax) return;
  }
  std::deque<Fact>& facts = by_host_[evidence.host];
  facts.push_back({evidence, now - std::max(evidence.age, Duration{0})});
  if (facts.size() > kFactsPerHostMax) facts.pop_front();
}

HostFacts::Applied HostFacts::Apply(const Finding& finding,
                                    const std::function<const Place*(Rank)>& place,
                                    Instant now) const {
  Applied applied;
  std::vector<Rank> ranks;
  if (finding.rank) ranks.push_back(*finding.rank);
  for (Rank rank : finding.suspects) ranks.push_back(rank);
  if (ranks.size() > kSuspectsMax) return applied;
  std::vector<Rank> pointed;
  for (Rank rank : ranks) {
    const Place* where = place(rank);
    if (where == nullptr) continue;
    auto it = by_host_.find(where->host);
    if (it == by_host_.end()) continue;
    for (const Fact& fact : it->second) {
      if (now - fact.since > kFactLifetime) continue;
      const FactRule& rule = *RuleFor(fact.evidence);
      if (!Fits(rule, fact.evidence, *where)) continue;
      if (rule.about == About::kPort && finding.hang_class != HangClass::kNetwork) continue;
      const std::string who = std::to_string(rank);
      const std::string of =
          (fact.evidence.nic.empty() ? "" : " " + fact.evidence.nic) +
          (fact.evidence.detail.empty() ? "" : " (" + fact.evidence.detail + ")");
      applied.lines.push_back(
          {who + " 号进程所在主机 " + where->host + "：" + std::string(rule.zh) + of,
           "rank " + who + " on " + where->host + ": " + std::string(rule.en) + of});
      applied.hard |= rule.effect == Effect::kHard;
      applied.veto |= rule.effect == Effect::kVeto;
      if (rule.effect == Effect::kHard || rule.effect == Effect::kSharpen) {
        AddOnce(&pointed, rank);
        if (rule.about == About::kPort) applied.nic = fact.evidence.nic;
      }
    }
  }
  if (pointed.size() == 1) applied.rank = pointed.front();
  return applied;
}

}  // namespace sentinel
