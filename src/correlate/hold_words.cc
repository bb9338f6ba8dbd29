#include "correlate/hold_words.h"

namespace sentinel {

std::optional<EvidenceLine> WordsOf(Hold hold) {
  switch (hold) {
    case Hold::kNone:
      return std::nullopt;
    case Hold::kTraced:
      return EvidenceLine{"有调试器：不是故障", "a debugger is at work: not a fault"};
    case Hold::kAllStopped:
      return EvidenceLine{"全部进程同时停止：挂起，不是通信死锁",
                          "all ranks are stopped together: suspended, not hung"};
    case Hold::kEnding:
      return EvidenceLine{"任务正在结束", "the job is ending"};
    case Hold::kWorks:
      return EvidenceLine{"迟到的进程可能仍在工作：最多再等到迟到上限",
                          "the late rank may be at work: it has until the limit for late ranks"};
    case Hold::kHistory:
      return EvidenceLine{
          "本任务历史太短，或曾等待这么久：等到迟到上限",
          "this job has waited so long before, or its history is short: the limit for "
          "late ranks holds"};
    case Hold::kUnanswered:
      return EvidenceLine{"关键进程没有应答，无法判定", "a rank that matters does not answer"};
    case Hold::kNoCall:
      return EvidenceLine{"可能仍在建立连接", "connections may still be made"};
    case Hold::kElsewhere:
      return EvidenceLine{"停滞的根源在同一任务的另一个通信域",
                          "the root is in another communicator of the job"};
    case Hold::kComes:
      return EvidenceLine{"缺少的进程在别处仍有进展，正在赶来",
                          "whoever is missed still moves elsewhere and is on its way"};
    case Hold::kAsking:
      return EvidenceLine{"正在查询相关进程的其他通信域",
                          "its other communicators are being asked"};
    case Hold::kShown:
      return EvidenceLine{"同一任务的停滞已经告警", "the hang of this job has its alarm already"};
    case Hold::kSuspended:
      return EvidenceLine{"主机事实否决了告警", "a fact of the host vetoes the alarm"};
  }
  return std::nullopt;
}

}  // namespace sentinel
