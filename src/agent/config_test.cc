#include "agent/config.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "config/refusals_testing.h"

namespace sentinel {
namespace {

using std::chrono::milliseconds;

std::string Complaint(std::string_view text) {
  const Result<AgentConfig> config = ParseAgentConfig(text, "agent.toml");
  return config.ok() ? "" : config.error().message;
}

TEST(AgentConfig, NothingWrittenIsTheDefault) {
  const Result<AgentConfig> config = ParseAgentConfig("", "agent.toml");
  ASSERT_TRUE(config.ok());
  EXPECT_FALSE(config->host.empty());
  EXPECT_EQ(config->agent_id.rfind(config->host + "-", 0), 0u);
  EXPECT_EQ(config->board_dir, "/dev/shm");
  EXPECT_EQ(config->gateway.ToString(), "127.0.0.1:8081");
  EXPECT_EQ(config->ingest_socket, "/run/gpu-sentinel/agent.sock");
  EXPECT_EQ(config->state_dir, "/var/lib/gpu-sentinel");
  EXPECT_EQ(config->watch.suspect_min, milliseconds(200));
}

TEST(AgentConfig, EverythingCanBeWritten) {
  const Result<AgentConfig> config = ParseAgentConfig(R"(
host = "gpu-08"
agent_id = "me"
board_dir = "/tmp/boards"
gateway = "unix:/run/gw.sock"
interface = "eno1"
ingest_socket = ""
spool_dir = "/tmp/spool"
state_dir = ""
[watch]
suspect_min_ms = 300
suspect_max_ms = 500
gap_factor = 5
scans_min = 10
warmup_operations = 2
warmup_limit_ms = 30000
scan_period_ms = 10
)",
                                                      "agent.toml");
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config->agent_id, "me");
  EXPECT_TRUE(config->gateway.unix_socket);
  EXPECT_EQ(config->interface, "eno1");
  EXPECT_EQ(config->ingest_socket, "");
  EXPECT_EQ(config->state_dir, "");
  EXPECT_EQ(config->watch.suspect_max, milliseconds(500));
  EXPECT_EQ(config->watch.scans_min, 10);
  EXPECT_EQ(config->watch.warmup_operations, 2u);
  EXPECT_EQ(config->watch.scan_period, milliseconds(10));
}

TEST(AgentConfig, MistakesAreToldWithTheirPlaceAndWhatIsAllowed) {
  EXPECT_EQ(
      Complaint("host = \"a\"\ngatway = \"b\"\n").rfind("agent.toml:2:1: unknown key 'gatway'", 0),
      0u)
      << Complaint("host = \"a\"\ngatway = \"b\"\n");
  EXPECT_NE(Complaint("gatway = \"b\"").find("gateway"), std::string::npos);
  EXPECT_EQ(Complaint("[watch]\nscan_ms = 1").rfind("agent.toml:2:1: unknown key 'scan_ms'", 0),
            0u);
  EXPECT_EQ(Complaint("host = 5").rfind("agent.toml:1:8: host: a string", 0), 0u)
      << Complaint("host = 5");
  EXPECT_NE(Complaint("board_dir = \"shm\"").find("absolute"), std::string::npos);
  EXPECT_NE(Complaint("board_dir = \"\"").find("absolute"), std::string::npos);
  EXPECT_NE(Complaint("gateway = \"a:b:c\""), "");
  EXPECT_NE(Complaint("[watch]\nscans_min = 0").find("from 1 to"), std::string::npos);
  EXPECT_EQ(Complaint("[watch]\nsuspect_min_ms = 900"),
            "agent.toml:2:18: suspect_min_ms (900) must not be above suspect_max_ms (400)");
  EXPECT_EQ(Complaint("host = \"a\"\n[watch]\nscans_min = 9\nsuspect_max_ms = 100"),
            "agent.toml:4:18: suspect_min_ms (200) must not be above suspect_max_ms (100)");
  EXPECT_NE(Complaint("watch = 3"), "");
  EXPECT_EQ(Complaint("host = ").rfind("agent.toml:1:", 0), 0u);
}

Status ParseTestedAgent(const std::string& text) {
  TRY(ParseAgentConfig(text, "f.toml"));
  return {};
}

TEST(AgentConfig, EveryKeyRefusesAValueThatItDoesNotTakeWithItsPlace) {
  ExpectEveryKeyToTellThePlace({{"", {}}, {"[tls]", {}}, {"[watch]", {}}}, ParseTestedAgent);
}

