#include "correlate/evidence_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "correlate/hold_words.h"

namespace sentinel {
namespace {

class Words {
 public:
  Words(const Scene& scene, const Judgement& judgement) : scene_(scene), j_(judgement) {
    // People look for a rank of the job. Where it is not known of all, all go by the communicator.
    jobs_ = std::all_of(scene.seats().begin(), scene.seats().end(),
                        [](const Scene::Seat& seat) { return seat.job_rank >= 0; });
  }

  std::vector<EvidenceLine> All() {
    Culprit();
    for (const EvidenceLine& line : j_.facts.lines) Add(line.zh, line.en);
    Process();
    AlsoDown();
    Victims();
    Silence();
    WhyWaiting();
    if (lines_.size() > kEvidenceLinesMax) lines_.resize(kEvidenceLinesMax);
    return std::move(lines_);
  }

 private:
  void Add(std::string zh, std::string en) { lines_.push_back({std::move(zh), std::move(en)}); }

  std::string OpZh() const { return Op("操作"); }
  std::string OpEn() const { return Op("operation"); }
  std::string Op(std::string_view unknown) const {
    if (!j_.finding.op) return std::string(unknown);
    return fmt::format("{} #{}", FuncName(j_.finding.op->func), j_.finding.op->index);
  }

  // As it is called in words.
  int32_t Of(Rank rank) const {
    const Scene::Seat* seat = jobs_ ? scene_.Find(rank) : nullptr;
    return seat == nullptr ? rank : seat->job_rank;
  }

  std::string List(const std::vector<Rank>& ranks, std::string_view separator) const {
    constexpr size_t kNamedMax = 8;
    std::string text;
    for (size_t i = 0; i < ranks.size() && i < kNamedMax; ++i) {
      text += fmt::format("{}{}", i == 0 ? "" : separator, Of(ranks[i]));
    }
    if (ranks.size() > kNamedMax) text += " …";
    return text;
  }

  void Culprit() {
    if (j_.disagreement) return Disagree();
    if (j_.elsewhere.all) return Elsewhere();
    if (j_.elsewhere.circle && j_.finding.op && !IsP2p(j_.finding.op->func)) return Circle();
    const HangClass seen = j_.signature.value_or(j_.hang_class);
    switch (seen) {
      case HangClass::kNotEntered:
        return NotEntered();
      case HangClass::kGpuNotStarted:
        return Each("{} 号进程已提交 {}，但其 GPU 内核未启动，收到的数据无人取用",
                    "rank {} has enqueued {} but its GPU kernel has not started");
      case HangClass::kGpuStuck:
        return GpuStuck();
      case HangClass::kProxyStuck:
        return Each("{} 号进程已提交 {}，但其 NCCL 代理线程没有推进",
                    "rank {} has enqueued {} but its NCCL proxy thread does not take it up");
      case HangClass::kPcie:
        return Each("{} 号进程的数据已到网卡，写入 GPU 的刷新未完成（{}）",
                    "the data of rank {} has arrived but its flush to the GPU over PCIe does not "
                    "complete ({})");
      case HangClass::kNetwork:
        return Network();
      case HangClass::kMismatch:
        return Add(
            fmt::format("{} 号进程互相等待成环，发送与接收的顺序不一致",
                        List(j_.finding.suspects, "、")),
            fmt::format("ranks {} wait for one another in a circle: their sends and receives "
                        "do not pair",
                        List(j_.finding.suspects, ", ")));
      case HangClass::kUnknown:
      case HangClass::kWaiting:
      case HangClass::kSlow:
      case HangClass::kProcessDead:
      case HangClass::kProcessStopped:
        return Unknown();
    }
  }

  void Each(std::string_view zh, std::string_view en) {
    if (j_.finding.rank) {
      Add(fmt::format(fmt::runtime(zh), Of(*j_.finding.rank), OpZh()),
          fmt::format(fmt::runtime(en), Of(*j_.finding.rank), OpEn()));
    } else {
      Add(fmt::format(fmt::runtime(zh), List(j_.finding.suspects, "、"), OpZh()),
          fmt::format(fmt::runtime(en), List(j_.finding.suspects, ", "), OpEn()));
    }
  }

