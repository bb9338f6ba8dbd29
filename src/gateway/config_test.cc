#include "gateway/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/testing_folder.h"
#include "config/refusals_testing.h"

namespace sentinel {
namespace {

using testing::HasSubstr;

std::string ErrorOf(std::string_view text) {
  Result<GatewayConfig> config = ParseGatewayConfig(text, "gateway.toml");
  return config.ok() ? "" : config.error().message;
}

TEST(GatewayConfig, NothingWrittenIsTheContractsDefault) {
  Result<GatewayConfig> config = ParseGatewayConfig("", "gateway.toml");
  ASSERT_TRUE(config.ok()) << config.error().message;
  ASSERT_EQ(config->listen.size(), 2u);
  EXPECT_EQ(config->listen[0].ToString(), "127.0.0.1:8080");
  EXPECT_EQ(config->listen[1].ToString(), "unix:/run/gpu-sentinel/gateway.sock");
  EXPECT_EQ(config->agents.at(0).ToString(), "127.0.0.1:8081");
  EXPECT_EQ(config->state_dir, "/var/lib/gpu-sentinel");
  EXPECT_TRUE(config->terminals.empty());
}

TEST(GatewayConfig, AgentsFromTheNetworkAreKnownOrTheWholeNetworkIsLetIn) {
  const std::string agents = "agents = \"10.0.0.1\"\n";
  EXPECT_THAT(ErrorOf(agents.c_str()), HasSubstr("gateway.toml:1:10: agents: 10.0.0.1:8081"));
  const std::string open = agents + "[ingest]\nopen_to = \"network\"\n";
  EXPECT_TRUE(ParseGatewayConfig(open, "gateway.toml").ok());
  EXPECT_THAT(ErrorOf("agents = \"tls:10.0.0.1\"\n[tls]\ncertificate = \"/a\"\nkey = \"/b\"\n"),
              HasSubstr("tls.ca"));
}

TEST(GatewayConfig, EverythingCanBeWritten) {
  Result<GatewayConfig> config = ParseGatewayConfig(R"(
listen = "0.0.0.0:9000"
agents = ["unix:/run/a.sock", "127.0.0.2"]
state_dir = "/tmp/x"
key_file = "/etc/k"
[[terminals]]
name = "hall-1"
address = "10.0.0.9"
protocol = "v1"
[[terminals]]
name = "office"
address = "10.0.0.10:8090"
key_file = "/etc/o"
[ingest]
open_to = "nobody"
[[senders]]
name = "slurm"
key_file = "/etc/s"
[[routes]]
rack = "A03"
level = "P0"
jobs = ["slurm:77.*"]
terminals = ["hall-1"]
[site]
timezone = "Europe/Berlin"
language = "en-US"
[detection]
late_history_min = 5
late_limit_ms = 20000
red_after_ms = 1400
recovered_after_ms = 2500
[ring]
gpus_min = 16
partitions = ["train-*"]
users = "li"
[voice]
hold_ms = 5000
[[events]]
type = "FAN_SLOW"
level = "NOTICE"
text_zh = "风扇"
)",
                                                    "gateway.toml");
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config->agents[1].ToString(), "127.0.0.2:8081");
  EXPECT_EQ(config->terminals[0].address.ToString(), "10.0.0.9:80");
  EXPECT_EQ(config->terminals[0].signature, SignatureUse::kV1Only);
  EXPECT_EQ(config->terminals[1].signature, SignatureUse::kAuto);
  EXPECT_EQ(config->ingest.open_to, OpenTo::kNobody);
  EXPECT_EQ(config->ingest.senders.at(0).name, "slurm");
  EXPECT_EQ(config->routes[0].level, Severity::kP0);
  EXPECT_EQ(config->routes[0].jobs, std::vector<std::string>{"slurm:77.*"});
  EXPECT_EQ(config->detection.late_history_min, 5u);
  EXPECT_EQ(config->detection.late_limit, std::chrono::seconds(20));
  EXPECT_EQ(config->incidents.recovery_hold, std::chrono::milliseconds(2500));
  EXPECT_EQ(config->incidents.voice_hold, std::chrono::seconds(5));
  EXPECT_EQ(config->incidents.ring.gpus_min, 16);
  EXPECT_EQ(config->incidents.ring.partitions, std::vector<std::string>{"train-*"});
  EXPECT_TRUE(config->incidents.ring.namespaces.empty());
  EXPECT_EQ(config->incidents.ring.users, std::vector<std::string>{"li"});
  EXPECT_EQ(config->incidents.language, Language::kEnglish);
  EXPECT_EQ(config->incidents.table.Find("FAN_SLOW")->severity, Severity::kNotice);
}