TEST(AgentConfig, WhatTheStartCouldNotUseIsRefusedWithItsPlace) {
  ExpectRefusedInTheLastLine(
      {{"host = ''", "host", "1 to 253 bytes"},
       {"host = 'gpu 08'", "host", "without blanks"},
       {"agent_id = ''", "agent_id", "1 to 253 bytes"},
       {"agent_id = \"a\\nb\"", "agent_id", "without blanks"},
       {"agent_id = '" + std::string(254, 'a') + "'", "agent_id", "1 to 253 bytes"},
       {"board_dir = 'shm'", "board_dir", "absolute"},
       {"spool_dir = ''", "spool_dir", "absolute"},
       {"state_dir = 'x'", "state_dir", "or \"\" for none"},
       {"ingest_socket = 'a.sock'", "ingest_socket", "absolute path of a socket"},
       {"ingest_socket = '/run/x/'", "ingest_socket", "absolute path of a socket"},
       {"ingest_socket = '/" + std::string(107, 'a') + "'", "ingest_socket", "107 bytes"},
       {"gateway = '10.0.0.300'", "gateway", "not an IPv4 address"},
       {"gateway = '10.0.0.1:0'", "gateway", "a port from 1 to 65535"},
       {"gateway = '0.0.0.0'", "gateway", "every address of a host"},
       {"gateway = 'unix:gw.sock'", "gateway", "absolute path"},
       {"gateway = 'http://gw'", "gateway", "no URL"},
       {"interface = ''", "interface", "1 to 15 bytes"},
       {"interface = 'a-name-that-is-too-long'", "interface", "1 to 15 bytes"},
       {"gateway = '10.0.0.1'\ninterface = '2001:db8::5'", "interface", "of the same kind"}},
      ParseTestedAgent);
  EXPECT_EQ(Complaint("gateway = 'gw.example.org'\ninterface = '2001:db8::5'"), "");
}

TEST(AgentConfig, WhatAnOperatorShouldKnowIsAWarning) {
  AgentConfig config;
  config.host = "gpu-08";
  EXPECT_TRUE(WarningsHere(config).empty());
  config.host = "localhost-08";
  EXPECT_TRUE(WarningsHere(config).empty());
  config.host = "localhost.localdomain";
  EXPECT_EQ(WarningsHere(config).size(), 1u);
  config.host = "localhost";
  ASSERT_EQ(WarningsHere(config).size(), 1u);
  EXPECT_NE(WarningsHere(config)[0].find("host localhost: alarms would not say"),
            std::string::npos);
}

TEST(AgentConfig, TellsWhatThisMachineDoesNotHave) {
  namespace fs = std::filesystem;
  const std::string root = testing::TempDir() + "agent-config-" + std::to_string(getpid());
  fs::create_directories(root);
  std::ofstream(root + "/file") << "x";
  AgentConfig config;
  config.board_dir = root;
  config.spool_dir = root + "/spool";
  config.ingest_socket = root + "/agent.sock";
  const auto complaint = [&config] {
    const Status here = CheckHere(config);
    return here.ok() ? "" : here.error().message;
  };
  EXPECT_EQ(complaint(), "");
  config.spool_dir = root + "/spool/";
  EXPECT_EQ(complaint(), "");
  config.interface = "lo";
  EXPECT_EQ(complaint(), "");
  config.interface = "eno-none";
  EXPECT_EQ(complaint(),
            "interface = \"eno-none\": this machine has no interface of that name or address");
  config.interface = "";
  config.board_dir = root + "/none";
  EXPECT_EQ(complaint(), "board_dir = \"" + root + "/none\": No such file or directory");
  config.board_dir = root + "/file";
  EXPECT_EQ(complaint(), "board_dir = \"" + root + "/file\": Not a directory");
  config.board_dir = root;
  // What the start would make is no mistake.
  config.spool_dir = root + "/none/below/spool";
  config.state_dir = root + "/none";
  config.ingest_socket = root + "/none/agent.sock";
  EXPECT_EQ(complaint(), "");
  EXPECT_FALSE(fs::exists(root + "/none")) << "and looking makes nothing";
  config.state_dir = root + "/file/state";
  EXPECT_EQ(complaint(),
            "state_dir = \"" + root + "/file/state\": " + root + "/file: Not a directory");
  config.state_dir = "";
  config.ingest_socket = root + "/file/agent.sock";
  EXPECT_EQ(complaint(),
            "ingest_socket = \"" + root + "/file/agent.sock\": " + root + "/file: Not a directory");
  config.ingest_socket = root + "/agent.sock";
  config.spool_dir = root + "/file/spool";
  EXPECT_NE(complaint(), "");
  config.spool_dir = root + "/spool";
  config.ingest_socket = root + "/file";
  EXPECT_EQ(complaint(), "ingest_socket = \"" + root +
                             "/file\": the path is taken by something that is no socket");
  config.ingest_socket = root + "/agent.sock";
  config.gateway.tls = true;
  config.tls.files.ca = root + "/none.crt";
  EXPECT_NE(complaint(), "") << "no certificate can be read";
  config.gateway.tls = false;
  config.spool_dir = root + "/file/spool";
  config.ingest_socket = "";
  EXPECT_EQ(complaint(), "") << "nothing is spooled";
  fs::remove_all(root);
}

}  // namespace
}  // namespace sentinel
