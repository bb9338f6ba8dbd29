// Stands for libcuda.so.1 where there is no GPU: what the plugin asks a driver that is loaded.
#include <stdio.h>

int cuCtxGetDevice(int* device) {
  *device = 3;
  return 0;
}

int cuDeviceGetPCIBusId(char* pci, int size, int device) {
  snprintf(pci, (size_t)size, "0000:%c%d:00.0", 'A', device);
  return 0;
}
