#include "correlate/job_extent.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sentinel {
namespace {

using testing::IsEmpty;
using testing::UnorderedElementsAre;

class JobExtent : public testing::Test {
 protected:
  Roster roster_{[](const CommKey& key, uint32_t generation) {
    return std::make_unique<Group>(key, generation);
  }};
  std::map<AgentId, Inventory> inventories_;

  void Join(const std::string& host, const CommKey& comm, Rank rank, int pid) {
    Member member;
    member.comm = comm;
    member.rank = rank;
    member.place = {host, -1, "", pid};
    inventories_[host].members.push_back(member);
    roster_.SetInventory(host, inventories_[host], Instant{});
  }
};

TEST_F(JobExtent, AsManyAsItsLargestCommunicatorEvenIfMostAgentsAreMissing) {
  Join("n1", {"slurm:7.0", 1, 1024}, 0, 100);
  Join("n1", {"slurm:7.0", 2, 2}, 0, 100);
  EXPECT_EQ(ExtentOf(roster_, {"slurm:7.0", 2, 2}).gpus, 1024);
}

TEST_F(JobExtent, ProcessesOfAllCommunicatorsCount) {
  for (int i = 0; i < 10; ++i) {
    const std::string host = "n" + std::to_string(i / 2);
    Join(host, {"slurm:7.0", static_cast<uint64_t>(1 + i / 2), 2}, i % 2, 100 + i);
  }
  Join("n9", {"slurm:70.0", 99, 2}, 0, 1);
  const JobFacts facts = ExtentOf(roster_, {"slurm:7.0", 1, 2});
  EXPECT_EQ(facts.gpus, 10);
  EXPECT_THAT(facts.hosts, UnorderedElementsAre("n0", "n1", "n2", "n3", "n4"));
}

TEST_F(JobExtent, WithoutASchedulerACommunicatorStandsForItself) {
  Join("n1", {"", 1, 4}, 0, 100);
  Join("n2", {"", 2, 64}, 0, 100);
  EXPECT_EQ(ExtentOf(roster_, {"", 1, 4}).gpus, 4);
}

TEST_F(JobExtent, APodIsAsLargeAsWhatItsProcessesShareWithOtherNodes) {
  const CommKey world{"", 1, 64};
  Join("n1", {"pod:a", 2, 2}, 0, 100);
  Join("n1", {"pod:a", 2, 2}, 1, 101);
  EXPECT_EQ(ExtentOf(roster_, {"pod:a", 2, 2}).gpus, 2);
  Join("n1", world, 0, 100);
  Join("n2", world, 1, 100);
  Join("n3", {"", 3, 4096}, 0, 100);
  const JobFacts facts = ExtentOf(roster_, {"pod:a", 2, 2});
  EXPECT_EQ(facts.gpus, 64);
  EXPECT_THAT(facts.hosts, UnorderedElementsAre("n1", "n2"));
}

TEST_F(JobExtent, TooManyHostsAreNotListedAndAStrangerIsUnknown) {
  for (int i = 0; i <= static_cast<int>(kJobHostsMax); ++i) {
    Join("n" + std::to_string(i), {"j", 1, 512}, i, 1);
  }
  EXPECT_THAT(ExtentOf(roster_, {"j", 1, 512}).hosts, IsEmpty());
  EXPECT_FALSE(ExtentOf(roster_, {"j", 5, 512}).gpus.has_value());
}

}  // namespace
}  // namespace sentinel
