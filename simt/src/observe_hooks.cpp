// What the compiler calls. With -fsanitize=thread it puts a call in front of every memory access,
// with -fsanitize-coverage=trace-pc one into every basic block; both expect a library that we do
// not link but replace. Code of the host comes by here too and is let through at once.

#include <math.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "dwarf_lines.h"
#include "observe.h"
#include "simt/sync.h"

namespace simt {
namespace {

__attribute__((noinline)) void access_of_host(uint64_t address, unsigned size, const void* pc,
                                              Use use) {
  const uint32_t at = relative_pc(pc, watcher->program_base);
  if (watcher->memory.host_shares(address)) {
    watcher->host_shares(address, size, at, use);
  } else if (among_symbols(address)) {
    watcher->host_touches_variable(address, at, use);
  } else {
    watcher->host_access(address, at, writes(use));
  }
}

// `top` is the stack pointer of the calling code: how far it has come down the stack says how deep
// in calls it is.
inline __attribute__((always_inline)) void on_access(const void* pointer, unsigned size, Use use,
                                                     bool aligned, const void* pc, void* top,
                                                     bool continues = false) {
  if (watcher == nullptr) return;
  const auto address = reinterpret_cast<uint64_t>(pointer);
  const Block* block = state.block;
  if (block == nullptr) {
    const uint64_t low = watcher->memory.low.load(std::memory_order_relaxed);
    if ((address >= low && address < watcher->memory.high.load(std::memory_order_relaxed)) ||
        watcher->memory.host_shares(address) || among_symbols(address)) {
      access_of_host(address, size, pc, use);
    }
    return;
  }
  BlockWatch* watch = watch_of(block);
  if (is_local(address)) {
    if (watch != nullptr && watch->has_products())
      watch->local_access(address, size, relative_pc(pc, watcher->program_base), writes(use));
    return;
  }
  if (watch == nullptr) return;
  const auto depth =
      (reinterpret_cast<uint64_t>(state.stack_high) - reinterpret_cast<uint64_t>(top)) / 16;
  watch->access({address, relative_pc(pc, watcher->program_base), static_cast<uint16_t>(size),
                 static_cast<uint16_t>(depth), use, aligned, continues});
}

inline __attribute__((always_inline)) void on_range(const void* pointer, size_t size, Use use,
                                                    const void* pc, void* top) {
  in_pieces(reinterpret_cast<uint64_t>(pointer), size,
            [&](uint64_t at, unsigned piece, bool continues) {
              on_access(reinterpret_cast<const void*>(at), piece, use, false, pc, top, continues);
            });
}

}  // namespace
}  // namespace simt

using simt::Use;

#define CALLER __builtin_return_address(0), __builtin_dwarf_cfa()

extern "C" {

#define ACCESS_HOOKS(size)                                                                  \
  void __tsan_read##size(void* p) { simt::on_access(p, size, Use::kRead, true, CALLER); }   \
  void __tsan_write##size(void* p) { simt::on_access(p, size, Use::kWrite, true, CALLER); } \
  void __tsan_unaligned_read##size(void* p) {                                               \
    simt::on_access(p, size, Use::kRead, false, CALLER);                                    \
  }                                                                                         \
  void __tsan_unaligned_write##size(void* p) {                                              \
    simt::on_access(p, size, Use::kWrite, false, CALLER);                                   \
  }                                                                                         \
  void __tsan_volatile_read##size(void* p) {                                                \
    simt::poll();                                                                           \
    simt::on_access(p, size, Use::kVolatileRead, true, CALLER);                             \
  }                                                                                         \
  void __tsan_volatile_write##size(void* p) {                                               \
    simt::on_access(p, size, Use::kVolatileWrite, true, CALLER);                            \
  }                                                                                         \
  void __tsan_unaligned_volatile_read##size(void* p) {                                      \
    simt::on_access(p, size, Use::kVolatileRead, false, CALLER);                            \
  }                                                                                         \
  void __tsan_unaligned_volatile_write##size(void* p) {                                     \
    simt::on_access(p, size, Use::kVolatileWrite, false, CALLER);                           \
  }
ACCESS_HOOKS(1)
ACCESS_HOOKS(2)
ACCESS_HOOKS(4)
ACCESS_HOOKS(8)
ACCESS_HOOKS(16)

void __tsan_read_range(void* p, size_t size) { simt::on_range(p, size, Use::kRead, CALLER); }
void __tsan_write_range(void* p, size_t size) { simt::on_range(p, size, Use::kWrite, CALLER); }

// clang calls this where a structure is copied.
void* __tsan_memcpy(void* to, const void* from, size_t size) {
  simt::on_range(from, size, Use::kRead, CALLER);
  simt::on_range(to, size, Use::kWrite, CALLER);
  return std::memcpy(to, from, size);
}

