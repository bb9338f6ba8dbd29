#include "probe/host/job_identity.h"

#include <gtest/gtest.h>

namespace sentinel {
namespace {

std::string Environ(std::initializer_list<std::string_view> entries) {
  std::string environ;
  for (const std::string_view entry : entries) {
    environ += entry;
    environ.push_back('\0');
  }
  return environ;
}

constexpr std::string_view kPod =
    "0::/kubepods.slice/kubepods-burstable.slice/"
    "kubepods-burstable-pod1b9d6bcd_bbfd_4b2d_9b5d_ab8dfbbd4bed.slice/cri-containerd-1f.scope\n";

TEST(JobIdentity, SlurmIsJobAndRestart) {
  EXPECT_EQ(JobOf(Environ({"SLURM_JOB_ID=123"}), {}).id, "slurm:123.0");
  EXPECT_EQ(JobOf(Environ({"SLURM_RESTART_COUNT=2", "SLURM_JOB_ID=123"}), {}).id, "slurm:123.2");
  EXPECT_FALSE(JobOf(Environ({"SLURM_JOB_ID=123"}), {}).one_node);
}

TEST(JobIdentity, SlurmsCgroupSaysWhatACleanedEnvironmentDoesNot) {
  for (const std::string_view text :
       {"5:memory:/slurm/uid_1000/job_123/step_0\n",
        "0::/system.slice/slurmstepd.scope/job_123/step_0/user/task_0\n",
        "0::/system.slice/gpu-08_slurmstepd.scope/job_123/step_extern/user/task_special\n",
        "9:cpu:/user.slice\n7:freezer:/slurm_gpu-08/uid_0/job_123/step_batch\n0::/\n"}) {
    const JobIdentity job = JobOf("", ParseProcCgroup(text));
    EXPECT_EQ(job.id, "slurm:123.0") << text;
    EXPECT_FALSE(job.one_node) << text;
  }
  const ProcCgroup cgroup = ParseProcCgroup("0::/slurm/uid_1000/job_123/step_0\n");
  EXPECT_EQ(JobOf(Environ({"SLURM_RESTART_COUNT=2"}), cgroup).id, "slurm:123.2");
  EXPECT_EQ(JobOf(Environ({"SLURM_JOB_ID=7"}), cgroup).id, "slurm:7.0");
  EXPECT_EQ(JobOf(Environ({"TORCHELASTIC_RUN_ID=r"}), cgroup).id, "torchelastic:r.0");
  // It is the same on every node, as a pod is not.
  EXPECT_EQ(
      JobOf("", ParseProcCgroup(std::string(kPod) + "1:cpu:/slurm/uid_1000/job_123/step_0\n")).id,
      "slurm:123.0");
}

TEST(JobIdentity, ACgroupThatOnlyLooksLikeSlurmsIsNoJob) {
  for (const std::string_view path : {"/job_1/slurm",
                                      "/home/job_1/step_0",
                                      "/slurm",
                                      "/slurm/job_",
                                      "/slurm/job_0",
                                      "/slurm/job_007",
                                      "/slurm/job_12x",
                                      "/slurm/job_-1",
                                      "/slurm/job_+1",
                                      "/slurm/job_ 1",
                                      "/slurm/job_1.2",
                                      "/slurm/ajob_1",
                                      "/slurm_job_1",
                                      "/slurm/job_4294967296",
                                      "/slurm/job_99999999999999999999999999",
                                      "/slurm/JOB_1",
                                      "slurm",
                                      "",
                                      "/",
                                      "////",
                                      "/slurm/job_1 (deleted)"}) {
    EXPECT_EQ(JobOf("", ParseProcCgroup("0::" + std::string(path) + "\n")).id, "") << path;
  }
  EXPECT_EQ(JobOf("", ParseProcCgroup("0::/slurm/" + std::string(1 << 16, '/') + "job_5")).id,
            "slurm:5.0");
  // A job that makes cgroups of its own below its step names no other job by it.
  EXPECT_EQ(JobOf("", ParseProcCgroup("0::/slurm/uid_1/job_4294967295/step_0/slurm/job_2\n")).id,
            "slurm:4294967295.0");
}

TEST(JobIdentity, TorchelasticIsRunAndRestart) {
  EXPECT_EQ(JobOf(Environ({"TORCHELASTIC_RUN_ID=run-1", "TORCHELASTIC_RESTART_COUNT=1"}), {}).id,
            "torchelastic:run-1.1");
  EXPECT_EQ(JobOf(Environ({"TORCHELASTIC_RUN_ID=none"}), {}).id, "");
}

TEST(JobIdentity, APodIsItsUidWhicheverDriverMadeItsCgroup) {
  const JobIdentity systemd = JobOf("", ParseProcCgroup(kPod));
  EXPECT_EQ(systemd.id, "pod:1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed");
  EXPECT_TRUE(systemd.one_node);
  const JobIdentity cgroupfs = JobOf(
      "",
      ParseProcCgroup("4:memory:/kubepods/burstable/pod1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed/1f\n"));
  EXPECT_EQ(cgroupfs.id, systemd.id);
}

TEST(JobIdentity, WhatAllNodesShareGoesBeforeThePod) {
  const ProcCgroup pod = ParseProcCgroup(kPod);
  EXPECT_EQ(JobOf(Environ({"TORCHELASTIC_RUN_ID=r"}), pod).id, "torchelastic:r.0");
  EXPECT_EQ(JobOf(Environ({"TORCHELASTIC_RUN_ID=r", "SLURM_JOB_ID=1"}), pod).id, "slurm:1.0");
}

TEST(JobIdentity, WhoseJobItIsSaySlurmAndKubernetes) {
  const JobOwner slurm =
      OwnerOf(Environ({"SLURM_JOB_PARTITION=train", "SLURM_JOB_USER=li", "USER=root"}), "");
  EXPECT_EQ(slurm, (JobOwner{"train", "", "li"}));
  EXPECT_EQ(OwnerOf(Environ({"USER=wang"}), "team-a\n"), (JobOwner{"", "team-a", "wang"}));
  EXPECT_EQ(OwnerOf(Environ({"USER=a b"}), "two\nlines"), JobOwner{});
}

TEST(JobIdentity, NonsenseIsNoJob) {
  EXPECT_EQ(JobOf(Environ({"SLURM_JOB_ID=1\n2"}), {}).id, "");
  EXPECT_EQ(JobOf(Environ({"SLURM_JOB_ID="}), {}).id, "");
  EXPECT_EQ(JobOf(Environ({"SLURM_JOB_ID=" + std::string(500, '1')}), {}).id, "");
  EXPECT_EQ(JobOf(Environ({"SLURM_JOB_ID=1", "SLURM_RESTART_COUNT=x"}), {}).id, "slurm:1.0");
  EXPECT_EQ(JobOf("", ParseProcCgroup("0::/kubepods/podxyz\n")).id, "");
}

TEST(JobIdentity, TheLocalRankIsTheCard) {
  EXPECT_EQ(LocalRankOf(Environ({"LOCAL_RANK=3"})), 3);
  EXPECT_EQ(LocalRankOf(Environ({"SLURM_LOCALID=5"})), 5);
  EXPECT_EQ(LocalRankOf(Environ({"LOCAL_RANK=-3"})), -1);
  EXPECT_EQ(LocalRankOf(Environ({"LOCAL_RANK=3x"})), -1);
  EXPECT_EQ(LocalRankOf(""), -1);
}

TEST(JobIdentity, TheJobsRankIsWhatTheLauncherSays) {
  EXPECT_EQ(JobRankOf(Environ({"RANK=1023"})), 1023);
  EXPECT_EQ(JobRankOf(Environ({"SLURM_PROCID=1", "RANK=9"})), 9);
  EXPECT_EQ(JobRankOf(Environ({"SLURM_PROCID=1"})), 1);
  EXPECT_EQ(JobRankOf(Environ({"RANK=first", "OMPI_COMM_WORLD_RANK=4"})), 4);
  EXPECT_EQ(JobRankOf(Environ({"RANK=99999999", "LOCAL_RANK=1"})), -1);
}

TEST(JobIdentity, TheJobsSizeIsWhatTheLauncherSays) {
  EXPECT_EQ(JobSizeOf(Environ({"WORLD_SIZE=1024"})), 1024);
  EXPECT_EQ(JobSizeOf(Environ({"SLURM_NTASKS=16", "WORLD_SIZE=128"})), 128);
  EXPECT_EQ(JobSizeOf(Environ({"SLURM_NTASKS=16"})), 16);
  EXPECT_EQ(JobSizeOf(Environ({"OMPI_COMM_WORLD_SIZE=4"})), 4);
  EXPECT_EQ(JobSizeOf(Environ({"WORLD_SIZE=1048576"})), 1048576);
  EXPECT_EQ(JobSizeOf(Environ({"WORLD_SIZE=many", "RANK=3"})), 0);
}

}  // namespace
}  // namespace sentinel
