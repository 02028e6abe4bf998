// Fibres: several call stacks that one OS thread switches between. A CUDA thread that waits keeps
// its stack; the OS thread goes on with another.
#pragma once

#include <cstddef>
#include <vector>

namespace simt {

// A suspended stack: the value of its stack pointer, below which its registers are saved.
using Context = void*;

// A new stack that will start with a call of entry(), which must not return.
Context make_context(char* stack_high, void (*entry)());

// The lowest address that the functions on a suspended stack still use.
const void* lowest_used(Context context);

// Suspends the running stack, stores it in *save, and goes on with `to`. As the last call of a
// function it is a jump, and the way back leads straight into that function's caller. That matters:
// the processor predicts where a `ret` goes from the calls it saw, and after a switch it is wrong
// every time. (A library switch, Boost.Context, was measured too: a barrier took twice as long with
// it.)
extern "C" void simt_switch_context(Context* save, Context to);
// The same, and nobody comes back to the running stack.
[[noreturn]] void leave_for(Context to);

struct Fiber {
  char* low = nullptr;  // the stack's addresses: [low, high)
  char* high = nullptr;
  Context context = nullptr;  // while nobody runs on it
};

// The fibres of one worker. They are made on demand and kept.
class FiberPool {
 public:
  explicit FiberPool(void (*entry)()) : entry_(entry) {}
  ~FiberPool();
  FiberPool(const FiberPool&) = delete;
  FiberPool& operator=(const FiberPool&) = delete;

  Fiber* take();
  // The fibre is at its entry's top again and may be taken by another thread.
  void give_back(Fiber* fiber) { free_.push_back(fiber); }
  // Forgets what the fibre was doing, after a fault.
  void reset(Fiber* fiber);

 private:
  void grow();

  void (*entry_)();
  std::vector<Fiber*> free_;
  std::vector<Fiber*> all_;
};

}  // namespace simt