TEST(GatewayConfig, AnUnknownKeyIsRefusedWithItsPlaceAndWhatIsAllowed) {
  std::string error = ErrorOf("listen = \"127.0.0.1\"\nlisten_on = 1\n");
  EXPECT_THAT(error, HasSubstr("gateway.toml:2:1"));
  EXPECT_THAT(error, HasSubstr("unknown key 'listen_on'"));
  EXPECT_THAT(error, HasSubstr("state_dir"));
  EXPECT_THAT(ErrorOf("[detection]\nred_after = 1\n"), HasSubstr("gateway.toml:2:1"));
}

TEST(GatewayConfig, WrongValuesAreRefusedWithTheirPlace) {
  EXPECT_THAT(ErrorOf("listen = 8080\n"), HasSubstr("gateway.toml:1:10: listen"));
  EXPECT_THAT(ErrorOf("[site]\nlanguage = \"fr\"\n"), HasSubstr("zh-CN"));
  EXPECT_THAT(ErrorOf("[[terminals]]\nname = \"a b\"\naddress = \"x\"\n"), HasSubstr("name"));
  EXPECT_THAT(ErrorOf("key_file=\"k\"\n[[routes]]\nterminals = [\"nowhere\"]\n"),
              HasSubstr("there is no terminal 'nowhere'"));
  EXPECT_THAT(ErrorOf("[[terminals]]\nname = \"a\"\naddress = \"x\"\n"), HasSubstr("key_file"));
  EXPECT_THAT(ErrorOf("x = \n"), HasSubstr("gateway.toml:1:"));
}

TEST(GatewayConfig, AZoneThatThereIsNotIsRefused) {
  EXPECT_THAT(ErrorOf("[site]\ntimezone = \"Mars/Olympus Mons\"\n"),
              HasSubstr("gateway.toml:2:12: timezone: there is no time zone"));
  EXPECT_THAT(ErrorOf("[site]\ntimezone = \"../../etc/passwd\"\n"), HasSubstr("Asia/Shanghai"));
  if (std::filesystem::exists("/usr/share/zoneinfo/Asia/Shanghai")) {
    EXPECT_THAT(ErrorOf("[site]\ntimezone = \"Asia/Shanghia\"\n"), HasSubstr("no time zone"));
    EXPECT_THAT(ErrorOf("[site]\ntimezone = \"Asia\"\n"), HasSubstr("no time zone"));
  }
  EXPECT_EQ(ErrorOf("[site]\ntimezone = \"Asia/Shanghai\"\n"), "");
}

TEST(GatewayConfig, ASentenceThatCouldNotBeSpokenIsRefused) {
  auto error = [](const std::string& sentence) {
    return ErrorOf("[[events]]\ntype = \"X\"\ntext_zh = \"" + sentence + "\"\n");
  };
  EXPECT_EQ(error("[机架 {rack} ][节点 {host} ]{type}"), "");
  EXPECT_THAT(error("节点 {hots}"),
              HasSubstr("gateway.toml:3:11: text_zh: there is no field {hots}"));
  EXPECT_THAT(error("节点 {hots}"), HasSubstr("{suspects}"));
  EXPECT_THAT(error("节点 {host"), HasSubstr("not closed"));
  EXPECT_THAT(error("节点 {host {rack}"), HasSubstr("not closed"));
  EXPECT_THAT(error("节点 host}"), HasSubstr("no '{'"));
  EXPECT_THAT(error("[节点 {host}"), HasSubstr("not closed"));
  EXPECT_THAT(error("[节点 [{host}]]"), HasSubstr("another [ ]"));
  EXPECT_THAT(error(""), HasSubstr("gateway.toml:3:11: text_zh: a sentence is expected"));
  EXPECT_THAT(error("  "), HasSubstr("a sentence is expected"));
  EXPECT_EQ(error(std::string(1024, 'a')), "");
  EXPECT_THAT(error(std::string(1025, 'a')), HasSubstr("at most 1024 bytes is expected"));
}

