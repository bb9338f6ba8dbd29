#include "floor/floor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "floor/floor_testing.h"

namespace sentinel {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr Color kOrange{255, 165, 0};
constexpr Color kGreen{0, 255, 0};

// A floor with a hand on its clock and a voice that takes two seconds a sentence.
class World {
 public:
  explicit World(FloorOptions options = {}) : floor_(options, now) {}

  Floor::Taken Send(const std::string& incident, Severity severity,
                    std::optional<uint64_t> sequence = std::nullopt, std::string text = "") {
    FloorMessage message;
    message.incident_id = incident;
    message.severity = severity;
    message.sequence = sequence;
    TerminalMessage& body = message.body;
    body.text = text.empty() ? "节点 " + incident : text;
    if (severity == Severity::kP0) {
      body = {body.text, kRed, LightMode::kFlash, AudioMode::kCycle, 3};
    } else if (severity == Severity::kP1) {
      body = {body.text, kOrange, LightMode::kBreath, AudioMode::kOnce, 1};
    } else if (severity == Severity::kNormal) {
      body = {"训练集群已恢复正常", kGreen, LightMode::kSteady, AudioMode::kOnce, 1};
    } else {
      body = {"", Color{}, LightMode::kOff, AudioMode::kOff, 1};
    }
    Floor::Taken taken = floor_.Accept(message, now);
    Step();
    return taken;
  }

  Floor::Press Press() {
    Floor::Press press = floor_.Pressed(now);
    Step();
    return press;
  }

  void Run(Duration length) {
    for (Instant end = now + length; now < end; now = now + kFramePeriod) Step();
  }

  Color Corner() { return PixelAt(floor_.Render(now).frame, 0, 0); }
  // Lit frames of `color` in the next two seconds, of 60.
  int Lit(Color color) {
    int lit = 0;
    for (int i = 0; i < 2 * kFramesPerSecond; i++, now = now + kFramePeriod) {
      Step();
      if (Corner() == color) lit++;
    }
    return lit;
  }

  Floor& floor() { return floor_; }

  Instant now{seconds(5000)};
  std::vector<std::string> heard;  // with "!" where loud
  int hushed = 0;

 private:
  void Step() {
    floor_.Render(now);
    if (saying_ && now >= ends_) {
      floor_.Spoken(*saying_, now);
      saying_.reset();
    }
    for (const SpeechOrder& order : floor_.Speech(now)) {
      if (const auto* say = std::get_if<Say>(&order)) {
        heard.push_back(say->text + (say->loudness == Loudness::kLoud ? "!" : ""));
        saying_ = say->id;
        ends_ = now + seconds(2);
      } else {
        hushed++;
        saying_.reset();
      }
    }
  }

