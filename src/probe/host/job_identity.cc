#include "probe/host/job_identity.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace sentinel {
namespace {

constexpr size_t kIdBytesMax = 128;

// As it is if it can stand in a label: printable, of bounded length. Else "".
std::string Plain(const std::optional<std::string>& value) {
  if (!value || value->size() > kIdBytesMax) return "";
  const bool plain = std::all_of(value->begin(), value->end(),
                                 [](unsigned char c) { return c > ' ' && c < 0x7f; });
  return plain ? *value : "";
}

std::string RestartOf(std::string_view environ, std::string_view name) {
  const std::string count = Plain(EnvironValue(environ, name));
  const bool digits =
      !count.empty() &&
      std::all_of(count.begin(), count.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
  return digits ? count : "0";
}

// kubepods-burstable-pod1b9d6bcd_bbfd_4b2d_9b5d_ab8dfbbd4bed.slice (systemd driver) and
// /kubepods/burstable/pod1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed (cgroupfs driver).
std::string PodUid(const ProcCgroup& cgroup) {
  constexpr size_t kUidBytes = 36;
  for (const std::string& path : cgroup.all) {
    if (path.find("kubepods") == std::string::npos) continue;
    for (size_t at = path.find("pod"); at != std::string::npos; at = path.find("pod", at + 1)) {
      std::string uid = path.substr(at + 3, kUidBytes);
      std::replace(uid.begin(), uid.end(), '_', '-');
      if (uid.size() != kUidBytes) continue;
      bool shaped = true;
      for (size_t i = 0; i < kUidBytes; ++i) {
        const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        shaped = shaped &&
                 (dash ? uid[i] == '-' : std::isxdigit(static_cast<unsigned char>(uid[i])) != 0);
      }
      if (shaped) return uid;
    }
  }
  return "";
}

// The number, as it is written, of a component job_<number>; "" if it is none. Slurm's is 32 bits,
// never 0, and never begins with 0: job_007 would be another name for job 7.
std::string SlurmNumber(std::string_view component) {
  constexpr std::string_view kPrefix = "job_";
  if (!component.starts_with(kPrefix)) return "";
  component.remove_prefix(kPrefix.size());
  if (component.starts_with('0')) return "";
  uint32_t number = 0;
  const char* end = component.data() + component.size();
  const auto [stop, error] = std::from_chars(component.data(), end, number);
  return error == std::errc() && stop == end ? std::string(component) : "";
}

// /slurm/uid_1000/job_123/step_0 (v1) and /system.slice/slurmstepd.scope/job_123/step_0/user/task_0
// (v2); a node with several slurmds has their names about the "slurm". The first job below it:
// what is further down the job itself may have made.
std::string SlurmJob(const ProcCgroup& cgroup) {
  for (std::string_view rest : cgroup.all) {
    bool of_slurm = false;
    while (!rest.empty()) {
      const std::string_view component = rest.substr(0, rest.find('/'));
      rest.remove_prefix(std::min(component.size() + 1, rest.size()));
      const std::string number = of_slurm ? SlurmNumber(component) : "";
      if (!number.empty()) return number;
      of_slurm = of_slurm || component.find("slurm") != std::string_view::npos;
    }
  }
  return "";
}

constexpr int32_t kLocalRanksMax = 1024;
constexpr int32_t kJobRanksMax = 1 << 20;

// The first of these variables that is a rank below `max`; -1 if none is.
int32_t FirstRank(std::string_view environ, std::initializer_list<std::string_view> names,
                  int32_t max) {
  for (const std::string_view name : names) {
    const std::string text = Plain(EnvironValue(environ, name));
    int32_t rank = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rank);
    const bool whole = error == std::errc() && end == text.data() + text.size();
    if (whole && rank >= 0 && rank < max) return rank;
  }
  return -1;
}

}  // namespace

JobIdentity JobOf(std::string_view environ, const ProcCgroup& cgroup) {
  const auto slurm = [&](const std::string& number) -> JobIdentity {
    return {"slurm:" + number + "." + RestartOf(environ, "SLURM_RESTART_COUNT"), false};
  };
  const std::string said = Plain(EnvironValue(environ, "SLURM_JOB_ID"));
  if (!said.empty()) return slurm(said);
  const std::string run = Plain(EnvironValue(environ, "TORCHELASTIC_RUN_ID"));
  // "none" is what torchrun calls every run that was given no name.
  if (!run.empty() && run != "none") {
    return {"torchelastic:" + run + "." + RestartOf(environ, "TORCHELASTIC_RESTART_COUNT"), false};
  }
  // A process may have been started with an environment wiped clean, or have come by ssh
  // (pam_slurm_adopt): its cgroup is Slurm's all the same.
  const std::string placed = SlurmJob(cgroup);
  if (!placed.empty()) return slurm(placed);
  const std::string pod = PodUid(cgroup);
  if (!pod.empty()) return {"pod:" + pod, true};
  return {};
}

JobOwner OwnerOf(std::string_view environ, std::string_view pod_namespace) {
  JobOwner owner;
  owner.partition = Plain(EnvironValue(environ, "SLURM_JOB_PARTITION"));
  for (const std::string_view name : {"SLURM_JOB_USER", "USER"}) {
    owner.user = Plain(EnvironValue(environ, name));
    if (!owner.user.empty()) break;
  }
  while (!pod_namespace.empty() && pod_namespace.back() == '\n') pod_namespace.remove_suffix(1);
  owner.name_space = Plain(std::string(pod_namespace));
  return owner;
}

int LocalRankOf(std::string_view environ) {
  return FirstRank(environ, {"LOCAL_RANK", "SLURM_LOCALID"}, kLocalRanksMax);
}

int32_t JobRankOf(std::string_view environ) {
  // A launcher within a Slurm step, as torchrun, gives ranks of its own.
  return FirstRank(environ, {"RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK"}, kJobRanksMax);
}

int32_t JobSizeOf(std::string_view environ) {
  const int32_t size =
      FirstRank(environ, {"WORLD_SIZE", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE"}, kJobRanksMax + 1);
  return std::max(size, 0);
}

}  // namespace sentinel