TEST(GatewayConfig, TheTableOfLevelsIsTheSites) {
  Result<GatewayConfig> config = ParseGatewayConfig(R"(
low_utilisation_is_p0 = true
[[events]]
type = "FABRIC_HANG"
level = "P0"
text_zh = "交换网挂起"
resolved_means = "job-moves"
[[classes]]
class = "NETWORK"
event = "FABRIC_HANG"
[event_unknown]
level = "NOTICE"
[event_unlocated]
text_en = "[Job {job} ]stands still"
)",
                                                    "gateway.toml");
  ASSERT_TRUE(config.ok()) << config.error().message;
  const EventTable& table = config->incidents.table;
  EXPECT_EQ(table.TypeOf(HangClass::kNetwork), "FABRIC_HANG");
  EXPECT_EQ(table.TypeOf(HangClass::kGpuStuck), "NCCL_TIMEOUT");
  EXPECT_EQ(table.Find("FABRIC_HANG")->ending, Ending::kJobMoves);
  EXPECT_EQ(table.unknown().severity, Severity::kNotice);
  EXPECT_EQ(table.unlocated().english, "[Job {job} ]stands still");
  EXPECT_TRUE(table.low_utilisation_is_p0());
  EXPECT_FALSE(DefaultGatewayConfig().incidents.table.low_utilisation_is_p0());
  EXPECT_THAT(ErrorOf("[[classes]]\nclass = \"NETWORK\"\nevent = \"NO_SUCH\"\n"),
              HasSubstr("gateway.toml:3:9: event: there is no row"));
  EXPECT_THAT(ErrorOf("[[classes]]\nclass = \"NET\"\nevent = \"X\"\n"), HasSubstr("PROXY_STUCK"));
}

TEST(GatewayConfig, TwoListenersDoNotShareAnAddress) {
  EXPECT_THAT(ErrorOf("listen = \"127.0.0.1:9000\"\nagents = \"127.0.0.1:9000\"\n"),
              HasSubstr("gateway.toml:2:10: agents: 127.0.0.1:9000"));
  EXPECT_THAT(ErrorOf("listen = \"0.0.0.0:8081\"\n"), HasSubstr("an address of its own"));
  EXPECT_THAT(ErrorOf("listen = [\"unix:/run/a\", \"unix:/run/a\"]\n"), HasSubstr("listen: "));
  EXPECT_THAT(ErrorOf("listen = [\"unix:/run/a\", \"unix:/run//x/../a\"]\n"),
              HasSubstr("listen: "));
  EXPECT_EQ(ErrorOf("listen = [\"10.0.0.1\", \"10.0.0.2\", \"[::1]:8080\"]\n"), "");
}

TEST(GatewayConfig, LimitsOfDetectionThatMakeNoSenseAreRefusedWithWhy) {
  auto error = [](const std::string& lines) { return ErrorOf("[detection]\n" + lines + "\n"); };
  EXPECT_THAT(error("red_after_ms = 100"),
              HasSubstr("gateway.toml:2:16: red_after_ms: 100 is too short, at least 500"));
  EXPECT_THAT(error("red_after_ms = 550"), HasSubstr("arrival_lag_max_ms"));
  EXPECT_THAT(error("confirm_apart_ms = 900"), HasSubstr("red_after_ms: 1500 is too short"));
  EXPECT_THAT(error("late_limit_ms = 1000"), HasSubstr("late_limit_ms"));
  EXPECT_THAT(error("dead_red_after_ms = 0"), HasSubstr("dead_red_after_ms"));
  EXPECT_THAT(error("agent_silent_ms = 100"), HasSubstr("250 ms"));
  EXPECT_THAT(error("node_silent_ms = 600"), HasSubstr("agent_silent_ms"));
  EXPECT_EQ(error("red_after_ms = 500\narrival_lag_max_ms = 400"), "");
}

