// Zeroed memory, as simt's records beside the program's memory ask for it, and a range of
// addresses. All of it lies in the memory that a program begins with (compile.mjs): a browser may
// copy what is there when that grows.
#pragma once

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define PROT_NONE 0
#define PROT_READ 1
#define PROT_WRITE 2
#define MAP_PRIVATE 0
#define MAP_ANONYMOUS 0
#define MAP_NORESERVE 0
#define MAP_FIXED 1
#define MAP_FAILED (reinterpret_cast<void*>(-1))
#define MADV_DONTNEED 0

inline void* mmap(void* at, size_t bytes, int rights, int flags, int, int) {
  if (flags & MAP_FIXED) return at;  // freed memory stays as it is: simt's checks see its use
  // The range is reserved once, before anybody has used this memory.
  void* memory = rights == PROT_NONE ? aligned_alloc(1 << 16, bytes) : calloc(bytes, 1);
  return memory ? memory : MAP_FAILED;
}
inline int munmap(void* memory, size_t) {
  free(memory);
  return 0;
}
inline int mprotect(void*, size_t, int) { return 0; }
inline int madvise(void* memory, size_t bytes, int) {
  memset(memory, 0, bytes);
  return 0;
}