  void Disagree() {
    const Disagreement& d = *j_.disagreement;
    const auto call = [](const Operation& op) {
      return fmt::format("{}({} × {}, root {})", FuncName(op.func), op.count,
                         DataTypeName(op.datatype), op.root);
    };
    Add(fmt::format("第 {} 次调用不一致：{} 号进程调用 {}，{} 号进程调用 {}", d.call_index,
                    List(d.minority_ranks, "、"), call(d.minority), List(d.majority_ranks, "、"),
                    call(d.majority)),
        fmt::format("call {} differs: rank {} asked for {}, rank {} for {}", d.call_index,
                    List(d.minority_ranks, ", "), call(d.minority), List(d.majority_ranks, ", "),
                    call(d.majority)));
    if (j_.before_hang) {
      Add("由调用顺序在通信停住之前发现：任务仍在运行，数据可能已损坏",
          "found by call order before any hang: the job still runs and its data may be corrupt");
    }
  }

  void Elsewhere() {
    if (!j_.elsewhere.who || !j_.elsewhere.where) {
      if (j_.elsewhere.comes) return;
      return Add(fmt::format("{} 缺少的进程都在别的通信域中等待", OpZh()),
                 fmt::format("whoever {} lacks waits in another communicator", OpEn()));
    }
    const std::string where = j_.elsewhere.where_name.empty()
                                  ? fmt::format("{:#018x}", j_.elsewhere.where->comm_id)
                                  : j_.elsewhere.where_name;
    Add(fmt::format("{} 号进程没有到达 {}：它自己在通信域 {} 中等待", Of(*j_.elsewhere.who), OpZh(),
                    where),
        fmt::format("rank {} has not come to {}: it waits in communicator {} itself",
                    Of(*j_.elsewhere.who), OpEn(), where));
  }

  void Circle() {
    const std::vector<Rank> named =
        j_.finding.rank ? std::vector<Rank>{*j_.finding.rank} : j_.finding.suspects;
    Add(fmt::format(
            "{} 号进程没有到达 {}，它们与等待它们的进程跨通信域互相等待成环：调用顺序不一致",
            List(named, "、"), OpZh()),
        fmt::format("ranks {} have not come to {}: across communicators they and those who wait "
                    "for them wait in a circle, so their orders of calls do not agree",
                    List(named, ", "), OpEn()));
  }

  void NotEntered() {
    Each("{} 号进程没有进入 {}", "rank {} has not entered {}");
    if (!j_.finding.rank) return;
    const Digest* d = scene_.DigestOf(*j_.finding.rank);
    if (d == nullptr) return;
    if (d->phase == Phase::kCalling) {
      Add(fmt::format("{} 号进程停在一次尚未提交任何操作的 NCCL 调用中", Of(*j_.finding.rank)),
          fmt::format("rank {} is inside an NCCL call that has enqueued nothing",
                      Of(*j_.finding.rank)));
    } else if (d->op && d->phase == Phase::kBetween) {
      Add(fmt::format("{} 号进程最后完成的是 {} #{}", Of(*j_.finding.rank), FuncName(d->op->func),
                      d->op->index),
          fmt::format("the last operation rank {} finished is {} #{}", Of(*j_.finding.rank),
                      FuncName(d->op->func), d->op->index));
    }
  }