// The C++ atomics (std::atomic, __atomic_*). Orders are ignored: all are carried out as the
// strictest.
#define ATOMIC_HOOKS(bits, T)                                                                      \
  T __tsan_atomic##bits##_load(const volatile T* p, int) {                                         \
    simt::poll();                                                                                  \
    simt::on_access(const_cast<const T*>(p), sizeof(T), Use::kAtomicLoad, true, CALLER);           \
    return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                                   \
  }                                                                                                \
  void __tsan_atomic##bits##_store(volatile T* p, T value, int) {                                  \
    simt::on_access(const_cast<T*>(p), sizeof(T), Use::kAtomicStore, true, CALLER);                \
    __atomic_store_n(p, value, __ATOMIC_SEQ_CST);                                                  \
  }                                                                                                \
  T __tsan_atomic##bits##_exchange(volatile T* p, T value, int) {                                  \
    simt::on_access(const_cast<T*>(p), sizeof(T), Use::kAtomic, true, CALLER);                     \
    return __atomic_exchange_n(p, value, __ATOMIC_SEQ_CST);                                        \
  }                                                                                                \
  int __tsan_atomic##bits##_compare_exchange_strong(volatile T* p, T* expected, T value, int,      \
                                                    int) {                                         \
    simt::on_access(const_cast<T*>(p), sizeof(T), Use::kAtomic, true, CALLER);                     \
    return __atomic_compare_exchange_n(p, expected, value, false, __ATOMIC_SEQ_CST,                \
                                       __ATOMIC_SEQ_CST);                                          \
  }                                                                                                \
  int __tsan_atomic##bits##_compare_exchange_weak(volatile T* p, T* expected, T value, int, int) { \
    simt::on_access(const_cast<T*>(p), sizeof(T), Use::kAtomic, true, CALLER);                     \
    return __atomic_compare_exchange_n(p, expected, value, true, __ATOMIC_SEQ_CST,                 \
                                       __ATOMIC_SEQ_CST);                                          \
  }                                                                                                \
  T __tsan_atomic##bits##_compare_exchange_val(volatile T* p, T expected, T value, int, int) {     \
    simt::on_access(const_cast<T*>(p), sizeof(T), Use::kAtomic, true, CALLER);                     \
    __atomic_compare_exchange_n(p, &expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);   \
    return expected;                                                                               \
  }                                                                                                \
  ATOMIC_UPDATE_HOOK(bits, T, add)                                                                 \
  ATOMIC_UPDATE_HOOK(bits, T, sub)                                                                 \
  ATOMIC_UPDATE_HOOK(bits, T, and)                                                                 \
  ATOMIC_UPDATE_HOOK(bits, T, or)                                                                  \
  ATOMIC_UPDATE_HOOK(bits, T, xor)                                                                 \
  ATOMIC_UPDATE_HOOK(bits, T, nand)
#define ATOMIC_UPDATE_HOOK(bits, T, what)                                      \
  T __tsan_atomic##bits##_fetch_##what(volatile T* p, T value, int) {          \
    simt::on_access(const_cast<T*>(p), sizeof(T), Use::kAtomic, true, CALLER); \
    return __atomic_fetch_##what(p, value, __ATOMIC_SEQ_CST);                  \
  }
ATOMIC_HOOKS(8, unsigned char)
ATOMIC_HOOKS(16, unsigned short)
ATOMIC_HOOKS(32, unsigned int)
ATOMIC_HOOKS(64, unsigned long)

void __tsan_atomic_thread_fence(int) {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  if (simt::state.block != nullptr && simt::watch_of(simt::state.block) != nullptr) {
    simt::watch_of(simt::state.block)->fence();
  }
}
void __tsan_atomic_signal_fence(int) {}

// Of the C library, which nobody instruments: what stores through pointers.
void sincosf(float x, float* sine, float* cosine) {
  static float (*const volatile sine_of)(float) = sinf;  // or the two become a call of sincosf
  simt::on_access(sine, sizeof(float), Use::kWrite, true, CALLER);
  *sine = sine_of(x);
  simt::on_access(cosine, sizeof(float), Use::kWrite, true, CALLER);
  *cosine = cosf(x);
}
void sincos(double x, double* sine, double* cosine) {
  static double (*const volatile sine_of)(double) = sin;
  simt::on_access(sine, sizeof(double), Use::kWrite, true, CALLER);
  *sine = sine_of(x);
  simt::on_access(cosine, sizeof(double), Use::kWrite, true, CALLER);
  *cosine = cos(x);
}

void __sanitizer_cov_trace_pc() {
  const simt::Block* block = simt::state.block;
  if (block == nullptr) return;
  simt::BlockWatch* watch = simt::watch_of(block);
  if (watch == nullptr) return;
  const auto top = reinterpret_cast<uint64_t>(__builtin_dwarf_cfa());
  const auto depth = (reinterpret_cast<uint64_t>(simt::state.stack_high) - top) / 16;
  watch->basic_block(simt::relative_pc(__builtin_return_address(0), simt::watcher->program_base),
                     static_cast<uint16_t>(depth));
}

// A constructor or destructor of a class with virtual functions: a store like any other.
void __tsan_vptr_update(void** p, void*) {
  simt::on_access(p, sizeof(void*), Use::kWrite, true, CALLER);
}

// Asked for by the compiler, of no use here.
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_read(void**) {}
}