TEST(GatewayConfig, AStateFolderThatCannotBeUsedIsAWarning) {
  std::string here = std::filesystem::temp_directory_path().string();
  EXPECT_TRUE(StateDirWarnings(here).empty());
  // It can be made.
  EXPECT_EQ(StateDirWarnings(here + "/no-such-folder").size(), 1u);
  auto neither = StateDirWarnings(here + "/no-such-folder/state");
  ASSERT_EQ(neither.size(), 2u);
  EXPECT_THAT(neither[1], HasSubstr("no-such-folder: "));
}

TEST(GatewayConfig, RolesAreGivenToPlacesUsersGroupsAndKeys) {
  Result<GatewayConfig> config = ParseGatewayConfig(R"(
[access]
loopback = "view"
[[access.users]]
user = "root"
role = "ack"
[[access.users]]
group = "27"
role = "admin"
[[access.keys]]
key_file = "/etc/gpu-sentinel/keys/ops"
role = "admin"
)",
                                                    "gateway.toml");
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config->access.loopback, Role::kView);
  EXPECT_EQ(config->access.network, Role::kNone);
  EXPECT_EQ(config->access.users.at(0).user, 0u);
  EXPECT_EQ(config->access.users.at(1).group, 27u);
  EXPECT_EQ(config->access.keys.at(0).key_file, "/etc/gpu-sentinel/keys/ops");
  EXPECT_THAT(ErrorOf("[[access.keys]]\nrole = \"ack\"\n"), HasSubstr("either a key_file or a"));
  EXPECT_THAT(ErrorOf("[access]\nsocket = \"root\"\n"),
              HasSubstr("gateway.toml:2:10: socket: one of none, view, ack, admin"));
  EXPECT_THAT(ErrorOf("[[access.users]]\ngroup = \"no-such-group\"\n"),
              HasSubstr("there is no group 'no-such-group' on this host"));
  EXPECT_THAT(ErrorOf("[[access.users]]\nrole = \"ack\"\n"), HasSubstr("either a user or a group"));
  EXPECT_THAT(ErrorOf("[[access.users]]\nuser = \"1\"\ngroup = \"1\"\n"),
              HasSubstr("either a user or a group"));
}

TEST(Inventory, AHostIsNamedOnce) {
  auto twice = ParseInventory("[[host]]\nname = 'n1'\n[[host]]\nname = 'n1-5f7c9d8b4a'\n",
                              "inventory.toml", {});
  ASSERT_FALSE(twice.ok());
  EXPECT_THAT(twice.error().message, HasSubstr("inventory.toml:4:8: name: 'n1-5f7c9d8b4a'"));
  EXPECT_THAT(ErrorOf("key_file='k'\n[[terminals]]\nname='a'\naddress='x'\n[[terminals]]\n"
                      "name='a'\naddress='y'\n"),
              HasSubstr("gateway.toml:6:6: name: it is taken already"));
}

TEST(Inventory, TellsWhereAHostStands) {
  auto hosts = ParseInventory(R"(
[[host]]
name = "gpu-worker-08"
rack = "A03"
unit = 12
terminals = ["hall-1"]
gpus = { "0000:3b:00.0" = 2 }
state = "drained"
)",
                              "inventory.toml", {{"hall-1", {}, "", SignatureUse::kAuto}});
  ASSERT_TRUE(hosts.ok()) << hosts.error().message;
  EXPECT_EQ(hosts->at(0).rack, "A03");
  EXPECT_EQ(hosts->at(0).unit, 12);
  EXPECT_EQ(hosts->at(0).gpus.at("0000:3b:00.0"), 2);
  EXPECT_EQ(hosts->at(0).state, NodeState::kDrained);
  auto odd = ParseInventory("[[host]]\nname='x'\nstate='broken'\n", "i", {});
  ASSERT_FALSE(odd.ok());
  EXPECT_THAT(odd.error().message, HasSubstr("in-service, drained, cordoned, reserved"));
  EXPECT_FALSE(ParseInventory("[[hosts]]\nname='x'\n", "i", {}).ok());
}

