// Which job a process belongs to, from what the host knows of it. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/job.h"
#include "probe/host/proc_text.h"

namespace sentinel {

struct JobIdentity {
  // slurm:<job>.<restart>, torchelastic:<run>.<restart>, pod:<uid>; empty: no scheduler is known.
  std::string id;
  // The id is no wider than this node (a pod): a communicator that spans nodes cannot go by it.
  bool one_node = false;
};

// The scheduler's own number first, since all of a job's processes share it on every node; a pod's
// last, since a job may have many pods. Slurm's is read from the cgroup too, of a process whose
// environment names no scheduler: the same id, but that a requeued job's restart is taken for 0.
JobIdentity JobOf(std::string_view environ, const ProcCgroup& cgroup);

// Whose job it is. `pod_namespace`: the file in which Kubernetes tells a container its namespace;
// empty where there is none.
JobOwner OwnerOf(std::string_view environ, std::string_view pod_namespace);

// The card the process says is its own (LOCAL_RANK, SLURM_LOCALID); -1 if it does not say.
int LocalRankOf(std::string_view environ);

// The process's rank in the whole job (RANK, SLURM_PROCID, OMPI_COMM_WORLD_RANK); -1 if it does
// not say.
int32_t JobRankOf(std::string_view environ);

// How many ranks the whole job has (WORLD_SIZE, SLURM_NTASKS, OMPI_COMM_WORLD_SIZE); 0 if it does
// not say.
int32_t JobSizeOf(std::string_view environ);

}  // namespace sentinel