  void GpuStuck() {
    if (!j_.finding.rank) {
      return Each("{} 号进程的 GPU 内核均未完成 {}，肇事者是其中之一",
                  "the kernels of ranks {} have not completed {}: one of them");
    }
    const Digest* d = scene_.DigestOf(*j_.finding.rank);
    const int32_t rank = Of(*j_.finding.rank);
    uint32_t slices = 0;
    int channels = 0;
    if (d != nullptr) {
      for (const EdgeProgress& e : d->edges) {
        if (e.done >= e.steps || e.state != StepState::kRecvGpuWait) continue;
        slices = std::max(slices, std::max(e.in_state, 1u));
        ++channels;
      }
    }
    if (channels > 0) {
      Add(fmt::format("{} 号进程在 {} 个通道上各收到 {} 个数据片，其 GPU 不取用（{}）", rank,
                      channels, slices, OpZh()),
          fmt::format(
              "rank {} has received {} slices on {} channel{} that its GPU does not consume "
              "({})",
              rank, slices, channels, channels == 1 ? "" : "s", OpEn()));
    } else {
      Add(fmt::format("{} 号进程的 GPU 不再推进 {}", rank, OpZh()),
          fmt::format("the GPU of rank {} does not go on with {}", rank, OpEn()));
    }
    if (d != nullptr && d->kernels.watched && d->kernels.started > 0) {
      Add(fmt::format("{} 号进程的内核已启动、未结束", rank),
          fmt::format("the kernel of rank {} has started and not ended", rank));
    }
  }

  void Network() {
    for (const Edge& edge : j_.finding.edges) {
      const Digest* to = scene_.DigestOf(edge.to);
      const Digest* from = scene_.DigestOf(edge.from);
      uint32_t received = 0;
      uint32_t sent = 0;
      bool waits = false;
      if (to != nullptr) {
        for (const EdgeProgress& e : to->edges) {
          if (e.direction == Direction::kRecv && e.peer == edge.from && e.done < e.steps) {
            received = e.done;
            sent = e.steps;  // all of it, unless the sender has a step open
            if (from == nullptr) continue;
            const EdgeProgress* s = OpenEdge(*from, e.channel, Direction::kSend, edge.to);
            if (s != nullptr) {
              sent = s->done;
              waits = s->state == StepState::kSendWait || s->state == StepState::kSendPeerWait;
            }
            break;
          }
        }
      }
      const int32_t sender = Of(edge.from);
      const int32_t receiver = Of(edge.to);
      if (waits) {
        Add(fmt::format("{} 号到 {} 号的网络传输停住：接收方收到 {} 片，发送方的发送未被确认",
                        sender, receiver, received),
            fmt::format("the wire from rank {} to rank {} stands still: {} slices have arrived and "
                        "the sends of rank {} do not complete",
                        sender, receiver, received, sender));
      } else {
        Add(fmt::format("{} 号到 {} 号的网络传输停住：已发出 {} 片，收到 {} 片", sender, receiver,
                        sent, received),
            fmt::format("the wire from rank {} to rank {} stands still: {} slices were sent and {} "
                        "have arrived",
                        sender, receiver, sent, received));
      }
      if (lines_.size() >= 3) break;
    }
    if (j_.finding.rank) {
      Add(fmt::format("停住的链路都连着 {} 号进程", Of(*j_.finding.rank)),
          fmt::format("rank {} is the end that the frozen edges share", Of(*j_.finding.rank)));
    } else if (j_.finding.suspects.size() == 2) {
      Add(fmt::format("故障在 {} 号、{} 号之一或其间的链路", Of(j_.finding.suspects[0]),
                      Of(j_.finding.suspects[1])),
          fmt::format("the fault is at rank {}, at rank {}, or between them",
                      Of(j_.finding.suspects[0]), Of(j_.finding.suspects[1])));
    }
  }

  void Unknown() {
    if (!scene_.op) {
      return Add("没有进程有未完成的操作：停在 NCCL 调用内部",
                 "nobody has an operation open: the stall is inside an NCCL call");
    }
    if (!j_.finding.suspects.empty()) {
      return Add(
          fmt::format("{} 停住，肇事者是 {} 号之一", OpZh(), List(j_.finding.suspects, "、")),
          fmt::format("{} stands still; the culprit is one of ranks {}", OpEn(),
                      List(j_.finding.suspects, ", ")));
    }
    Add(fmt::format("{} 停住，现有数据不足以定位", OpZh()),
        fmt::format("{} stands still; what is known does not tell where", OpEn()));
  }

