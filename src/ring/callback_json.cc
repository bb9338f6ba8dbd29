#include "ring/callback_json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

namespace sentinel {
namespace {

using Json = nlohmann::json;

// The year 2255: moments some days later can still be reckoned with.
constexpr int64_t kLatestNs = 9'000'000'000'000'000'000;

constexpr size_t kThreadsMax = 256;  // of one process: each becomes a real thread

constexpr std::array<std::pair<std::string_view, CallbackType>, kCallbackTypes> kTypeNames{{
    {"Group", CallbackType::kGroup},
    {"Coll", CallbackType::kColl},
    {"P2p", CallbackType::kP2p},
    {"ProxyOp", CallbackType::kProxyOp},
    {"ProxyStep", CallbackType::kProxyStep},
    {"ProxyCtrl", CallbackType::kProxyCtrl},
    {"KernelCh", CallbackType::kKernelCh},
    {"NetPlugin", CallbackType::kNetPlugin},
    {"GroupApi", CallbackType::kGroupApi},
    {"CollApi", CallbackType::kCollApi},
    {"P2pApi", CallbackType::kP2pApi},
    {"KernelLaunch", CallbackType::kKernelLaunch},
}};

// The recorder's short names of NCCL's states, and NCCL's numbers.
struct StateName {
  std::string_view name;
  int number;
  std::string_view argument;  // key of the state's argument, if it has one
};
constexpr std::array<StateName, 17> kStateNames{{
    {"SendGPUWait", 8, "transSize"},
    {"SendWait", 9, "transSize"},
    {"RecvWait", 10, "transSize"},
    {"RecvFlushWait", 11, "transSize"},
    {"RecvGPUWait", 12, "transSize"},
    {"CtrlIdle", 13, "appended"},
    {"CtrlActive", 14, "appended"},
    {"CtrlSleep", 15, "appended"},
    {"CtrlWakeup", 16, "appended"},
    {"CtrlAppend", 17, "appended"},
    {"CtrlAppendEnd", 18, "appended"},
    {"OpInProgress", 19, ""},
    {"SendPeerWait", 20, "transSize"},
    {"NetPluginUpdate", 21, ""},
    {"KernelChStop", 22, "pTimer"},
    {"GroupStartApiStop", 23, ""},
    {"GroupEndApiStart", 24, ""},
}};

// Reads the members of one line and remembers the first that is missing or of the wrong kind, so
// that a line is read straight through and asked once at the end.
class Fields {
 public:
  Fields(const Json& line, std::set<std::string>& names) : line_(line), names_(names) {}

  int64_t Integer(const char* key, int64_t min, int64_t max) {
    const Json* value = Need(key);
    return value == nullptr ? 0 : IntegerOf(key, *value, min, max);
  }
  int64_t IntegerOr(const char* key, int64_t min, int64_t max, int64_t absent) {
    auto found = line_.find(key);
    return found == line_.end() ? absent : IntegerOf(key, *found, min, max);
  }
  int Int(const char* key) {
    return static_cast<int>(
        Integer(key, std::numeric_limits<int>::min(), std::numeric_limits<int>::max()));
  }
  uint8_t Byte(const char* key) { return static_cast<uint8_t>(Integer(key, 0, 255)); }
  bool Flag(const char* key) { return IntegerOr(key, 0, 1, 0) != 0; }

  // An unsigned number, or "0x…".
  uint64_t Word(const char* key) {
    const Json* value = Need(key);
    return value == nullptr ? 0 : WordOf(key, *value);
  }
  uint64_t WordOr(const char* key, uint64_t absent) {
    auto found = line_.find(key);
    return found == line_.end() ? absent : WordOf(key, *found);
  }

  const char* Name(const char* key) {
    const Json* value = Need(key);
    if (value == nullptr) return nullptr;
    if (!value->is_string()) {
      Fail(key, "is not a string");
      return nullptr;
    }
    return names_.insert(value->get<std::string>()).first->c_str();
  }

  void Fail(std::string_view key, std::string_view why) {
    if (!wrong_.empty()) return;
    wrong_.append("\"").append(key).append("\" ").append(why);
  }
  const std::string& wrong() const { return wrong_; }