  Floor floor_;
  std::optional<uint64_t> saying_;
  Instant ends_;
};

TEST(Floor, AP0IsRedFlashingAndSaidLoudThreeTimes) {
  World world;
  Floor::Taken taken = world.Send("a", Severity::kP0);
  EXPECT_EQ(taken.disposition, Disposition::kPlaying);
  EXPECT_THAT(world.floor().Render(world.now).lit, ElementsAre(taken.serial));
  EXPECT_NEAR(world.Lit(kRed), 30, 2);
  world.Run(minutes(2));
  EXPECT_THAT(world.heard, ElementsAre("节点 a!", "节点 a!", "节点 a!"));
  EXPECT_NEAR(world.Lit(kRed), 30, 2);
}

TEST(Floor, AWarningBreathesOrangeAndIsSaidOnce) {
  World world;
  world.Send("a", Severity::kP1);
  EXPECT_EQ(world.Corner(), kOrange);
  world.Run(minutes(2));
  EXPECT_THAT(world.heard, ElementsAre("节点 a"));
  EXPECT_EQ(world.floor().look().mode, LightMode::kBreath);
}

TEST(Floor, ShowsTheMostSevereAndFallsBackToWhatIsLeft) {
  World world;
  world.Send("warning", Severity::kP1);
  world.Send("fire", Severity::kP0);
  EXPECT_EQ(world.Send("warning2", Severity::kP1).disposition, Disposition::kQueued);
  EXPECT_EQ(world.floor().look().color, kRed);
  world.Send("fire", Severity::kNotice);
  EXPECT_EQ(world.floor().look().color, kOrange);
  EXPECT_EQ(world.floor().look().mode, LightMode::kBreath);
}

TEST(Floor, GreenIsSteadyForTenSecondsThenOff) {
  World world;
  world.Send("a", Severity::kP0);
  world.Run(seconds(1));
  world.heard.clear();
  Floor::Taken taken = world.Send("a", Severity::kNormal);
  EXPECT_EQ(taken.disposition, Disposition::kPlaying);
  EXPECT_THAT(world.heard, ElementsAre("训练集群已恢复正常"));
  EXPECT_EQ(world.Lit(kGreen), 60);
  world.Run(milliseconds(7900));
  EXPECT_EQ(world.Corner(), kGreen);
  world.Run(milliseconds(200));
  EXPECT_EQ(world.floor().look().kind, LookKind::kIdle);
}

TEST(Floor, WhileAnotherP0BurnsTheLightStaysItsAndNobodySaysAllIsWell) {
  World world;
  world.Send("a", Severity::kP0);
  world.Send("b", Severity::kP0);
  world.heard.clear();
  EXPECT_EQ(world.Send("a", Severity::kNormal).disposition, Disposition::kSuperseded);
  EXPECT_EQ(world.floor().look().color, kRed);
  world.Run(seconds(30));
  EXPECT_THAT(world.heard, testing::Not(testing::Contains("训练集群已恢复正常")));
  world.Send("b", Severity::kNormal);
  EXPECT_EQ(world.floor().look().color, kGreen);
}

TEST(Floor, ARecoveryThatANewP0InterruptsIsNotSaidAfterIt) {
  World world;
  world.Send("a", Severity::kNormal);
  world.Run(seconds(1));
  world.Send("b", Severity::kP0);
  world.Run(seconds(30));
  EXPECT_THAT(world.heard, ElementsAre("训练集群已恢复正常", "节点 b!", "节点 b!", "节点 b!"));
}

TEST(Floor, WhatEndsWithoutRecoveryGoesDarkAndSilent) {
  World world;
  world.Send("a", Severity::kP0);
  world.Run(seconds(1));
  world.heard.clear();
  world.Send("a", Severity::kNotice);
  EXPECT_EQ(world.floor().look().kind, LookKind::kIdle);
  EXPECT_EQ(world.hushed, 1);
  world.Run(seconds(30));
  EXPECT_THAT(world.heard, IsEmpty());
}

TEST(Floor, AnAlarmDuringGreenTakesTheLightAndGreenDoesNotComeBack) {
  World world;
  world.Send("a", Severity::kNormal);
  world.Send("b", Severity::kP1);
  EXPECT_EQ(world.floor().look().color, kOrange);
  world.Send("b", Severity::kNotice);
  EXPECT_EQ(world.floor().look().kind, LookKind::kIdle);
}

TEST(Floor, OnePressSilencesAndMakesTheLightSteady) {
  World world;
  world.Send("a", Severity::kP0);
  world.Run(seconds(1));
  Floor::Press press = world.Press();
  EXPECT_TRUE(press.acknowledged);
  EXPECT_THAT(press.incidents, ElementsAre("a"));
  EXPECT_EQ(world.hushed, 1);
  EXPECT_EQ(world.Lit(kRed), 60);
  world.heard.clear();
  EXPECT_EQ(world.Send("a", Severity::kP0, 5).disposition, Disposition::kMuted);
  EXPECT_EQ(world.Send("w", Severity::kP1).disposition, Disposition::kMuted);
  world.Run(minutes(10));
  EXPECT_THAT(world.heard, IsEmpty());
  EXPECT_EQ(world.Lit(kRed), 60);
}

TEST(Floor, PressedWithNothingOpenItBlinksAndMutesNothing) {
  World world;
  EXPECT_FALSE(world.Press().acknowledged);
  EXPECT_EQ(world.Corner(), (Color{48, 48, 48}));
  EXPECT_FALSE(world.floor().muted_until().has_value());
  world.Send("a", Severity::kP1);
  EXPECT_THAT(world.heard, ElementsAre("节点 a"));
}

TEST(Floor, ANewP0WhileMutedIsHeardOnceAtNormalVolumeAtMostOneAMinute) {
  World world;
  world.Send("a", Severity::kP0);
  world.Press();
  world.heard.clear();
  world.Run(seconds(5));
  EXPECT_EQ(world.Send("b", Severity::kP0).disposition, Disposition::kPlaying);
  EXPECT_NEAR(world.Lit(kRed), 30, 2);  // not acknowledged: it flashes
  EXPECT_EQ(world.Send("c", Severity::kP0).disposition, Disposition::kQueued);
  world.Run(seconds(50));
  EXPECT_THAT(world.heard, ElementsAre("节点 b"));
  world.Run(seconds(10));
  EXPECT_THAT(world.heard, ElementsAre("节点 b", "节点 c"));
  world.Run(minutes(5));
  EXPECT_EQ(world.heard.size(), 2u);
}

TEST(Floor, StrictMuteIsSilentForANewP0Too) {
  World world(FloorOptions{.strict_mute = true});
  world.Send("a", Severity::kP0);
  world.Press();
  world.heard.clear();
  EXPECT_EQ(world.Send("b", Severity::kP0).disposition, Disposition::kMuted);
  world.Run(minutes(5));
  EXPECT_THAT(world.heard, IsEmpty());
  EXPECT_EQ(world.floor().look().mode, LightMode::kFlash);
}

TEST(Floor, ARiseInSeverityOfAnAcknowledgedIncidentIsANewAlarm) {
  World world;
  world.Send("a", Severity::kP1, 1);
  world.Press();
  world.heard.clear();
  EXPECT_EQ(world.Send("a", Severity::kP0, 2).disposition, Disposition::kPlaying);
  EXPECT_THAT(world.heard, ElementsAre("节点 a"));
  EXPECT_EQ(world.floor().look().mode, LightMode::kFlash);
}

TEST(Floor, AMuteEndsByItselfWithOneReminderWhereNoGatewayGivesIt) {
  World world;
  world.Send("a", Severity::kP0);
  world.Press();
  world.heard.clear();
  world.Run(minutes(15) + seconds(1));
  EXPECT_FALSE(world.floor().muted_until().has_value());
  EXPECT_THAT(world.heard, ElementsAre("节点 a"));
  EXPECT_EQ(world.floor().look().mode, LightMode::kSteady);  // it stays acknowledged
  world.Run(minutes(30));
  EXPECT_EQ(world.heard.size(), 1u);
}

TEST(Floor, LeavesTheReminderToAGatewayThatIsThere) {
  World world(FloorOptions{.gateway_expected = true});
  world.Send("a", Severity::kP0);
  world.Press();
  world.heard.clear();
  for (int i = 0; i < 16 * 6; i++) {
    world.floor().Heard(world.now);
    world.Run(seconds(10));
  }
  EXPECT_THAT(world.heard, IsEmpty());
}

TEST(Floor, TheLongerOfTwoMutesStands) {
  World world;
  world.floor().Mute(world.now + minutes(5), world.now);
  EXPECT_EQ(world.floor().muted_until(), world.now + minutes(5));
  world.floor().Mute(world.now + minutes(2), world.now);
  EXPECT_EQ(world.floor().muted_until(), world.now + minutes(5));
  world.floor().Mute(world.now + minutes(60), world.now);
  EXPECT_EQ(world.floor().muted_until(), world.now + minutes(60));
  world.floor().Mute(world.now, world.now);
  EXPECT_EQ(world.floor().muted_until(), world.now + minutes(60));
}

TEST(Floor, APressIsShorterWhereTheGatewaySaysSoAndNeverLonger) {
  World world;
  world.Send("a", Severity::kP0);
  world.Press();
  world.heard.clear();
  world.floor().ShortenMute(world.now + minutes(20));
  EXPECT_EQ(world.floor().muted_until(), world.now + minutes(15));
  world.floor().ShortenMute(world.now + minutes(2));
  EXPECT_EQ(world.floor().muted_until(), world.now + minutes(2));
  world.Run(minutes(2) + seconds(1));
  EXPECT_FALSE(world.floor().muted_until().has_value());
  EXPECT_THAT(world.heard, ElementsAre("节点 a"));
  world.floor().ShortenMute(world.now + minutes(20));
  EXPECT_FALSE(world.floor().muted_until().has_value());
}

TEST(Floor, AMuteByCommandStopsInTheMiddleAndItsEndIsAtOnce) {
  World world;
  world.Send("a", Severity::kP0);
  world.floor().Mute(world.now + minutes(5), world.now);
  world.floor().Hush();
  world.heard.clear();
  world.Run(seconds(30));
  EXPECT_EQ(world.hushed, 1);
  EXPECT_THAT(world.heard, IsEmpty());
  EXPECT_EQ(world.floor().look().mode, LightMode::kFlash);  // nobody has acknowledged anything
  world.floor().Unmute();
  EXPECT_FALSE(world.floor().muted_until().has_value());
  world.Send("b", Severity::kP1);
  EXPECT_THAT(world.heard, ElementsAre("节点 b"));
}

TEST(Floor, BreathesWhiteWhenNoGatewayHasBeenHeardForFifteenSeconds) {
  World world(FloorOptions{.gateway_expected = true});
  world.Run(milliseconds(14900));
  EXPECT_EQ(world.floor().look().kind, LookKind::kIdle);
  world.Run(milliseconds(300));
  EXPECT_EQ(world.floor().look().kind, LookKind::kBlind);
  EXPECT_EQ(world.floor().look().color, (Color{255, 255, 255}));
  EXPECT_EQ(world.floor().look().mode, LightMode::kBreath);
  world.floor().Heard(world.now);
  world.Run(milliseconds(100));
  EXPECT_EQ(world.floor().look().kind, LookKind::kIdle);
  world.Run(seconds(16));
  world.Send("a", Severity::kP1);
  EXPECT_EQ(world.floor().look().color, kOrange);  // what burns is shown, blind or not
}

TEST(Floor, WithoutAGatewayOfItsOwnItIsNeverBlind) {
  World world;
  world.Run(minutes(1));
  EXPECT_EQ(world.floor().look().kind, LookKind::kIdle);
}

TEST(Floor, AnOldSenderNeedsNoHeaders) {
  World world;
  world.Send("", Severity::kP0, std::nullopt, "机架 A03 节点 n1 触发通信死锁");
  EXPECT_EQ(world.floor().look().text, "A03 n1");
  EXPECT_TRUE(world.Press().acknowledged);
  world.Send("", Severity::kP0, std::nullopt, "机架 B01 节点 n2 触发通信死锁");
  EXPECT_EQ(world.floor().look().mode, LightMode::kFlash);
  EXPECT_EQ(world.floor().look().text, "B01 n2");
  world.Send("", Severity::kNormal);
  EXPECT_EQ(world.floor().look().color, kGreen);
}

TEST(Floor, ThePlacesOfAllFiresAreOnTheMatrix) {
  World world;
  world.Send("n1", Severity::kP0);
  world.Send("n2", Severity::kP0);
  world.Send("n3", Severity::kP1);
  EXPECT_EQ(world.floor().look().text, "n2 + n1");
}

TEST(WithOwnLight, AWarningSentUnderTheLightOfAFireIsOrangeWhenTheFireIsOut) {
  FloorMessage warning;
  warning.severity = Severity::kP1;
  warning.body = {"节点 n2", kRed, LightMode::kFlash, AudioMode::kOnce, 1};
  FloorMessage own = WithOwnLight(warning);
  EXPECT_EQ(own.body,
            (TerminalMessage{"节点 n2", kOrange, LightMode::kBreath, AudioMode::kOnce, 1}));
  warning.body = {"节点 of the fire", kRed, LightMode::kSteady, AudioMode::kOff, 1};
  EXPECT_EQ(WithOwnLight(warning).body.text, "");
}

TEST(WithOwnLight, ARecoveryUnderAnothersLightIsNotGreen) {
  FloorMessage recovery;
  recovery.severity = Severity::kNormal;
  recovery.body = {"训练集群已恢复正常", kOrange, LightMode::kBreath, AudioMode::kOnce, 1};
  EXPECT_EQ(WithOwnLight(recovery).body.light_mode, LightMode::kOff);
  EXPECT_EQ(WithOwnLight(recovery).body.text, "训练集群已恢复正常");
}

TEST(WithOwnLight, LeavesAMessageOfItsOwnLevelAsItIs) {
  FloorMessage message;
  message.severity = Severity::kP0;
  message.body = {"x", kRed, LightMode::kSteady, AudioMode::kOff, 1};
  EXPECT_EQ(WithOwnLight(message).body, message.body);
  message.severity = Severity::kP1;
  message.body = {"x", kOrange, LightMode::kSteady, AudioMode::kOff, 1};
  EXPECT_EQ(WithOwnLight(message).body, message.body);
}

TEST(Floor, AMessageWithoutATextLeavesItsIncidentTheOneItHad) {
  World world;
  world.Send("n1", Severity::kP1, 1);
  FloorMessage silent;
  silent.incident_id = "n1";
  silent.severity = Severity::kP1;
  silent.body = {"", kOrange, LightMode::kSteady, AudioMode::kOff, 1};
  world.floor().Accept(silent, world.now);
  EXPECT_EQ(world.floor().Open()[0]->message.body.text, "节点 n1");
}

TEST(DeriveSeverity, ReadsTheContractsTableBackwards) {
  EXPECT_EQ(DeriveSeverity({"", kRed, LightMode::kFlash, AudioMode::kCycle, 3}), Severity::kP0);
  EXPECT_EQ(DeriveSeverity({"", kRed, LightMode::kSteady, AudioMode::kOff, 1}), Severity::kP0);
  EXPECT_EQ(DeriveSeverity({"", kOrange, LightMode::kBreath, AudioMode::kOnce, 1}), Severity::kP1);
  EXPECT_EQ(DeriveSeverity({"", kGreen, LightMode::kSteady, AudioMode::kOnce, 1}),
            Severity::kNormal);
  EXPECT_EQ(DeriveSeverity({"", kRed, LightMode::kOff, AudioMode::kOnce, 1}), Severity::kNotice);
}

}  // namespace
}  // namespace sentinel