TEST(GatewayConfig, QuietHoursAreTimesOfTheSitesDay) {
  Result<GatewayConfig> config =
      ParseGatewayConfig("[voice]\nquiet_from = \"23:30\"\nquiet_until = \"06:05\"\n", "g.toml");
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config->quiet_from, std::chrono::minutes(23 * 60 + 30));
  EXPECT_EQ(config->quiet_until, std::chrono::minutes(6 * 60 + 5));
  for (const char* wrong : {"24:00", "7:30", "07:60", "0730", "07:3x", "-1:00", "07:30 "}) {
    config = ParseGatewayConfig(std::string("[voice]\nquiet_from = \"") + wrong + "\"\n", "g.toml");
    ASSERT_FALSE(config.ok()) << wrong;
    EXPECT_NE(config.error().message.find("g.toml:2"), std::string::npos) << config.error().message;
  }
}

Status ParseTestedGateway(const std::string& text) {
  TRY(ParseGatewayConfig(text, "f.toml"));
  return {};
}

Status ParseTestedInventory(const std::string& text) {
  TRY(ParseInventory(text, "f.toml", {{"hall-1", {}, "", SignatureUse::kAuto}}));
  return {};
}

TEST(GatewayConfig, EveryKeyRefusesAValueThatItDoesNotTakeWithItsPlace) {
  ExpectEveryKeyToTellThePlace(
      {{"", {}},
       {"[[terminals]]", {{"name", "'a'"}, {"address", "'b'"}}},
       {"[tls]", {}},
       {"[ingest]", {}},
       {"[[senders]]", {{"name", "'a'"}, {"key_file", "'b'"}}},
       {"[[routes]]", {{"terminals", "['hall-1']"}}},
       {"[[webhook]]", {{"name", "'a'"}, {"url", "'http://b'"}, {"secret_file", "'c'"}}},
       {"[[alertmanager]]", {{"name", "'a'"}, {"url", "'http://b'"}}},
       {"[alerts]", {}},
       {"[[alerts.rules]]", {{"event_type", "'A'"}}},
       {"[site]", {}},
       {"[detection]", {}},
       {"[ring]", {}},
       {"[voice]", {}},
       {"[delivery]", {}},
       {"[access]", {}},
       {"[[access.users]]", {{"user", "'0'"}}},
       {"[[access.keys]]", {{"certificate", "'a'"}}},
       {"[[events]]", {{"type", "'A'"}}},
       {"[event_unknown]", {}},
       {"[[classes]]", {{"class", "'NETWORK'"}, {"event", "'NCCL_TIMEOUT'"}}},
       {"[event_unlocated]", {}}},
      [](const std::string& text) {
        // A route needs a terminal that there is.
        const bool route = text.starts_with("[[routes]]");
        return ParseTestedGateway(text +
                                  (route ? "[[terminals]]\nname = 'hall-1'\naddress = 'b'\n" : ""));
      });
  ExpectEveryKeyToTellThePlace({{"", {}}, {"[[host]]", {{"name", "'n1'"}}}}, ParseTestedInventory);
}