 private:
  const Json* Need(const char* key) {
    auto found = line_.find(key);
    if (found != line_.end()) return &*found;
    Fail(key, "is missing");
    return nullptr;
  }
  int64_t IntegerOf(const char* key, const Json& value, int64_t min, int64_t max) {
    if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
    const bool fits = value.is_number_unsigned()
                          ? value.get<uint64_t>() <= static_cast<uint64_t>(max)
                          : value.is_number_integer() && value.get<int64_t>() >= min &&
                                value.get<int64_t>() <= max;
    if (!fits) {
      Fail(key, "is not an integer in its range");
      return 0;
    }
    return value.get<int64_t>();
  }
  uint64_t WordOf(const char* key, const Json& value) {
    if (value.is_number_unsigned()) return value.get<uint64_t>();
    uint64_t word = 0;
    if (value.is_string()) {
      const auto& text = value.get_ref<const std::string&>();
      const bool hex = text.starts_with("0x");
      const char* first = text.data() + (hex ? 2 : 0);
      const char* last = text.data() + text.size();
      auto [end, error] = std::from_chars(first, last, word, hex ? 16 : 10);
      if (error == std::errc() && end == last) return word;
    }
    Fail(key, "is neither an unsigned number nor \"0x…\"");
    return 0;
  }

