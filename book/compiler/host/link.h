// One program, whose data lie from one symbol of the linker's to another.
#pragma once
#include <stddef.h>
#include <stdint.h>

extern "C" char __global_base, __heap_base;
#define PT_LOAD 1
#define PT_TLS 7
#define PT_GNU_RELRO 0x6474e552
#define PF_W 2
struct dl_phdr {
  uint32_t p_type, p_vaddr, p_memsz, p_flags;
};
struct dl_phdr_info {
  uintptr_t dlpi_addr;
  const dl_phdr* dlpi_phdr;
  int dlpi_phnum;
};
inline int dl_iterate_phdr(int (*each)(dl_phdr_info*, size_t, void*), void* data) {
  const auto begin = reinterpret_cast<uintptr_t>(&__global_base);
  const auto end = reinterpret_cast<uintptr_t>(&__heap_base);
  const dl_phdr headers[] = {{PT_LOAD, uint32_t(begin), uint32_t(end - begin), PF_W},
                             {PT_TLS, 0, 64, 0}};
  dl_phdr_info info = {0, headers, 2};
  return each(&info, sizeof info, data);
}
inline int on_exit(void (*)(int, void*), void*) { return 0; }