  void Process() {
    if (!j_.finding.rank) return;
    const Digest* d = scene_.DigestOf(*j_.finding.rank);
    if (d == nullptr) return;
    const int32_t rank = Of(*j_.finding.rank);
    const Vitals& v = d->vitals;
    if (IsDead(v)) {
      Add(fmt::format("{} 号进程已死亡，其余进程仍在等待", rank),
          fmt::format("the process of rank {} is dead and others still wait", rank));
    } else if (IsTraced(v)) {
      Add(fmt::format("{} 号进程被调试器控制，不亮灯", rank),
          fmt::format("a debugger holds rank {}: no lamp", rank));
    } else if (v.frozen) {
      Add(fmt::format("{} 号进程的 cgroup 被冻结", rank),
          fmt::format("the cgroup of rank {} is frozen", rank));
    } else if (IsStopped(v)) {
      Add(fmt::format("{} 号进程处于停止状态 (T)", rank),
          fmt::format("the process of rank {} is stopped (state T)", rank));
    } else if (v.state == ProcessState::kDiskWait) {
      Add(fmt::format("{} 号进程停在内核 I/O 中 (D)", rank),
          fmt::format("rank {} waits for I/O in the kernel (state D)", rank));
    } else if (scene_.StandingOf(*j_.finding.rank) == Standing::kNotEntered && v.idle) {
      if (*v.idle) {
        Add(fmt::format("{} 号进程活着，但其进程树不用 CPU、没有 I/O", rank),
            fmt::format("rank {} is alive and its process tree neither computes nor reads", rank));
      } else {
        Add(fmt::format("{} 号进程仍在工作（CPU 或 I/O）", rank),
            fmt::format("rank {} is at work (CPU or I/O)", rank));
      }
    }
  }

  void AlsoDown() {
    if (j_.also_down.empty()) return;
    Add(fmt::format("{} 号进程也已死亡或停止", List(j_.also_down, "、")),
        fmt::format("ranks {} are dead or stopped too", List(j_.also_down, ", ")));
  }

  void Victims() {
    size_t victims = 0;
    for (const Scene::Seat& seat : scene_.seats()) {
      const Standing standing = scene_.StandingOf(seat);
      if (standing != Standing::kInside && standing != Standing::kEnqueued) continue;
      if (j_.finding.rank == seat.rank) continue;
      if (std::find(j_.finding.suspects.begin(), j_.finding.suspects.end(), seat.rank) !=
          j_.finding.suspects.end()) {
        continue;
      }
      ++victims;
    }
    if (victims == 0 || (!j_.finding.rank && j_.finding.suspects.empty())) return;
    Add(fmt::format("其余 {} 个进程只是在等待", victims),
        victims == 1 ? std::string("the other rank only waits")
                     : fmt::format("the other {} ranks only wait", victims));
  }

  void Silence() {
    const std::vector<Rank>& missing = j_.finding.missing;
    if (missing.empty()) return;
    Add(fmt::format("{} 号进程所在节点没有应答", List(missing, "、")),
        fmt::format("nothing is heard from the nodes of ranks {}", List(missing, ", ")));
  }

  void WhyWaiting() {
    if (const std::optional<EvidenceLine> words = WordsOf(j_.hold))
      return Add(words->zh, words->en);
    if (j_.hang_class != HangClass::kNotEntered || j_.history.operations == 0) return;
    Add(fmt::format("本任务 {} 次操作的历史里从未等待这么久（p99.9 为 {} 毫秒）",
                    j_.history.operations, ToMillis(j_.history.gap_p999)),
        fmt::format("in {} operations this job has not waited so long (p99.9 {} ms)",
                    j_.history.operations, ToMillis(j_.history.gap_p999)));
  }

  const Scene& scene_;
  const Judgement& j_;
  bool jobs_ = false;  // ranks are said as the job's
  std::vector<EvidenceLine> lines_;
};

}  // namespace

std::vector<EvidenceLine> Explain(const Scene& scene, const Judgement& judgement) {
  return Words(scene, judgement).All();
}

}  // namespace sentinel