TEST(GatewayConfig, WhatTheStartCouldNotUseIsRefusedWithItsPlace) {
  const std::string terminal = "key_file = 'k'\n[[terminals]]\nname = 'hall-1'\n";
  const std::string open = "ingest.open_to = 'network'\n";
  ExpectRefusedInTheLastLine(
      {{"listen = []", "listen", "at least one"},
       {"listen = ''", "listen", "empty"},
       {"listen = ['127.0.0.1',\n '300.1.1.1']", "listen", "not an IPv4 address"},
       {"listen = '[zz]:80'", "listen", "not an IPv6 address"},
       {"listen = 'unix:g.sock'", "listen", "absolute path"},
       {"listen = '10.0.0.1:99999'", "listen", "65535"},
       {open + "agents = ['nohost:80']", "agents", "an IP address of this host is expected"},
       {open + "agents = ['127.0.0.1',\n '10.0.0']", "agents", "not an IPv4 address"},
       {"state_dir = ''", "state_dir", "path of a folder"},
       {"key_file = ''", "key_file", "a path is expected"},
       {"inventory = ''", "inventory", "a path is expected"},
       {terminal + "address = '0.0.0.0'", "address", "one of them is expected"},
       {terminal + "address = '10.0.0.9:0'", "address", "a port from 1 to 65535"},
       {terminal + "address = 'a b'", "address", "no host has"},
       {terminal + "address = 'x'\n[[routes]]\nterminals = ['hall-1',\n 'hall-2']", "terminals",
        "there is no terminal 'hall-2'; [[terminals]] has hall-1"},
       {terminal + "address = 'x'\n[[routes]]\nterminals = []", "terminals", "at least one"},
       {"[ring]\npartitions = ''", "partitions", "empty"},
       {"[[events]]\ntype = 'A'\n[[events]]\ntype = 'B'\n[[events]]\ntype = 'A'", "type",
        "it has a row already"},
       {"[site]\ntimezone = 'Mars/Olympus Mons'", "timezone", "such as Asia/Shanghai"}},
      ParseTestedGateway);
  EXPECT_EQ(ErrorOf("agents = []"), "") << "a gateway of what senders post";
}

TEST(Inventory, OddEntriesAreRefusedWithTheirPlace) {
  ExpectRefusedInTheLastLine(
      {{"[[host]]\nname = ''", "name", "without blanks"},
       {"[[host]]\nname = 'a b'", "name", "without blanks"},
       {"[[host]]\nname = '" + std::string(254, 'a') + "'", "name", "1 to 253 bytes"},
       {"[[host]]\nname = 'a'\nterminals = ['hall-1',\n'hall-9']", "terminals",
        "there is no terminal 'hall-9'"},
       {"[[host]]\nname = 'a'\nterminals = ['']", "terminals", "empty"},
       {"[[host]]\nname = 'a'\ngpus = { 'card two' = 2 }", "gpus", "such as 0000:3b:00.0"},
       {"[[host]]\nname = 'a'\ngpus = { '0000:3b:00.0' = -2 }", "gpus", "from 0 on"},
       {"[[host]]\nname = 'a'\n[[host]]\nname = 'b'\n[[host]]\nname = 'a'", "name", "same host"}},
      ParseTestedInventory);
  const auto nameless = ParseInventory("[[host]]\nrack = 'A03'\n", "f.toml", {});
  ASSERT_FALSE(nameless.ok());
  EXPECT_EQ(nameless.error().message, "f.toml:1:1: name: it is missing");
}

TEST(GatewayConfig, AFileThatItNamesAndThatIsNotThereIsToldWhereItIsNamed) {
  const TestingFolder folder;
  const std::string path = (folder.path() / "gateway.toml").string();
  const auto error = [&path](const std::string& lines) {
    std::ofstream(path) << lines;
    const Result<GatewayConfig> config = LoadGatewayConfig(path);
    return config.ok() ? "" : config.error().message;
  };
  EXPECT_EQ(error(""), "");
  EXPECT_EQ(error("\nkey_file = '/no/such.key'"),
            path + ":2:12: key_file: /no/such.key: No such file or directory");
  EXPECT_EQ(error("inventory = '/no/such.toml'"),
            path + ":1:13: inventory: /no/such.toml: No such file or directory");
  EXPECT_EQ(error("inventory = '/'"), path + ":1:13: inventory: /: it is a folder");
  EXPECT_EQ(error("[tls]\nca = '/no/ca.crt'"),
            path + ":2:6: ca: /no/ca.crt: No such file or directory");
  // What stands in a file is told where it stands.
  const std::string hosts = (folder.path() / "inventory.toml").string();
  std::ofstream(hosts) << "[[host]]\nname = 'n1'\nterminals = 'hall-1'\n";
  EXPECT_THAT(error("inventory = '" + hosts + "'"),
              HasSubstr(hosts + ":3:13: terminals: there is no terminal 'hall-1'"));
}

}  // namespace
}  // namespace sentinel
