#include "nccl_side.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "board/decoder.h"

namespace sentinel::nccl_side {
namespace {

constexpr char kRubbish = '\x5a';

}  // namespace

Descriptor::Descriptor(int abi, uint64_t type, void* parent, int rank) : bytes_(160, kRubbish) {
  if (abi <= 4) {
    Put<uint8_t>(0, static_cast<uint8_t>(type));
  } else {
    Put<uint64_t>(0, type);
  }
  Put<void*>(8, parent);
  Put<int32_t>(16, rank);
}

Plugin Plugin::Load(const std::string& path, int abi) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  const std::string symbol = "ncclProfiler_v" + std::to_string(abi);
  void* table = library == nullptr ? nullptr : dlsym(library, symbol.c_str());
  if (table == nullptr) {
    std::fprintf(stderr, "%s: %s\n", symbol.c_str(), dlerror());
    std::abort();
  }
  return {static_cast<const RawTable*>(table), abi};
}

Plugin::Comm Plugin::Init(uint64_t comm_id, const char* name, int nodes, int nranks, int rank,
                          Logger logger) const {
  using InitV2 = int (*)(void**, int*);
  using InitV4 = int (*)(void**, int*, const char*, uint64_t, int, int, int, Logger);
  using InitV5 = int (*)(void**, uint64_t, int*, const char*, int, int, int, Logger);
  Comm comm;
  void* init = table_->init;
  if (abi_ <= 3) {
    comm.result = reinterpret_cast<InitV2>(init)(&comm.context, &comm.mask);
  } else if (abi_ == 4) {
    comm.result = reinterpret_cast<InitV4>(init)(&comm.context, &comm.mask, name, comm_id, nodes,
                                                 nranks, rank, logger);
  } else {
    comm.result = reinterpret_cast<InitV5>(init)(&comm.context, comm_id, &comm.mask, name, nodes,
                                                 nranks, rank, logger);
  }
  return comm;
}

void* Plugin::Start(void* context, Descriptor descriptor) const {
  void* handle = reinterpret_cast<void*>(0x6b6b6b6b);
  EXPECT_EQ(0, table_->start(context, &handle, descriptor.data()));
  EXPECT_NE(reinterpret_cast<void*>(0x6b6b6b6b), handle) << "the handle was left unwritten";
  return handle;
}

void* Plugin::GroupApi(void* context, int depth) const {
  return Start(context,
               Descriptor(abi_, kGroupApi, nullptr, 0).Put<uint8_t>(24, 0).Put<int32_t>(28, depth));
}

void* Plugin::CollApi(void* context, void* parent, const CollFields& fields) const {
  return Start(context, Descriptor(abi_, kCollApi, parent, 0)
                            .Put(24, fields.func)
                            .Put<uint64_t>(32, fields.count)
                            .Put(40, fields.datatype)
                            .Put<int32_t>(48, fields.root)
                            .Put<void*>(56, nullptr)
                            .Put<uint8_t>(64, 0));
}

void* Plugin::P2pApi(void* context, void* parent, const char* func, uint64_t count) const {
  return Start(context, Descriptor(abi_, kP2pApi, parent, 0)
                            .Put(24, func)
                            .Put<uint64_t>(32, count)
                            .Put(40, "ncclFloat32")
                            .Put<void*>(48, nullptr)
                            .Put<uint8_t>(56, 0));
}

void* Plugin::Group(void* context) const {
  return Start(context, Descriptor(abi_, kGroup, nullptr, 0));
}

void* Plugin::Coll(void* context, void* api, void* group, int rank,
                   const CollFields& fields) const {
  Descriptor d(abi_, kColl, abi_ >= 5 ? api : group, rank);
  if (abi_ <= 3) {
    d.Put(24, fields.name).Put<uint64_t>(32, fields.comm_hash).Put<uint64_t>(40, fields.seq);
    d.Put(48, fields.func).Put<void*>(56, nullptr).Put<void*>(64, nullptr);
    d.Put<uint64_t>(72, fields.count).Put<int32_t>(80, fields.root).Put(88, fields.datatype);
    if (abi_ == 2) {
      d.Put<uint64_t>(96, 0).Put<uint8_t>(104, fields.channels).Put<uint8_t>(105, 16);
      d.Put(112, fields.algorithm).Put(120, fields.protocol);
    } else {
      d.Put<uint8_t>(96, fields.channels).Put<uint8_t>(97, 16);
      d.Put(104, fields.algorithm).Put(112, fields.protocol);
    }
  } else {
    d.Put<uint64_t>(24, fields.seq).Put(32, fields.func);
    d.Put<void*>(40, nullptr).Put<void*>(48, nullptr).Put<uint64_t>(56, fields.count);
    d.Put<int32_t>(64, fields.root).Put(72, fields.datatype).Put<uint8_t>(80, fields.channels);
    d.Put<uint8_t>(81, 16).Put(88, fields.algorithm).Put(96, fields.protocol);
    if (abi_ >= 5) d.Put<void*>(104, group);
  }
  return Start(context, d);
}

