// Properties over many jobs of several communicators, drawn by chance from a printed seed: one
// lamp for one hang, the culprit among those it names, nobody innocent named on the way, and all
// quiet again once it is mended.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "correlate/job_model.h"
#include "correlate/seed_testing.h"

namespace sentinel {
namespace {

using namespace std::chrono_literals;

// Whether NCCL tells how large a communicator is. Up to 2.26 it does not, and the agents give every
// one the size of the job.
enum class Sizes { kTold, kOfTheJob };

// Agents of a JobModel, one a node, and a correlator that listens to them.
class JobBench {
 public:
  JobBench(JobOptions options, uint64_t seed, Sizes sizes)
      : model(options, seed), correlator({}), sizes_(sizes) {
    for (Rank r = 0; r < model.ranks(); ++r) on_host_[model.HostOf(r)].push_back(r);
    for (const auto& [host, ranks] : on_host_) {
      Inventory inventory;
      for (Rank r : ranks) {
        for (size_t c = 0; c < model.comms(); ++c) {
          if (IsIn(r, c)) inventory.members.push_back(Shown(r, c).member);
        }
      }
      correlator.OnInventory(host, inventory, model.now());
    }
  }

  bool IsIn(Rank rank, size_t comm) const {
    const std::vector<Rank>& members = model.MembersOf(comm);
    return std::find(members.begin(), members.end(), rank) != members.end();
  }

  void Run(
      Duration duration, const std::function<bool()>& enough = [] { return false; }) {
    const Instant end = model.now() + duration;
    while (model.now() < end && !enough()) {
      model.Tick();
      if (++ticks_ % 4 == 0) Scan();
      Step();
    }
  }
  bool Red() const {
    return std::any_of(verdicts.begin(), verdicts.end(),
                       [](const auto& v) { return v.second.stage == VerdictStage::kRed; });
  }

  Instant broken{};
  JobModel model;
  Correlator correlator;
  std::set<std::string> silent;
  std::vector<std::pair<Instant, Verdict>> verdicts;

 private:
  Digest Shown(Rank rank, size_t comm) {
    Digest digest = model.DigestOf(rank, comm);
    if (sizes_ == Sizes::kOfTheJob) {
      digest.member.comm.nranks = model.ranks();
      digest.member.nodes = 0;
    }
    return digest;
  }

  void Scan() {
    for (const auto& [host, ranks] : on_host_) {
      if (silent.count(host) > 0) continue;
      correlator.OnHeard(host, model.now());
      for (Rank r : ranks) {
        for (size_t c = 0; c < model.comms(); ++c) {
          if (!IsIn(r, c)) continue;
          const bool suspect = model.Suspect(r, c);
          Instant& said = said_[{r, c}];
          const bool was = said != Instant{};
          if (suspect == was && !(suspect && model.now() - said >= 1s)) continue;
          said = suspect ? model.now() : Instant{};
          correlator.OnDigest(host, Shown(r, c), model.now());
        }
      }
    }
  }

  void Step() {
    if (const char* at = std::getenv("SENTINEL_SHOW_MS"); at != nullptr && broken != Instant{}) {
      const auto since = ToMillis(model.now() - broken);
      if (std::abs(since - std::atoll(at)) <= 10) {
        std::printf("%lld ms%s\n", static_cast<long long>(since), model.Shown().c_str());
      }
    }
    const Correlator::Actions actions = correlator.Advance(model.now());
    Keep(actions);
    for (const Correlator::Request& request : actions.requests) {
      if (silent.count(request.agent) > 0) continue;
      const size_t comm = request.request.comm.comm_id - 1;
      for (Rank r : on_host_[request.agent]) {
        if (!IsIn(r, comm)) continue;
        Digest d = Shown(r, comm);
        d.request_id = request.request.request_id;
        correlator.OnDigest(request.agent, d, model.now());
      }
    }
  }
  void Keep(const Correlator::Actions& actions) {
    for (const Verdict& v : actions.verdicts) verdicts.push_back({model.now(), v});
  }

