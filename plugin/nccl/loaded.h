// Functions of libraries that are already in the process, found without libdl (whose symbols moved
// between C library versions). System calls and locks of the loader: for init only.
#pragma once

namespace sentinel::nccl {

// A function of the library whose code `address` lies in. Null if it has none of that name.
void* FunctionBeside(const void* address, const char* function);

// A function of the first loaded library whose file name begins with `library`.
void* FunctionOf(const char* library, const char* function);

// The GPU this thread has current, "0000:3b:00.0"; empty if CUDA is not there or has none.
void CurrentGpuPci(char* pci, int size);

}  // namespace sentinel::nccl