void* Plugin::P2p(void* context, void* api, void* group, int rank, const char* func, int peer,
                  uint64_t count, uint8_t channels) const {
  Descriptor d(abi_, kP2p, abi_ >= 5 ? api : group, rank);
  if (abi_ <= 3) {
    d.Put(24, "").Put<uint64_t>(32, 0xabc).Put(40, func).Put<void*>(48, nullptr);
    d.Put(56, "ncclFloat32").Put<uint64_t>(64, count).Put<int32_t>(72, peer);
  } else {
    d.Put(24, func).Put<void*>(32, nullptr).Put(40, "ncclFloat32").Put<uint64_t>(48, count);
    d.Put<int32_t>(56, peer);
    // Left as rubbish in v4, as NCCL 2.28 does.
    if (abi_ >= 5) d.Put<uint8_t>(60, channels).Put<void*>(64, group);
  }
  return Start(context, d);
}

void* Plugin::ProxyOp(void* context, void* parent, int64_t pid, int channel, int peer, int steps,
                      bool send) const {
  return Start(context, Descriptor(abi_, kProxyOp, parent, 0)
                            .Put<int32_t>(24, static_cast<int32_t>(pid))
                            .Put<uint8_t>(28, static_cast<uint8_t>(channel))
                            .Put<int32_t>(32, peer)
                            .Put<int32_t>(36, steps)
                            .Put<int32_t>(40, 4 << 20)
                            .Put<int32_t>(44, send ? 1 : 0));
}

void* Plugin::ProxyStep(void* context, void* parent, int step) const {
  return Start(context, Descriptor(abi_, kProxyStep, parent, 0).Put<int32_t>(24, step));
}

void* Plugin::KernelCh(void* context, void* parent, int channel) const {
  return Start(context, Descriptor(abi_, kKernelCh, parent, 0)
                            .Put<uint8_t>(24, static_cast<uint8_t>(channel))
                            .Put<uint64_t>(32, 1));
}

BoardDirectory::BoardDirectory() {
  std::string pattern = (std::filesystem::temp_directory_path() / "sentinel-board-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) std::abort();
  path_ = pattern;
  setenv("SENTINEL_BOARD_DIR", path_.c_str(), 1);
}

BoardDirectory::~BoardDirectory() { std::filesystem::remove_all(path_); }

std::vector<std::string> BoardDirectory::Files() const {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(path_))
    files.push_back(entry.path().string());
  return files;
}

std::string BoardDirectory::Place() const {
  const std::vector<std::string> files = Files();
  EXPECT_EQ(1u, files.size());
  if (files.size() != 1) return "";
  long long pid = 0;
  int fd = -1;
  char end = 0;
  std::ifstream in(files[0], std::ios::binary);
  std::string text(64, '\0');
  in.read(text.data(), 63);
  const std::string name = std::filesystem::path(files[0]).filename();
  const bool elsewhere = sscanf(text.c_str(), "gpu-sentinel board 1 fd %d%c", &fd, &end) == 2 &&
                         end == '\n' && sscanf(name.c_str(), "gpu-sentinel.%lld.", &pid) == 1;
  return elsewhere ? "/proc/" + std::to_string(pid) + "/fd/" + std::to_string(fd) : files[0];
}

BoardImage BoardDirectory::Read() const {
  std::ifstream in(Place(), std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  auto image = DecodeBoard(std::as_bytes(std::span(bytes)));
  EXPECT_TRUE(image.ok()) << (image.ok() ? "" : image.error().message);
  return image.ok() ? *image : BoardImage{};
}

}  // namespace sentinel::nccl_side