  Sizes sizes_;
  std::map<std::string, std::vector<Rank>> on_host_;
  std::map<std::pair<Rank, size_t>, Instant> said_;
  uint64_t ticks_ = 0;
};

struct Draw {
  JobOptions job;
  std::vector<std::pair<Rank, JobFault>> faults;
  Duration when{0};
  uint64_t seed = 0;
  Sizes sizes = Sizes::kTold;
};

std::string Words(const Draw& draw) {
  std::string words =
      "TP " + std::to_string(draw.job.tensor) + " PP " + std::to_string(draw.job.pipeline) +
      " DP " + std::to_string(draw.job.data) + " cards " + std::to_string(draw.job.cards_per_node) +
      (draw.job.overlap ? " overlap" : "") + (draw.job.tensor_stream ? " streams" : "") +
      (draw.job.infiniband ? " ib" : " sockets") + " run-ahead " +
      std::to_string(draw.job.run_ahead) + " +" + std::to_string(ToMillis(draw.when)) + "ms:";
  for (const auto& [rank, fault] : draw.faults) {
    words += std::string(" ") + JobFaultName(fault) + " at " + std::to_string(rank);
  }
  return words;
}

constexpr JobFault kFaults[] = {
    JobFault::kHostAbsent,  JobFault::kComputeStuck, JobFault::kGpuDead,
    JobFault::kProxyFrozen, JobFault::kNetwork,      JobFault::kStopped,
    JobFault::kKilled,      JobFault::kMissingSend,  JobFault::kMismatchOrder};

// Whether a rank sends anything to another node: in its data parallel ring, to a neighbour stage,
// or in the ring of all.
bool SendsOut(const JobOptions& job, Rank rank) {
  const int stage_size = job.tensor * job.data;
  const int ranks = stage_size * job.pipeline;
  const int stage = rank / stage_size;
  const int data = rank / job.tensor % job.data;
  const auto node = [&job](Rank r) { return r / job.cards_per_node; };
  const Rank next = stage * stage_size + (data + 1) % job.data * job.tensor + rank % job.tensor;
  bool out = node(next) != node(rank) || node((rank + 1) % ranks) != node(rank);
  if (stage > 0) out |= node(rank - stage_size) != node(rank);
  if (stage + 1 < job.pipeline) out |= node(rank + stage_size) != node(rank);
  return out;
}

Draw DrawOne(std::mt19937_64* chance, size_t faults) {
  const auto pick = [chance](int low, int high) {
    return low + static_cast<int>((*chance)() % static_cast<uint64_t>(high - low + 1));
  };
  constexpr int kShapes[][3] = {{2, 2, 2}, {2, 4, 4}, {4, 2, 2}, {1, 4, 4},
                                {1, 1, 8}, {2, 1, 4}, {4, 1, 2}, {8, 4, 2}};
  Draw draw;
  // The largest is dear: it comes up seldom.
  const int shape = pick(0, 20);
  const int* sizes = kShapes[shape < 20 ? shape % 7 : 7];
  draw.job.tensor = sizes[0];
  draw.job.pipeline = sizes[1];
  draw.job.data = sizes[2];
  draw.job.cards_per_node = std::max(sizes[0], pick(0, 1) == 0 ? 2 : 8);
  draw.job.overlap = pick(0, 1) == 0;
  draw.job.tensor_stream = pick(0, 1) == 0;
  draw.job.infiniband = pick(0, 1) == 0;
  draw.job.run_ahead = pick(0, 1) == 0 ? 2 : 200;
  draw.when = std::chrono::milliseconds(5 * pick(0, 100));
  draw.seed = (*chance)();
  const int ranks = sizes[0] * sizes[1] * sizes[2];
  while (draw.faults.size() < faults) {
    draw.faults.push_back(
        {pick(0, ranks - 1), kFaults[pick(0, static_cast<int>(std::size(kFaults)) - 1)]});
    const auto [rank, fault] = draw.faults.back();
    // Faults that the shape has no place for, and for pairs those that only go wrong later.
    const bool possible =
        (fault != JobFault::kMissingSend || sizes[1] > 1) &&
        (fault != JobFault::kMismatchOrder || sizes[2] > 1) &&
        (fault != JobFault::kProxyFrozen || draw.job.cards_per_node < ranks) &&
        (fault != JobFault::kNetwork || SendsOut(draw.job, rank)) &&
        (faults == 1 || (fault != JobFault::kMissingSend && fault != JobFault::kMismatchOrder));
    if (!possible) draw.faults.pop_back();
  }
  return draw;
}

// Whom a verdict may name: the culprits, and for a lost wire whoever is at its other end.
std::set<Rank> Guilty(const Draw& draw, const JobBench& bench) {
  std::set<Rank> guilty;
  for (const auto& [rank, fault] : draw.faults) {
    guilty.insert(rank);
    const bool wire = fault == JobFault::kNetwork;
    if (!wire && fault != JobFault::kMissingSend) continue;
    for (size_t c = 0; c < bench.model.comms(); ++c) {
      if (!bench.IsIn(rank, c)) continue;
      const std::vector<Rank>& members = bench.model.MembersOf(c);
      const auto own = std::find(members.begin(), members.end(), rank) - members.begin();
      const auto n = static_cast<long>(members.size());
      if (n == 1) continue;
      guilty.insert(members[static_cast<size_t>((own + 1) % n)]);
      guilty.insert(members[static_cast<size_t>((own + n - 1) % n)]);
    }
  }
  return guilty;
}

struct Outcome {
  std::string wrong;
  Duration red{0};
  bool exact = false;
};

Outcome Simulate(const Draw& draw, const std::string& silent = "") {
  JobBench bench(draw.job, draw.seed, draw.sizes);
  bench.Run(20s, [&] { return bench.model.Iterations() >= 1; });
  bench.Run(draw.when);
  bench.verdicts.clear();
  const Instant broken = bench.model.now();
  for (const auto& [rank, fault] : draw.faults) {
    // What is dead does nothing more.
    if (rank != draw.faults.front().first || fault == draw.faults.front().second) {
      bench.model.Break(rank, fault);
    }
  }
  bench.broken = broken;
  if (!silent.empty()) bench.silent.insert(silent);
  const bool late = draw.faults.front().second == JobFault::kLate;
  bench.Run(late ? 5s : 45s, [&] { return bench.Red(); });
  bench.Run(3s);
  Outcome outcome;
  const std::set<Rank> guilty = Guilty(draw, bench);
  std::set<std::pair<CommKey, uint64_t>> red;
  const Verdict* first = nullptr;
  const auto fail = [&](const std::string& why) {
    outcome.wrong = Words(draw) + ": " + why;
    if (std::getenv("SENTINEL_VERBOSE") != nullptr) {
      for (const auto& [at, v] : bench.verdicts) {
        outcome.wrong += "\n  " + std::to_string(ToMillis(at - broken)) + " ms comm " +
                         std::to_string(v.comm.comm_id - 1) + " " +
                         std::string(VerdictStageName(v.stage)) + " " +
                         std::string(HangClassName(v.hang_class));
        for (const Member& m : v.members) outcome.wrong += " " + std::to_string(m.place.pid - 1000);
        if (v.culprit.rank) outcome.wrong += " named";
        for (const EvidenceLine& line : v.evidence) outcome.wrong += "; " + line.en;
      }
      outcome.wrong += bench.model.Shown();
    }
    return outcome;
  };
  for (const auto& [at, v] : bench.verdicts) {
    if (v.culprit.rank && guilty.count(JobModel::WorldOf(v.culprit.place)) == 0) {
      return fail("innocent " + std::to_string(JobModel::WorldOf(v.culprit.place)) + " named " +
                  std::string(HangClassName(v.hang_class)) + " at stage " +
                  std::string(VerdictStageName(v.stage)));
    }
    if (v.stage != VerdictStage::kRed) continue;
    if (red.insert({v.comm, v.epoch}).second && first == nullptr) {
      first = &v;
      outcome.red = at - broken;
      outcome.exact = v.culprit.rank.has_value();
    }
  }
  if (late) {
    if (first != nullptr) return fail("a late rank that works is red");
  } else {
    if (first == nullptr) return fail("no lamp");
    if (red.size() > draw.faults.size()) return fail(std::to_string(red.size()) + " lamps");
    const bool named =
        std::any_of(first->members.begin(), first->members.end(), [&](const Member& m) {
          // A node that says nothing can be excluded by nobody, and its ranks not be told apart.
          return guilty.count(JobModel::WorldOf(m.place)) > 0 ||
                 (m.place.host == silent && first->hang_class == HangClass::kUnknown);
        });
    if (!named) return fail("the culprit is not among those named");
  }
  // Mended: all goes on, everything heals and stays quiet.
  for (const auto& [rank, fault] : draw.faults) {
    if (fault == JobFault::kKilled || fault == JobFault::kMissingSend ||
        fault == JobFault::kMismatchOrder) {
      return outcome;
    }
  }
  bench.silent.clear();
  const uint64_t before = bench.model.Iterations();
  for (const auto& [rank, fault] : draw.faults) bench.model.Heal(rank);
  bench.verdicts.clear();
  const auto anew = [&] {
    return std::any_of(bench.verdicts.begin(), bench.verdicts.end(), [&](const auto& said) {
      const Verdict& v = said.second;
      return v.stage == VerdictStage::kRed && red.count({v.comm, v.epoch}) == 0;
    });
  };
  bench.Run(20s, [&] { return bench.model.Iterations() >= before + 3; });
  if (bench.model.Iterations() < before + 3) return fail("the model does not go on");
  if (anew()) return fail("red after it was mended");
  for (const Verdict& v : bench.correlator.Open(bench.model.now())) {
    if (v.stage == VerdictStage::kRed) return fail("still red after it was mended");
  }
  return outcome;
}

int Runs(int normally) {
  const char* given = std::getenv("SENTINEL_RUNS");
  return given == nullptr ? normally : std::atoi(given);
}

struct Tally {
  std::vector<std::string> wrong;
  std::map<std::string, std::tuple<int, int, Duration>> by_fault;
};

// Runs drawn from a seed. SENTINEL_ONLY repeats one of them, SENTINEL_VERBOSE tells all of it.
Tally SimulateMany(const char* test, uint64_t offset, int runs,
                   const std::function<Draw(std::mt19937_64*)>& draw_one, bool silent = false) {
  const uint64_t seed = Seed();
  std::printf(
      "repeat: SENTINEL_SEED=%llu SENTINEL_ONLY=<run> SENTINEL_VERBOSE=1 correlate_test "
      "--gtest_filter=JobSimulation.%s\n",
      static_cast<unsigned long long>(seed), test);
  std::mt19937_64 chance(seed + offset);
  Tally tally;
  const char* only = std::getenv("SENTINEL_ONLY");
  for (int run = 0; run < runs; ++run) {
    const Draw draw = draw_one(&chance);
    const uint64_t which = chance();
    const int nodes =
        (draw.job.tensor * draw.job.pipeline * draw.job.data + draw.job.cards_per_node - 1) /
        draw.job.cards_per_node;
    if (only != nullptr && run != std::atoi(only)) continue;
    if (silent && nodes < 2) continue;
    const std::string host = "node-" + std::to_string(which % static_cast<uint64_t>(nodes));
    const Outcome outcome = Simulate(draw, silent ? host : "");
    if (!outcome.wrong.empty()) {
      tally.wrong.push_back("run " + std::to_string(run) + " " +
                            (silent ? "silent " + host + " " : "") + outcome.wrong);
      continue;
    }
    auto& [count, exact, slowest] = tally.by_fault[JobFaultName(draw.faults.front().second)];
    ++count;
    exact += outcome.exact;
    slowest = std::max(slowest, outcome.red);
  }
  for (const auto& [fault, counts] : tally.by_fault) {
    std::printf("  %-16s runs %d, one rank named %d, slowest red %lld ms\n", fault.c_str(),
                std::get<0>(counts), std::get<1>(counts),
                static_cast<long long>(ToMillis(std::get<2>(counts))));
  }
  return tally;
}

TEST(JobSimulation, OneFaultIsOneLampThatNamesTheCulprit) {
  const Tally tally = SimulateMany("OneFault*", 0, Runs(150),
                                   [](std::mt19937_64* chance) { return DrawOne(chance, 1); });
  EXPECT_THAT(tally.wrong, ::testing::IsEmpty());
}

TEST(JobSimulation, OfTwoFaultsOneAtLeastIsNamedAndNobodyInnocent) {
  const Tally tally = SimulateMany("OfTwo*", 1, Runs(60),
                                   [](std::mt19937_64* chance) { return DrawOne(chance, 2); });
  EXPECT_THAT(tally.wrong, ::testing::IsEmpty());
}

// Calls that differ are left out: with somebody unheard nothing but waits tells of them.
TEST(JobSimulation, WithASilentNodeNobodyInnocentIsNamed) {
  const Tally tally = SimulateMany(
      "WithASilent*", 2, Runs(60),
      [](std::mt19937_64* chance) {
        Draw draw = DrawOne(chance, 1);
        while (draw.faults.front().second == JobFault::kMissingSend ||
               draw.faults.front().second == JobFault::kMismatchOrder) {
          draw = DrawOne(chance, 1);
        }
        return draw;
      },
      /*silent=*/true);
  EXPECT_THAT(tally.wrong, ::testing::IsEmpty());
}

TEST(JobSimulation, ARankThatIsLateAndWorksIsNeverRed) {
  const Tally tally = SimulateMany("ARankThatIsLate*", 3, Runs(40), [](std::mt19937_64* chance) {
    Draw draw = DrawOne(chance, 1);
    draw.faults.front().second = JobFault::kLate;
    return draw;
  });
  EXPECT_THAT(tally.wrong, ::testing::IsEmpty());
}

TEST(JobSimulation, WithSizesOfTheJobOneFaultIsOneLampThatNamesTheCulprit) {
  const Tally tally =
      SimulateMany("WithSizesOfTheJobOne*", 4, Runs(60), [](std::mt19937_64* chance) {
        Draw draw = DrawOne(chance, 1);
        draw.sizes = Sizes::kOfTheJob;
        return draw;
      });
  EXPECT_THAT(tally.wrong, ::testing::IsEmpty());
}

TEST(JobSimulation, WithSizesOfTheJobARankThatIsLateAndWorksIsNeverRed) {
  const Tally tally =
      SimulateMany("WithSizesOfTheJobARank*", 5, Runs(40), [](std::mt19937_64* chance) {
        Draw draw = DrawOne(chance, 1);
        draw.faults.front().second = JobFault::kLate;
        draw.sizes = Sizes::kOfTheJob;
        return draw;
      });
  EXPECT_THAT(tally.wrong, ::testing::IsEmpty());
}

}  // namespace
}  // namespace sentinel
