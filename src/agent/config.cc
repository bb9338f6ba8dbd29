#include "agent/config.h"

#include <toml++/toml.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "base/digest.h"
#include "probe/host/proc_files.h"

namespace sentinel {
namespace {

constexpr size_t kConfigBytesMax = 1u << 20;

Error At(const std::string& file, const toml::source_region& where, const std::string& what) {
  return {ErrorCode::kInvalidArgument, file + ":" + std::to_string(where.begin.line) + ":" +
                                           std::to_string(where.begin.column) + ": " + what};
}

// One table: takes keys with their types, keeps the first mistake, and knows which keys nobody
// took.
class Table {
 public:
  Table(const toml::table& table, std::string file) : table_(table), file_(std::move(file)) {}

  const toml::node* Take(const char* key) {
    taken_.emplace_back(key);
    return table_.get(key);
  }
  void Text(const char* key, std::string* out) {
    const toml::node* node = Take(key);
    if (node == nullptr) return;
    if (!node->is_string()) return Wrong(*node, std::string(key) + " is a string");
    *out = node->as_string()->get();
  }
  void Path(const char* key, std::string* out) {
    Text(key, out);
    if (!out->empty() && out->front() != '/') {
      const toml::node* node = table_.get(key);
      if (node != nullptr) Wrong(*node, std::string(key) + " is an absolute path");
    }
  }
  template <typename T>
  void Number(const char* key, int64_t min, int64_t max, T* out) {
    const toml::node* node = Take(key);
    if (node == nullptr) return;
    if (!node->is_integer() || node->as_integer()->get() < min || node->as_integer()->get() > max) {
      return Wrong(*node, std::string(key) + " is a whole number from " + std::to_string(min) +
                              " to " + std::to_string(max));
    }
    *out = static_cast<T>(node->as_integer()->get());
  }
  void Millis(const char* key, int64_t min, int64_t max, Duration* out) {
    int64_t millis = ToMillis(*out);
    Number(key, min, max, &millis);
    *out = std::chrono::milliseconds(millis);
  }
  void Wrong(const toml::node& node, const std::string& what) {
    if (status_.ok()) status_ = At(file_, node.source(), what);
  }
  Status Finish() const {
    if (!status_.ok()) return status_;
    for (const auto& [key, node] : table_) {
      const std::string name(key.str());
      if (std::find(taken_.begin(), taken_.end(), name) != taken_.end()) continue;
      std::string allowed;
      for (const std::string& one : taken_) allowed += (allowed.empty() ? "" : ", ") + one;
      return At(file_, key.source(), "unknown key \"" + name + "\"; allowed here: " + allowed);
    }
    return {};
  }

 private:
  const toml::table& table_;
  std::string file_;
  std::vector<std::string> taken_;
  Status status_;
};

Result<toml::table> Parse(std::string_view text, const std::string& file) {
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& error) {
    return At(file, error.source(), std::string(error.description()));
  }
}

std::string OwnHostName() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

// Not the machine id itself, which is nobody's business outside.
std::string DefaultAgentId(const std::string& host) {
  const Result<std::string> machine = ReadWhole("/etc/machine-id", 256);
  return host + "-" +
         Sha256Hex("gpu-sentinel agent " + (machine.ok() ? *machine : "")).substr(0, 8);
}

}  // namespace

Result<AgentConfig> ParseAgentConfig(std::string_view text, const std::string& file) {
  const toml::table parsed = TRY(Parse(text, file));
  AgentConfig config;
  Table top(parsed, file);
  top.Text("host", &config.host);
  top.Text("agent_id", &config.agent_id);
  top.Path("board_dir", &config.board_dir);
  top.Text("interface", &config.interface);
  top.Path("ingest_socket", &config.ingest_socket);
  top.Path("spool_dir", &config.spool_dir);
  std::string gateway;
  top.Text("gateway", &gateway);
  if (!gateway.empty()) {
    const Result<Endpoint> endpoint = ParseEndpoint(gateway, kAgentStreamPort);
    if (endpoint.ok()) {
      config.gateway = *endpoint;
    } else {
      top.Wrong(*parsed.get("gateway"), "gateway: " + endpoint.error().message);
    }
  }
  if (config.board_dir.empty() || config.spool_dir.empty()) {
    const char* key = config.board_dir.empty() ? "board_dir" : "spool_dir";
    top.Wrong(*parsed.get(key), std::string(key) + " is an absolute path");
  }
  if (const toml::node* watch = top.Take("watch")) {
    if (!watch->is_table()) {
      top.Wrong(*watch, "watch is a table");
    } else {
      Table table(*watch->as_table(), file);
      table.Millis("suspect_min_ms", 50, 60000, &config.watch.suspect_min);
      table.Millis("suspect_max_ms", 50, 60000, &config.watch.suspect_max);
      table.Number("gap_factor", 1, 100, &config.watch.gap_factor);
      table.Number("scans_min", 1, 1000, &config.watch.scans_min);
      table.Number("warmup_operations", 0, 100000, &config.watch.warmup_operations);
      table.Millis("warmup_limit_ms", 1000, 3600000, &config.watch.warmup_limit);
      table.Millis("scan_period_ms", 5, 1000, &config.watch.scan_period);
      if (config.watch.suspect_min > config.watch.suspect_max) {
        table.Wrong(*watch, "suspect_min_ms is not above suspect_max_ms");
      }
      const Status finished = table.Finish();
      if (!finished.ok()) return finished.error();
    }
  }
  const Status finished = top.Finish();
  if (!finished.ok()) return finished.error();
  if (config.host.empty()) config.host = OwnHostName();
  if (config.agent_id.empty()) config.agent_id = DefaultAgentId(config.host);
  config.watch.overslept_after =
      std::max(config.watch.overslept_after, 4 * config.watch.scan_period);
  return config;
}

Result<AgentConfig> LoadAgentConfig(const std::string& path) {
  const std::string text = TRY(ReadWhole(path, kConfigBytesMax));
  return ParseAgentConfig(text, path);
}

}  // namespace sentinel
