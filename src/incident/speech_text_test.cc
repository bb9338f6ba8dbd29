#include "incident/speech_text.h"

#include <gtest/gtest.h>

#include "incident/site.h"

namespace sentinel {
namespace {

TEST(SpeechText, AGeneratedSuffixIsDroppedOnceForSpeech) {
  EXPECT_EQ(CleanHost("gpu-worker-08-5f7c9d8b4a"), "gpu-worker-08");
  EXPECT_EQ(CleanHost("gpu-worker-08-20260817"), "gpu-worker-08");
  EXPECT_EQ(CleanHost("node-deadbeef-5f7c9d8b"), "node-deadbeef");
  EXPECT_EQ(CleanHost("gpu-worker-08-5f7c9d8"), "gpu-worker-08-5f7c9d8");          // 7 digits
  EXPECT_EQ(CleanHost("gpu-worker-08-5f7c9d8b4a1"), "gpu-worker-08-5f7c9d8b4a1");  // 11
  EXPECT_EQ(CleanHost("gpu-worker-08-5F7C9D8B"), "gpu-worker-08-5F7C9D8B");
}

TEST(SpeechText, ANameIsCutByCharactersNeverInsideOne) {
  std::string name;
  for (int i = 0; i < 30; ++i) name += "节";
  EXPECT_EQ(CleanHost(name).size(), 25u * 3);
  EXPECT_EQ(CleanHost("abcdefghijklmnopqrstuvwxyz0123"), "abcdefghijklmnopqrstuvwxy");
}

TEST(SpeechText, ForIdentityASuffixIsGeneratedOnlyIfItMixesLettersAndDigits) {
  EXPECT_EQ(IdentityHost("gpu-worker-08-5f7c9d8b4a"), "gpu-worker-08");
  EXPECT_EQ(IdentityHost("gpu-worker-08-20260817"), "gpu-worker-08-20260817");
  EXPECT_EQ(IdentityHost("node-deadbeef"), "node-deadbeef");
  std::string full = "a-very-long-host-name-in-a-hall-far-away-17";
  EXPECT_EQ(IdentityHost(full), full);
}

TEST(SpeechText, TheRackIsSpokenWithoutItsPrefix) {
  EXPECT_EQ(SpokenRack("机架 A03"), "A03");
  EXPECT_EQ(SpokenRack("机架A03"), "A03");
  EXPECT_EQ(SpokenRack("A03"), "A03");
  EXPECT_EQ(SpokenRack(""), "");
}

TEST(SpeechText, WhatCannotBeSpokenIsTakenOut) {
  EXPECT_EQ(Sanitise("a\x1b[31m\tb\n", 50), "a(31m b");
  EXPECT_EQ(Sanitise("x\u202Ey\u200Bz\u0007", 50), "xyz");
  EXPECT_EQ(Sanitise("[v0]sound", 50), "(v0)sound");
  EXPECT_EQ(Sanitise("ok\xff\xe8\x8a", 50), "ok");
  EXPECT_EQ(Sanitise("\xed\xa0\x80 surrogate", 50), "surrogate");
}

TEST(SpeechText, APhraseWithAnUnknownFieldIsLeftOut) {
  SpeechFields fields;
  fields.host = "n1";
  EXPECT_EQ(FillIn("预警，[机架 {rack} ][节点 {host} ]告警", fields), "预警，节点 n1 告警");
  fields.rack = "A03";
  EXPECT_EQ(FillIn("预警，[机架 {rack} ][节点 {host} ]告警", fields),
            "预警，机架 A03 节点 n1 告警");
}

TEST(SpeechText, AFieldsOwnBracketsAreText) {
  SpeechFields fields;
  fields.type = "{rack}";
  EXPECT_EQ(FillIn("x {type}", fields), "x {rack}");
}

TEST(SpeechText, TwoHostsThatWouldSoundAlikeAreCalledByTheirFullNames) {
  Site site;
  EXPECT_EQ(site.SpokenHost("A03", "gpu-worker-20260817"), "gpu-worker");
  EXPECT_EQ(site.SpokenHost("A03", "gpu-worker-20260818"), "gpu-worker-20260818");
  EXPECT_EQ(site.SpokenHost("A03", "gpu-worker-20260817"), "gpu-worker-20260817");
  EXPECT_EQ(site.SpokenHost("B01", "gpu-worker-20260817"), "gpu-worker");
  // A pod that came back under a new suffix is the same node.
  EXPECT_EQ(site.SpokenHost("A03", "pod-1-5f7c9d8b4a"), "pod-1");
  EXPECT_EQ(site.SpokenHost("A03", "pod-1-6a7c9d8b4b"), "pod-1");
}

HostEntry HostOf(const std::string& name, const std::string& alias = "") {
  HostEntry host;
  host.name = name;
  host.rack = "机架 A03";
  host.alias = alias;
  return host;
}

TEST(SpeechText, TheInventoryTellsHostsApartFromTheFirstWordOn) {
  Site site({}, {}, {HostOf("gpu-worker-08"), HostOf("gpu-worker-08-20260817")});
  EXPECT_EQ(site.SpokenHost("A03", "gpu-worker-08-20260817"), "gpu-worker-08-20260817");
  EXPECT_EQ(site.SpokenHost("A03", "gpu-worker-08"), "gpu-worker-08");
  EXPECT_EQ(site.SpokenHost("A03", "gpu-worker-08-5f7c9d8b4a"), "gpu-worker-08");
}

TEST(SpeechText, AHostAnAgentHasNamedCounts) {
  Site site;
  site.OnHostSeen("gpu-worker-08");
  EXPECT_EQ(site.SpokenHost("", "gpu-worker-08-20260817"), "gpu-worker-08-20260817");
}

TEST(SpeechText, AnAliasIsSpokenAndIsNobodyElsesName) {
  Site site({}, {}, {HostOf("gpu-worker-08", "8 号机"), HostOf("n1", "n2")});
  EXPECT_EQ(site.SpokenHost("A03", "gpu-worker-08-5f7c9d8b4a"), "8 号机");
  EXPECT_EQ(site.SpokenHost("A03", "n2-20260817"), "n2-20260817");
}

TEST(SpeechText, WhereTheCutNameDoesNotTellThemApartTheWholeOneIsSpoken) {
  auto zhong = [](int count) {
    std::string name;
    for (int i = 0; i < count; ++i) name += "中";
    return name;
  };
  Site site({}, {}, {HostOf(zhong(30)), HostOf(zhong(25)), HostOf(zhong(100))});
  EXPECT_EQ(site.SpokenHost("A03", zhong(25)), zhong(25));
  EXPECT_EQ(site.SpokenHost("A03", zhong(30)), zhong(30));
  EXPECT_EQ(site.SpokenHost("A03", zhong(100)), zhong(64));
  Site dates({}, {},
             {HostOf("a-long-worker-name-20260817"), HostOf("a-long-worker-name-20260818")});
  EXPECT_EQ(dates.SpokenHost("A03", "a-long-worker-name-20260817"), "a-long-worker-name-20260817");
  Site cut({}, {}, {HostOf("a-very-long-name-20260817"), HostOf("a-very-long-name")});
  EXPECT_EQ(cut.SpokenHost("A03", "a-very-long-name-20260817"), "a-very-long-name-20260817");
}

TEST(SpeechText, BeyondTheBoundANameIsSpokenInFull) {
  Site site;
  for (size_t i = 0; i < kNamesHeardMax; ++i) site.OnHostSeen("n" + std::to_string(i));
  EXPECT_EQ(site.SpokenHost("", "n7"), "n7");
  EXPECT_EQ(site.SpokenHost("", "late-20260817"), "late-20260817");
}

TEST(Site, RoutesChooseByRackAndLevelAndAllIsTheDefault) {
  HostEntry host;
  host.name = "n9";
  host.terminals = {"office"};
  Site site({"hall-a", "hall-b", "office"},
            {{"A03", std::nullopt, {}, {"hall-a"}}, {"", Severity::kP0, {}, {"office"}}}, {host});
  using Names = std::vector<std::string>;
  EXPECT_EQ(site.TerminalsFor({"机架A03", "n1", Severity::kP1, ""}), (Names{"hall-a"}));
  EXPECT_EQ(site.TerminalsFor({"A03", "n1", Severity::kP0, ""}), (Names{"hall-a", "office"}));
  EXPECT_EQ(site.TerminalsFor({"B01", "n1", Severity::kP1, ""}),
            (Names{"hall-a", "hall-b", "office"}));
  EXPECT_EQ(site.TerminalsFor({"A03", "n9-5f7c9d8b4a", Severity::kP1, ""}), (Names{"office"}));
}

TEST(Site, ARouteMayBeForJobsAndWhatBelongsToNoneFitsIt) {
  Site site({"hall", "team-a", "all"},
            {{"", std::nullopt, {"slurm:77.*", "llm-*"}, {"team-a"}},
             {"A03", Severity::kP0, {"llm-*"}, {"all"}}},
            {});
  using Names = std::vector<std::string>;
  EXPECT_EQ(site.TerminalsFor({"A01", "n1", Severity::kP0, "slurm:77.0"}), (Names{"team-a"}));
  EXPECT_EQ(site.TerminalsFor({"A03", "n1", Severity::kP0, "llm-9"}), (Names{"team-a", "all"}));
  EXPECT_EQ(site.TerminalsFor({"A03", "n1", Severity::kP1, "llm-9"}), (Names{"team-a"}));
  EXPECT_EQ(site.TerminalsFor({"A03", "n1", Severity::kP0, "slurm:771.0"}), site.terminals());
  EXPECT_EQ(site.TerminalsFor({"A03", "n1", Severity::kP0, ""}), site.terminals());
  EXPECT_EQ(site.Choose({"A03", "n1", Severity::kP0, "llm-9"})[1].why, "route 2 fits");
}

}  // namespace
}  // namespace sentinel
