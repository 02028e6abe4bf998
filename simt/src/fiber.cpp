#include "fiber.h"

#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "options.h"

// The switch itself. A function call may destroy every register that the calling convention does
// not protect, so saving the protected ones and the stack pointer is all that is needed.
#if defined(__x86_64__)

asm(R"(
.text
.p2align 4
.globl simt_switch_context
.type simt_switch_context, @function
simt_switch_context:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq  %rsp, (%rdi)
    movq  %rsi, %rsp
    popq  %r15
    popq  %r14
    popq  %r13
    popq  %r12
    popq  %rbx
    popq  %rbp
    popq  %rdx
    jmpq  *%rdx
.size simt_switch_context, .-simt_switch_context
)");
namespace {
constexpr size_t kSavedWords = 8;  // six registers, the return address, and one word of alignment
constexpr size_t kReturnAddress = 6;
}  // namespace

#elif defined(__aarch64__)

asm(R"(
.text
.p2align 4
.globl simt_switch_context
.type simt_switch_context, %function
simt_switch_context:
    sub sp, sp, #160
    stp x19, x20, [sp, #0]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8,  d9,  [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp x19, x20, [sp, #0]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8,  d9,  [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    ret
.size simt_switch_context, .-simt_switch_context
)");
namespace {
constexpr size_t kSavedWords = 20;     // x19 to x30 and d8 to d15
constexpr size_t kReturnAddress = 11;  // x30
}  // namespace

#else
#error "simt runs on x86-64 and aarch64: add the switch of this processor here"
#endif

namespace simt {

Context make_context(char* stack_high, void (*entry)()) {
  auto top = reinterpret_cast<uintptr_t>(stack_high) & ~uintptr_t(15);
  void** saved = reinterpret_cast<void**>(top) - kSavedWords;
  memset(saved, 0, kSavedWords * sizeof(void*));
  saved[kReturnAddress] = reinterpret_cast<void*>(entry);
  return saved;
}

const void* lowest_used(Context context) { return context; }

void leave_for(Context to) {
  Context never;
  simt_switch_context(&never, to);
  __builtin_unreachable();
}

namespace {

constexpr size_t kPage = 4096;
// As many as a TLB has sets: a slab by itself spreads over all of them, for the kernel may put each
// slab at the same offset from a power of two.
constexpr size_t kFibersPerSlab = 128;
// Between two stacks: a power of two apart, they would fight for the same sets of the TLB, and
// every switch would miss.
constexpr size_t kUnused = 3 * kPage;
// Every stack has an unmapped page below it, until the kernel's limit on mappings comes near: 65530
// of a process, of which each such page takes two. All workers share what there is.
constexpr size_t kMostGuarded = 16384;
std::atomic<size_t> guarded{0};

}  // namespace

FiberPool::~FiberPool() {
  for (Fiber* fiber : all_) delete fiber;  // the stacks go with the process
}

Fiber* FiberPool::take() {
  if (free_.empty()) grow();
  Fiber* fiber = free_.back();
  free_.pop_back();
  return fiber;
}

void FiberPool::reset(Fiber* fiber) { fiber->context = make_context(fiber->high, entry_); }

void FiberPool::grow() {
  const size_t stack = options().stack_bytes, step = stack + kUnused;
  void* slab = mmap(nullptr, kFibersPerSlab * step, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (slab == MAP_FAILED) {
    fprintf(stderr, "simt: no memory for the stacks of more waiting threads (%zu so far)\n",
            all_.size());
    exit(1);
  }
  for (size_t i = 0; i < kFibersPerSlab; ++i) {
    Fiber* fiber = new Fiber;
    fiber->low = static_cast<char*>(slab) + i * step;
    // Stacks that all start at the same offset in a page would fight for the same cache sets.
    fiber->high = fiber->low + stack - (all_.size() % 61) * 192;
    if (guarded.fetch_add(1, std::memory_order_relaxed) < kMostGuarded) {
      mprotect(fiber->low, kPage, PROT_NONE);
      fiber->low += kPage;
    }
    reset(fiber);
    all_.push_back(fiber);
    free_.push_back(fiber);
  }
}

}  // namespace simt
