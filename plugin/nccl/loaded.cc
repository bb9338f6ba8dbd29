#include "loaded.h"

#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <string.h>

namespace sentinel::nccl {
namespace {

struct Search {
  const void* address;
  const char* library;
  const char* function;
  void* found;
};

bool Contains(const dl_phdr_info* object, const void* address) {
  const auto at = reinterpret_cast<uintptr_t>(address);
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    const uintptr_t begin = object->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && at >= begin && at - begin < segment.p_memsz) return true;
  }
  return false;
}

bool IsNamed(const dl_phdr_info* object, const char* library) {
  const char* path = object->dlpi_name != nullptr ? object->dlpi_name : "";
  const char* slash = strrchr(path, '/');
  return strncmp(slash != nullptr ? slash + 1 : path, library, strlen(library)) == 0;
}

struct Tables {
  const ElfW(Sym) * symbols;
  const char* strings;
  const uint32_t* gnu_hash;
  const uint32_t* sysv_hash;
};

Tables TablesOf(const dl_phdr_info* object) {
  Tables tables = {};
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    if (object->dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    const auto* entry =
        reinterpret_cast<const ElfW(Dyn)*>(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr);
    for (; entry->d_tag != DT_NULL; ++entry) {
      // glibc has put addresses there, other loaders leave offsets.
      uintptr_t at = entry->d_un.d_ptr;
      if (at < object->dlpi_addr) at += object->dlpi_addr;
      if (entry->d_tag == DT_SYMTAB) tables.symbols = reinterpret_cast<const ElfW(Sym)*>(at);
      if (entry->d_tag == DT_STRTAB) tables.strings = reinterpret_cast<const char*>(at);
      if (entry->d_tag == DT_GNU_HASH) tables.gnu_hash = reinterpret_cast<const uint32_t*>(at);
      if (entry->d_tag == DT_HASH) tables.sysv_hash = reinterpret_cast<const uint32_t*>(at);
    }
  }
  return tables;
}

bool Matches(const Tables& tables, uint32_t index, const char* name) {
  const ElfW(Sym)& symbol = tables.symbols[index];
  return symbol.st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol.st_info) == STT_FUNC &&
         strcmp(tables.strings + symbol.st_name, name) == 0;
}

// Index of a defined function; 0 if there is none.
uint32_t FindSymbol(const Tables& tables, const char* name) {
  if (tables.symbols == nullptr || tables.strings == nullptr) return 0;
  if (tables.gnu_hash != nullptr) {
    uint32_t hash = 5381;
    for (const char* c = name; *c != '\0'; ++c) hash = hash * 33 + static_cast<uint8_t>(*c);
    const uint32_t buckets = tables.gnu_hash[0];
    const uint32_t first = tables.gnu_hash[1];
    const uint32_t bloom_words = tables.gnu_hash[2];
    if (buckets == 0) return 0;
    const uint32_t* bucket = tables.gnu_hash + 4 + bloom_words * (sizeof(ElfW(Addr)) / 4);
    const uint32_t* chain = bucket + buckets;
    for (uint32_t i = bucket[hash % buckets]; i >= first && i != 0; ++i) {
      const uint32_t other = chain[i - first];
      if ((other | 1) == (hash | 1) && Matches(tables, i, name)) return i;
      if ((other & 1) != 0) break;
    }
    return 0;
  }
  if (tables.sysv_hash != nullptr) {
    for (uint32_t i = 1; i < tables.sysv_hash[1]; ++i) {
      if (Matches(tables, i, name)) return i;
    }
  }
  return 0;
}

int Visit(dl_phdr_info* object, size_t, void* data) {
  auto* search = static_cast<Search*>(data);
  const bool wanted = search->library != nullptr ? IsNamed(object, search->library)
                                                 : Contains(object, search->address);
  if (!wanted) return 0;
  const Tables tables = TablesOf(object);
  const uint32_t index = FindSymbol(tables, search->function);
  if (index != 0 && tables.symbols != nullptr)
    search->found = reinterpret_cast<void*>(object->dlpi_addr + tables.symbols[index].st_value);
  return 1;
}

void* Find(Search search) {
  dl_iterate_phdr(Visit, &search);
  return search.found;
}

}  // namespace

void* FunctionBeside(const void* address, const char* function) {
  return Find({address, nullptr, function, nullptr});
}

void* FunctionOf(const char* library, const char* function) {
  return Find({nullptr, library, function, nullptr});
}

void CurrentGpuPci(char* pci, int size) {
  // NCCL initialises a communicator on a thread that has its device set; both functions only read.
  using GetDevice = int (*)(int*);
  using GetPci = int (*)(char*, int, int);
  pci[0] = '\0';
  const auto get_device = reinterpret_cast<GetDevice>(FunctionOf("libcuda.so", "cuCtxGetDevice"));
  const auto get_pci = reinterpret_cast<GetPci>(FunctionOf("libcuda.so", "cuDeviceGetPCIBusId"));
  int device = 0;
  if (get_device == nullptr || get_pci == nullptr || get_device(&device) != 0 ||
      get_pci(pci, size, device) != 0) {
    pci[0] = '\0';
    return;
  }
  for (char* c = pci; *c != '\0'; ++c) {
    if (*c >= 'A' && *c <= 'F') *c = static_cast<char>(*c - 'A' + 'a');
  }
}

}  // namespace sentinel::nccl