  const Json& line_;
  std::set<std::string>& names_;
  std::string wrong_;
};

InitCall ReadInit(Fields& fields) {
  InitCall init;
  init.comm_id = fields.Word("commId");
  init.comm_name = fields.Name("commName");
  if (init.comm_name != nullptr && *init.comm_name == '\0') init.comm_name = nullptr;
  init.nodes = fields.Int("nNodes");
  init.ranks = fields.Int("nranks");
  init.pid = fields.Integer("pid", 0, std::numeric_limits<int32_t>::max());
  return init;
}

void ReadStart(Fields& fields, Callback& callback) {
  switch (callback.type) {
    case CallbackType::kGroup:
    case CallbackType::kProxyCtrl:
      callback.what = PlainStart{};
      return;
    case CallbackType::kGroupApi: {
      GroupApiStart start;
      start.graph_captured = fields.Flag("graph");
      start.depth = static_cast<int>(fields.IntegerOr("depth", 0, 1 << 30, 1));
      callback.what = start;
      return;
    }
    case CallbackType::kCollApi: {
      CollApiStart start;
      start.func = fields.Name("func");
      start.count = fields.Word("count");
      start.datatype = fields.Name("dtype");
      start.root = fields.Int("root");
      start.stream = fields.WordOr("stream", 0);
      start.graph_captured = fields.Flag("graph");
      callback.what = start;
      return;
    }
    case CallbackType::kP2pApi: {
      P2pApiStart start;
      start.func = fields.Name("func");
      start.count = fields.Word("count");
      start.datatype = fields.Name("dtype");
      start.stream = fields.WordOr("stream", 0);
      start.graph_captured = fields.Flag("graph");
      callback.what = start;
      return;
    }
    case CallbackType::kKernelLaunch:
      callback.what = KernelLaunchStart{fields.WordOr("stream", 0)};
      return;
    case CallbackType::kColl: {
      CollStart start;
      start.seq = fields.Word("seq");
      start.func = fields.Name("func");
      start.send_buffer = fields.WordOr("sendBuff", 0);
      start.recv_buffer = fields.WordOr("recvBuff", 0);
      start.count = fields.Word("count");
      start.root = fields.Int("root");
      start.datatype = fields.Name("dtype");
      start.channels = fields.Byte("nChannels");
      start.warps = fields.Byte("nWarps");
      start.algorithm = fields.Name("algo");
      start.protocol = fields.Name("proto");
      start.group = fields.WordOr("group", 0);
      callback.what = start;
      return;
    }
    case CallbackType::kP2p: {
      P2pStart start;
      start.func = fields.Name("func");
      start.buffer = fields.WordOr("buff", 0);
      start.datatype = fields.Name("dtype");
      start.count = fields.Word("count");
      start.peer = fields.Int("peer");
      start.channels = static_cast<uint8_t>(fields.IntegerOr("nChannels", 0, 255, 0));
      start.group = fields.WordOr("group", 0);
      callback.what = start;
      return;
    }
    case CallbackType::kProxyOp: {
      ProxyOpStart start;
      start.pid = fields.Integer("pid", 0, std::numeric_limits<int32_t>::max());
      start.channel = fields.Byte("ch");
      start.peer = fields.Int("peer");
      start.steps = fields.Int("nSteps");
      start.chunk_bytes = fields.Int("chunkSize");
      start.is_send = fields.Integer("isSend", 0, 1) != 0;
      callback.what = start;
      return;
    }
    case CallbackType::kProxyStep:
      callback.what = ProxyStepStart{fields.Int("step")};
      return;
    case CallbackType::kKernelCh: {
      KernelChStart start;
      start.channel = fields.Byte("ch");
      start.device_time = fields.WordOr("pTimer", 0);
      callback.what = start;
      return;
    }
    case CallbackType::kNetPlugin:
      callback.what = NetPluginStart{static_cast<int64_t>(fields.WordOr("netId", 0))};
      return;
  }
}

void ReadState(Fields& fields, Callback& callback) {
  const char* name = fields.Name("state");
  if (name == nullptr) return;
  const auto* found = std::find_if(kStateNames.begin(), kStateNames.end(),
                                   [name](const StateName& state) { return state.name == name; });
  if (found == kStateNames.end()) {
    fields.Fail("state", "is no state of the profiler interface");
    return;
  }
  StateChange change;
  change.state = found->number;
  if (!found->argument.empty()) change.argument = fields.WordOr(found->argument.data(), 0);
  callback.what = change;
}

// Init and finalize belong to a communicator, everything else to an event.
void ReadEvent(Fields& fields, std::string_view op, Callback& callback) {
  callback.id = fields.Word("id");
  const char* type = fields.Name("type");
  if (type == nullptr) return;
  const auto* found = std::find_if(kTypeNames.begin(), kTypeNames.end(),
                                   [type](const auto& entry) { return entry.first == type; });
  if (found == kTypeNames.end()) {
    fields.Fail("type", "is no event type of the profiler interface v5");
    return;
  }
  callback.type = found->second;
  if (op == "start") {
    callback.parent = fields.Word("parent");
    callback.rank = static_cast<int>(fields.IntegerOr("drank", -1, 1 << 30, 0));
    ReadStart(fields, callback);
  } else if (op == "state") {
    ReadState(fields, callback);
  } else if (op == "stop") {
    callback.what = Stop{};
  } else {
    fields.Fail("op", "is none of init, start, state, stop, finalize");
  }
}

}  // namespace

Status AppendCallback(std::string_view line, RankRecording& into) {
  const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return Error{ErrorCode::kCorrupt, "not JSON"};
  if (!json.is_object()) return Error{ErrorCode::kCorrupt, "not a JSON object"};

  Fields fields(json, into.names);
  Callback callback;
  callback.at_ns = fields.Integer("t", 0, kLatestNs);
  callback.thread_name = fields.Name("thr");
  const int64_t tid = fields.Integer("tid", 0, std::numeric_limits<int32_t>::max());
  const char* op = fields.Name("op");
  if (op != nullptr) {
    const std::string_view which(op);
    if (which == "init") {
      callback.rank = fields.Int("rank");
      callback.what = ReadInit(fields);
    } else if (which == "finalize") {
      callback.what = FinalizeCall{};
    } else {
      ReadEvent(fields, which, callback);
    }
  }
  if (!fields.wrong().empty()) return Error{ErrorCode::kCorrupt, fields.wrong()};

  auto thread = std::find(into.threads.begin(), into.threads.end(), tid);
  if (thread == into.threads.end()) {
    if (into.threads.size() == kThreadsMax) {
      return Error{ErrorCode::kExhausted,
                   "more than " + std::to_string(kThreadsMax) + " threads in one process"};
    }
    thread = into.threads.insert(thread, tid);
  }
  callback.thread = static_cast<uint32_t>(thread - into.threads.begin());
  into.callbacks.push_back(callback);
  return {};
}

}  // namespace sentinel
