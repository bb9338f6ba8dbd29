#include "incident/event_table.h"

#include <array>
#include <utility>

#include "base/check.h"

namespace sentinel {
namespace {

constexpr std::string_view kUtilisationDrop = "GPU_UTIL_DROP";
constexpr std::string_view kNodeSilent = "NODE_SILENT";

struct Row {
  std::string_view type;
  Severity severity;
  Ending ending;
  bool voice_hold;
  std::string_view chinese;
  std::string_view english;
};

constexpr Severity kP0 = Severity::kP0;
constexpr Severity kP1 = Severity::kP1;
constexpr Severity kNotice = Severity::kNotice;
constexpr Ending kMoves = Ending::kJobMoves;
constexpr Ending kGone = Ending::kFaultGone;

// A link flap heals by itself in about nine seconds, and a dead or late process is often on its way
// out: those rows hold the voice.
constexpr std::array kRows = {
    Row{"NCCL_TIMEOUT", kP0, kMoves, false,
        "训练集群紧急预警，[机架 {rack} ][节点 {host} ]触发通信死锁，全环算力挂起",
        "Training emergency: [rack {rack} ][node {host} ]has deadlocked communication, the whole "
        "ring stands still"},
    Row{"RANK_STALLED", kP0, kMoves, true,
        "训练集群紧急预警，[机架 {rack} ][节点 {host} ]迟迟未进入通信，全环算力挂起",
        "Training emergency: [rack {rack} ][node {host} ]does not arrive at communication, the "
        "whole ring stands still"},
    Row{"RANK_DEAD", kP0, kMoves, true,
        "训练集群紧急预警，[机架 {rack} ][节点 {host} ]训练进程已退出，其余节点仍在等待",
        "Training emergency: [rack {rack} ][node {host} ]has lost its training process, the others "
        "are still waiting"},
    Row{"COLLECTIVE_MISMATCH", kP0, kMoves, false,
        "训练集群紧急预警，[机架 {rack} ][节点 {host} ]通信调用次序不一致，全环算力挂起",
        "Training emergency: [rack {rack} ][node {host} ]calls another operation than the rest, "
        "the whole ring stands still"},
    Row{"XID_FATAL", kP0, kGone, false,
        "硬件致命故障，[机架 {rack} ][节点 {host} ][第 {gpu} 号卡]发生驱动级报错",
        "Fatal hardware fault: [rack {rack} ][node {host} ][GPU {gpu} ]reports a driver level "
        "error"},
    Row{"GPU_LOST", kP0, kGone, false,
        "硬件致命故障，[机架 {rack} ][节点 {host} ][第 {gpu} 号卡]已掉卡",
        "Fatal hardware fault: [rack {rack} ][node {host} ][GPU {gpu} ]has fallen off the bus"},
    Row{"NVSWITCH_ERROR", kP0, kGone, false,
        "硬件致命故障，[机架 {rack} ][节点 {host} ]NVSwitch 交换芯片报错",
        "Fatal hardware fault: [rack {rack} ][node {host} ]reports an NVSwitch error"},
    Row{kUtilisationDrop, kP0, kMoves, false,
        "算力水准预警，[机架 {rack} ][节点 {host} ]算力利用率突降[至百分之 {util}]",
        "Compute warning: [rack {rack} ][node {host} ]utilisation has dropped[ to {util} per "
        "cent]"},
    Row{"NVLINK_ERROR", kP1, kGone, false,
        "链路降级预警，[机架 {rack} ][节点 {host} ][第 {gpu} 号卡 ]NVLink 降速，请排查互联链路",
        "Link warning: [rack {rack} ][node {host} ][GPU {gpu} ]NVLink is degraded, check the "
        "interconnect"},
    Row{"OPTICS_ERROR", kP1, kGone, false,
        "光链路预警，[机架 {rack} ][节点 {host} ]光模块误码告警，请排查光纤跳线",
        "Optics warning: [rack {rack} ][node {host} ]optical module has bit errors, check the "
        "fibre patching"},
    Row{"OPTICS_HOT", kP1, kGone, false,
        "光链路预警，[机架 {rack} ][节点 {host} ]光模块温度过高，请排查散热",
        "Optics warning: [rack {rack} ][node {host} ]optical module is too hot, check its cooling"},
    Row{"LINK_DOWN", kP1, kGone, true,
        "网络链路预警，[机架 {rack} ][节点 {host} ]网口断开，请排查光纤跳线",
        "Network warning: [rack {rack} ][node {host} ]port is down, check the fibre patching"},
    Row{"PFC_STORM", kP1, kGone, false,
        "网络拥塞预警，[机架 {rack} ][节点 {host} ]暂停帧风暴，请排查网络链路",
        "Congestion warning: [rack {rack} ][node {host} ]is in a pause frame storm, check its "
        "network link"},
    Row{"NIC_ERROR", kP1, kGone, false,
        "网卡预警，[机架 {rack} ][节点 {host} ]网卡报错，请排查网卡与链路",
        "Network card warning: [rack {rack} ][node {host} ]reports network card errors, check card "
        "and link"},
    Row{"PCIE_ERROR", kP1, kGone, false,
        "总线预警，[机架 {rack} ][节点 {host} ][第 {gpu} 号卡 ]PCIe 链路报错，请排查插槽",
        "Bus warning: [rack {rack} ][node {host} ][GPU {gpu} ]reports PCIe errors, check its slot"},
    Row{"ECC_ERROR", kP1, kGone, false,
        "显存预警，[机架 {rack} ][节点 {host} ][第 {gpu} 号卡]显存校验报错，请安排检修",
        "Memory warning: [rack {rack} ][node {host} ][GPU {gpu} ]reports memory errors, plan a "
        "repair"},
    Row{"THERMAL", kP1, kGone, false,
        "温度预警，[机架 {rack} ][节点 {host} ][第 {gpu} 号卡]温度过高，请排查散热",
        "Thermal warning: [rack {rack} ][node {host} ][GPU {gpu} ]is too hot, check its cooling"},
    Row{kNodeSilent, kP1, kGone, false,
        "监控预警，[机架 {rack} ][节点 {host} ]失去联系，请排查节点与管理网",
        "Monitoring warning: [rack {rack} ][node {host} ]is silent, check node and management "
        "network"},
    Row{"TERMINAL_UNREACHABLE", kP1, kGone, false,
        "监控预警，声光终端 {host} 失去联系，请排查终端与管理网",
        "Monitoring warning: terminal {host} does not answer, check it and the management "
        "network"},
    Row{"XID_WARN", kNotice, kGone, false,
        "应用报错提示，[机架 {rack} ][节点 {host} ][第 {gpu} 号卡]出现应用级报错",
        "Note: [rack {rack} ][node {host} ][GPU {gpu} ]reports an application level error"},
    Row{"STRAGGLER", kNotice, kMoves, false, "慢节点提示，[机架 {rack} ][节点 {host} ]拖慢全环通信",
        "Note: [rack {rack} ][node {host} ]slows the whole ring down"},
    Row{"LINK_FLAP", kNotice, kGone, false,
        "链路抖动提示，[机架 {rack} ][节点 {host} ]网口短暂断开后恢复",
        "Note: [rack {rack} ][node {host} ]port went down for a moment"},
    Row{"RECOVERED", Severity::kNormal, kMoves, false, "训练集群已恢复正常",
        "Training cluster is back to normal"},
};

std::string_view DefaultTypeOf(HangClass hang_class) {
  switch (hang_class) {
    case HangClass::kMismatch:
      return "COLLECTIVE_MISMATCH";
    case HangClass::kProcessDead:
      return "RANK_DEAD";
    case HangClass::kWaiting:
      return "RANK_STALLED";
    case HangClass::kSlow:
      return "STRAGGLER";
    case HangClass::kNotEntered:
    case HangClass::kGpuNotStarted:
    case HangClass::kGpuStuck:
    case HangClass::kProxyStuck:
    case HangClass::kNetwork:
    case HangClass::kPcie:
    case HangClass::kProcessStopped:
    case HangClass::kUnknown:
      return "NCCL_TIMEOUT";
  }
  return "NCCL_TIMEOUT";
}

EventKind ToKind(const Row& row) {
  return {row.severity, std::string(row.chinese), std::string(row.english),
          row.ending,   row.type == kNodeSilent,  row.voice_hold};
}

}  // namespace

std::string EventKind::Sentence(Language language, const SpeechFields& fields) const {
  return FillIn(language == Language::kChinese ? chinese : english, fields);
}

EventTable::EventTable() {
  for (const Row& row : kRows) kinds_.emplace(row.type, ToKind(row));
  unknown_ = {Severity::kP1,
              "设备告警，[机架 {rack} ][节点 {host} ]{type}",
              "Device alarm: [rack {rack} ][node {host} ]{type}",
              Ending::kFaultGone,
              false,
              false};
  unlocated_ = {Severity::kP0,
                "[任务 {job} ]通信停滞，故障点未定位[，疑似 {suspects}]",
                "[Job {job}: ]communication stands still, place of the fault not "
                "located[, one of {suspects}]",
                Ending::kJobMoves,
                false,
                false};
  for (size_t i = 0; i < types_.size(); ++i) types_[i] = DefaultTypeOf(static_cast<HangClass>(i));
}

void EventTable::SetTypeOf(HangClass hang_class, std::string type) {
  CHECK(Find(type) != nullptr);
  types_[static_cast<size_t>(hang_class)] = std::move(type);
}

const std::string& EventTable::TypeOf(HangClass hang_class) const {
  return types_[static_cast<size_t>(hang_class)];
}

void EventTable::Set(std::string type, EventKind kind) {
  kinds_.insert_or_assign(std::move(type), std::move(kind));
}

const EventKind* EventTable::Find(std::string_view type) const {
  auto it = kinds_.find(type);
  return it == kinds_.end() ? nullptr : &it->second;
}

const EventKind& EventTable::utilisation_drop() const {
  const EventKind* kind = Find(kUtilisationDrop);
  CHECK(kind != nullptr);
  return *kind;
}

const EventKind& EventTable::SpeakingFor(const Event& event) const {
  if (const EventKind* kind = Find(event.event_type)) return *kind;
  return event.gpu_util ? utilisation_drop() : unknown_;
}

Level LevelOf(const EventTable& table, const Event& event, JobPresence presence) {
  const EventKind* kind = table.Find(event.event_type);
  const bool ends = kind != nullptr && kind->severity == Severity::kNormal;
  if (table.low_utilisation_is_p0() && !ends && event.gpu_util &&
      *event.gpu_util < kUtilisationFloor) {
    return {Severity::kP0, "low utilisation makes everything P0 here (low_utilisation_is_p0)"};
  }
  bool by_utilisation = kind == nullptr || event.event_type == kUtilisationDrop;
  if (by_utilisation && event.gpu_util) {
    const Severity idle = kind == nullptr ? table.unknown().severity : Severity::kP1;
    if (*event.gpu_util >= kUtilisationFloor) {
      return {idle, "its utilisation is not below 5 per cent"};
    }
    // A card without a job is idle by right.
    if (presence == JobPresence::kNone) {
      return {idle, "its utilisation is low, but an agent says that no job runs there"};
    }
    return {table.utilisation_drop().severity, "its utilisation is below 5 per cent"};
  }
  if (kind == nullptr) return {table.unknown().severity, "the table has no row for its type"};
  if (event.event_type == "NVSWITCH_ERROR" && event.fatal == false) {
    return {std::min(kind->severity, Severity::kP1), "its sender says that it is not fatal"};
  }
  return {kind->severity, "the table's row for its type"};
}

}  // namespace sentinel
