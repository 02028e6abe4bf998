// Zeroed memory, as simt's records beside the program's memory ask for it.
#pragma once

#include <stdlib.h>
#include <string.h>

#define PROT_READ 1
#define PROT_WRITE 2
#define MAP_PRIVATE 0
#define MAP_ANONYMOUS 0
#define MAP_NORESERVE 0
#define MAP_FAILED (reinterpret_cast<void*>(-1))
#define MADV_DONTNEED 0

inline void* mmap(void*, size_t bytes, int, int, int, int) {
  void* memory = calloc(bytes, 1);
  return memory ? memory : MAP_FAILED;
}
inline int munmap(void* memory, size_t) {
  free(memory);
  return 0;
}
inline int madvise(void* memory, size_t bytes, int) {
  memset(memory, 0, bytes);
  return 0;
}
