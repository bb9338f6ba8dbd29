#include "ctl/views.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace sentinel {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

json Hang() {
  return {{"id", "3f9c0a4b7d21e658"},
          {"state", "open"},
          {"severity", "P0"},
          {"event_type", "NCCL_TIMEOUT"},
          {"class", "GPU_STUCK"},
          {"culprit", {{"rank", 2}, {"host", "n2"}, {"rack", "A03"}, {"gpu", nullptr}}},
          {"suspects", json::array()},
          {"text", "节点 n2 触发通信死锁"},
          {"evidence", json::array({{{"zh", "核函数停了"}, {"en", "its kernel stopped"}}})},
          {"count", 1},
          {"opened_at", "2026-08-17T08:30:00.250Z"},
          {"notifications", json::array({{{"terminal", "hall"},
                                          {"reason", "first"},
                                          {"state", "delivered"},
                                          {"attempts", 1},
                                          {"created_at", "2026-08-17T08:30:00.250Z"},
                                          {"delivered_at", "2026-08-17T08:30:01.000Z"},
                                          {"error", nullptr}}})}};
}
json Answer(json incident) {
  return {{"now_at", "2026-08-17T08:31:00.000Z"},
          {"incidents", json::array({std::move(incident)})}};
}

TEST(Views, AnIncidentIsALine) {
  const std::string view = IncidentsView(Answer(Hang()), {});
  EXPECT_THAT(view, HasSubstr("3f9c0a4b7d21e658  08-17 08:30:00  P0"));
  EXPECT_THAT(view, HasSubstr("NCCL_TIMEOUT/GPU_STUCK  A03 n2 rank 2"));
}

TEST(Views, WhereNobodyIsNamedTheSuspectsAre) {
  json hang = Hang();
  hang["culprit"] = {{"rank", nullptr}, {"host", nullptr}};
  hang["suspects"] = json::array({{{"rank", 3}, {"host", "n3"}}, {{"rank", 4}, {"host", "n4"}}});
  EXPECT_THAT(IncidentsView(Answer(hang), {}), HasSubstr("one of rank 3, 4"));
  // Where the rank in the whole job is known, that is the one people look for.
  hang["suspects"][0]["job_rank"] = 103;
  hang["suspects"][1]["job_rank"] = 104;
  EXPECT_THAT(IncidentsView(Answer(hang), {}), HasSubstr("one of rank 103, 104"));
}

TEST(Views, OneIncidentIsToldWithItsEvidenceAndWhoHeardOfIt) {
  EXPECT_THAT(IncidentView(Hang(), {}),
              testing::AllOf(HasSubstr("节点 n2 触发通信死锁"), HasSubstr("- 核函数停了"),
                             HasSubstr("08-17 08:30:01  hall      first  delivered")));
  EXPECT_THAT(IncidentView(Hang(), {false, Wording::kEnglish}), HasSubstr("- its kernel stopped"));
}

TEST(Views, OnlyWhatChangedIsNews) {
  const json before = Answer(Hang());
  EXPECT_EQ(ChangesView(before, before, {}), "");
  EXPECT_THAT(ChangesView(json(), before, {}), HasSubstr("P0 open  NCCL_TIMEOUT/GPU_STUCK"));
  json closed = Hang();
  closed["state"] = "closed";
  closed["close_reason"] = "moved";
  EXPECT_THAT(ChangesView(before, Answer(closed), {}), HasSubstr("P0 closed (moved)"));
  EXPECT_EQ(ChangesView(json(), Answer(closed), {}), "");  // it was over before we looked
  json counted = Hang();
  counted["count"] = 7;
  EXPECT_EQ(ChangesView(before, Answer(counted), {}), "");
}

TEST(Views, AnAnswerThatIsNoSuchThingIsAnEmptyOne) {
  for (const json& odd : {json(), json(7), json::array(), json{{"incidents", 3}},
                          json{{"incidents", json::array({nullptr, 1})}}}) {
    EXPECT_THAT(IncidentsView(odd, {}), Not(HasSubstr("P0")));
    EXPECT_THAT(ChangesView(odd, odd, {}), Not(HasSubstr("P0")));
    EXPECT_THAT(IncidentView(odd, {}), Not(HasSubstr("P0")));
  }
  EXPECT_EQ(TerminalsView(json(), {}), "no terminals are configured\n");
  EXPECT_EQ(AgentsView(json(), {}), "no agent has been heard of\n");
}

TEST(Views, ATerminalThatIsMutedSaysUntilWhen) {
  const json answer = {
      {"terminals", json::array({{{"name", "hall"},
                                  {"address", "10.0.0.1:8090"},
                                  {"kind", "sentinel"},
                                  {"reachable", true},
                                  {"muted_until_at", "2026-08-17T08:45:00.000Z"}}})}};
  EXPECT_THAT(TerminalsView(answer, {}),
              testing::AllOf(HasSubstr("yes"), HasSubstr("08-17 08:45:00")));
}

}  // namespace
}  // namespace sentinel
