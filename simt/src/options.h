// What the environment said when the program began: no code of the program's own can change it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace simt {

enum class Order { kForward, kReverse, kRandom };
enum class Async { kLate, kEarly, kRandom };

struct Options {
  int threads;  // SIMT_THREADS: OS threads that run blocks; default: all cores
  Order order;  // SIMT_ORDER=forward|reverse|random[:seed]: of blocks, warps and lanes
  uint64_t seed;
  Async async;  // SIMT_ASYNC=late|early|random[:seed]: when copies in the background are done
  uint64_t async_seed;
  size_t stack_bytes;   // SIMT_STACK_KB: stack of one CUDA thread; default 128
  size_t memory_bytes;  // SIMT_MEMORY=bytes or 4G, 512M: of each model GPU; default: together half
                        // of what is free
  int devices;          // SIMT_DEVICES: how many model GPUs there are; default 1
  int multiprocessors;  // SIMT_MULTIPROCESSORS: how many the model GPU has; 0: as the real one
  double patience;  // SIMT_TIMEOUT: seconds without progress until a launch counts as deadlocked
  bool plain_volatile;  // SIMT_VOLATILE=plain: to the race check `volatile` is no excuse
  bool deferred;  // SIMT_STREAMS=deferred: asynchronous work waits until the host waits for it
};

const Options& options();

// SIMT_ORDERS=8: the program runs so many times, each time in another order (check_orders.cpp).
// This is run number ...
struct Run {
  unsigned number = 0, count = 1;
  // Of all runs but the first: "SIMT_ORDER=random:3 SIMT_ASYNC=random:3".
  const char* settings() const;
};
extern Run this_run;

// The value of a variable SIMT_..., as the program was started with; null: none.
const char* setting(const char* name);
// The word that SIMT_SEAL asked for (simt/judge.h); "" if it did not.
const char* sealed_word();

}  // namespace simt
