// Races of scopes: a fence, an atomic or a lock that reaches the threads of its block, where those
// of another block take part; and mistakes of fences, flags and locks that no scope would mend.
// Every word begins at -1.
#include "../async/suite.cuh"

namespace {

// Who takes part: the first threads of two blocks, or of two warps of one block.
enum Reach { kBlocks, kWarps };
template <Reach reach>
__device__ int part() {
  if (reach == kBlocks) return threadIdx.x == 0 ? static_cast<int>(blockIdx.x) : -1;
  return threadIdx.x % 32 == 0 ? static_cast<int>(threadIdx.x / 32) : -1;
}

// ---- counters: out[0]

template <bool faulty>
__global__ void counter_of_a_block(const int*, int* out) {
  if (faulty) {
    atomicAdd_block(&out[0], 1);  // fault: counter_of_a_block
  } else {
    atomicAdd(&out[0], 1);
  }
}
// One adds by an atomic, one writes.
template <bool faulty>
__global__ void write_beside_an_atomic(const int*, int* out) {
  if (part<kBlocks>() == 0) atomicMax(&out[0], 1);  // fault: write_beside_an_atomic
  if (part<kBlocks>() == 1) {
    if (faulty) {
      out[0] = 1;  // fault: write_beside_an_atomic
    } else {
      atomicExch(&out[0], 1);
    }
  }
}
template <bool faulty>
__global__ void write_beside_a_block_atomic(const int*, int* out) {
  if (part<kWarps>() == 0) atomicMax_block(&out[0], 1);  // fault: write_beside_a_block_atomic
  if (part<kWarps>() == 1) {
    if (faulty) {
      out[0] = 1;  // fault: write_beside_a_block_atomic
    } else {
      atomicExch_block(&out[0], 1);
    }
  }
}

// ---- messages: data in out[0], a flag in out[1]

__device__ void fence(bool of_the_block) {
  if (of_the_block) {
    __threadfence_block();
  } else {
    __threadfence();
  }
}

template <bool faulty>
__global__ void fence_of_the_sender(const int*, int* out) {
  if (part<kBlocks>() == 0) {
    out[0] = 4;  // fault: fence_of_the_sender
    fence(faulty);
    atomicExch(&out[1], 1);
  } else if (part<kBlocks>() == 1) {
    while (atomicAdd(&out[1], 0) != 1) {
    }
    __threadfence();
    out[2] = out[0];  // fault: fence_of_the_sender
  }
}
template <bool faulty>
__global__ void fence_of_the_receiver(const int*, int* out) {
  if (part<kBlocks>() == 0) {
    out[0] = 4;  // fault: fence_of_the_receiver
    __threadfence();
    atomicExch(&out[1], 1);
  } else if (part<kBlocks>() == 1) {
    while (atomicAdd(&out[1], 0) != 1) {
    }
    fence(faulty);
    out[2] = out[0];  // fault: fence_of_the_receiver
  }
}
template <bool faulty>
__global__ void flag_of_the_block(const int*, int* out) {
  if (part<kBlocks>() == 0) {
    out[0] = 4;  // fault: flag_of_the_block
    __threadfence();
    if (faulty) {
      atomicExch_block(&out[1], 1);  // fault: flag_of_the_block
    } else {
      atomicExch(&out[1], 1);
    }
  } else if (part<kBlocks>() == 1) {
    while (atomicAdd(&out[1], 0) != 1) {  // fault: flag_of_the_block
    }
    __threadfence();
    out[2] = out[0];  // fault: flag_of_the_block
  }
}
// The sender looks at the data once more, when the other one may write them.
template <bool faulty>
__global__ void read_behind_the_flag(const int*, int* out) {
  if (part<kBlocks>() == 0) {
    const int seen = out[0];
    __threadfence();
    atomicExch(&out[1], 1);
    out[2] = faulty ? out[0] : seen;  // fault: read_behind_the_flag
  } else if (part<kBlocks>() == 1) {
    while (atomicAdd(&out[1], 0) != 1) {
    }
    __threadfence();
    out[0] = 4;  // fault: read_behind_the_flag
  }
}
template <bool faulty>
__global__ void no_fence_between_warps(const int*, int* out) {
  if (part<kWarps>() == 0) {
    out[0] = 4;  // fault: no_fence_between_warps
    if (!faulty) __threadfence_block();
    atomicExch_block(&out[1], 1);
  } else if (part<kWarps>() == 1) {
    while (atomicAdd_block(&out[1], 0) != 1) {
    }
    __threadfence_block();
    out[2] = out[0];  // fault: no_fence_between_warps
  }
}

// ---- locks: data in out[0], a lock in out[1]; -1: nobody has it

template <bool faulty>
__global__ void lock_of_the_block(const int*, int* out) {
  if (part<kBlocks>() < 0) return;
  if (faulty) {
    while (atomicCAS_block(&out[1], -1, 1) != -1) {  // fault: lock_of_the_block
    }
  } else {
    while (atomicCAS(&out[1], -1, 1) != -1) {
    }
  }
  __threadfence();
  out[0] += 1;  // fault: lock_of_the_block
  __threadfence();
  if (faulty) {
    atomicExch_block(&out[1], -1);  // fault: lock_of_the_block
  } else {
    atomicExch(&out[1], -1);
  }
}
template <bool faulty>
__global__ void fences_of_the_block_in_a_lock(const int*, int* out) {
  if (part<kBlocks>() < 0) return;
  while (atomicCAS(&out[1], -1, 1) != -1) {
  }
  fence(faulty);
  out[0] += 1;  // fault: fences_of_the_block_in_a_lock
  fence(faulty);
  atomicExch(&out[1], -1);
}
// Only one of the two has no fence behind the lock: it shows if that one comes second.
template <bool faulty>
__global__ void no_fence_behind_one_lock(const int*, int* out) {
  if (part<kBlocks>() < 0) return;
  while (atomicCAS(&out[1], -1, 1) != -1) {
  }
  if (!faulty || part<kBlocks>() == 1) __threadfence();
  out[0] += 1;  // fault: no_fence_behind_one_lock
  __threadfence();
  atomicExch(&out[1], -1);
}
// ... and here, if it comes first.
template <bool faulty>
__global__ void no_fence_before_one_release(const int*, int* out) {
  if (part<kBlocks>() < 0) return;
  while (atomicCAS(&out[1], -1, 1) != -1) {
  }
  __threadfence();
  out[0] += 1;  // fault: no_fence_before_one_release
  if (!faulty || part<kBlocks>() == 0) __threadfence();
  atomicExch(&out[1], -1);
}
template <bool faulty>
__global__ void write_without_the_lock(const int*, int* out) {
  if (part<kBlocks>() == 0 || (part<kBlocks>() == 1 && !faulty)) {
    while (atomicCAS(&out[1], -1, 1) != -1) {
    }
    __threadfence();
    out[0] = 4;  // fault: write_without_the_lock
    __threadfence();
    atomicExch(&out[1], -1);
  } else if (part<kBlocks>() == 1) {
    out[0] = 3;  // fault: write_without_the_lock
  }
}
template <bool faulty>
__global__ void read_without_the_lock(const int*, int* out) {
  if (part<kBlocks>() < 0) return;
  const bool locks = part<kBlocks>() == 0 || !faulty;
  if (locks) {
    while (atomicCAS(&out[1], -1, 1) != -1) {
    }
    __threadfence();
  }
  if (part<kBlocks>() == 0) {
    out[0] = 4;  // fault: read_without_the_lock
  } else {
    out[2] = out[0] == 4 || out[0] == -1;  // fault: read_without_the_lock
  }
  if (locks) {
    __threadfence();
    atomicExch(&out[1], -1);
  }
}
template <bool faulty>
__global__ void no_fence_behind_a_block_lock(const int*, int* out) {
  if (part<kWarps>() < 0) return;
  while (atomicCAS_block(&out[1], -1, 1) != -1) {
  }
  if (!faulty || part<kWarps>() == 1) __threadfence_block();
  out[0] += 1;  // fault: no_fence_behind_a_block_lock
  __threadfence_block();
  atomicExch_block(&out[1], -1);
}
template <bool faulty>
__global__ void no_fence_before_a_block_release(const int*, int* out) {
  if (part<kWarps>() < 0) return;
  while (atomicCAS_block(&out[1], -1, 1) != -1) {
  }
  __threadfence_block();
  out[0] += 1;  // fault: no_fence_before_a_block_release
  if (!faulty || part<kWarps>() == 0) __threadfence_block();
  atomicExch_block(&out[1], -1);
}
template <bool faulty>
__global__ void write_without_the_block_lock(const int*, int* out) {
  if (part<kWarps>() == 0 || (part<kWarps>() == 1 && !faulty)) {
    while (atomicCAS_block(&out[1], -1, 1) != -1) {
    }
    __threadfence_block();
    out[0] = 4;  // fault: write_without_the_block_lock
    __threadfence_block();
    atomicExch_block(&out[1], -1);
  } else if (part<kWarps>() == 1) {
    out[0] = 3;  // fault: write_without_the_block_lock
  }
}

int one(int) { return 1; }
int two_more(int) { return 1; }
int sixty_four_more(int) { return 63; }
int data_and_copy(int i) { return i == 0 ? 4 : 1; }
int four(int) { return 4; }

constexpr Pair kPairs[] = {
    PAIR(counter_of_a_block, 2, 32, 1, sixty_four_more),
    PAIR(write_beside_an_atomic, 2, 32, 1, one),
    PAIR(write_beside_a_block_atomic, 1, 64, 1, one),
    PAIR(fence_of_the_sender, 2, 32, 2, data_and_copy),
    PAIR(fence_of_the_receiver, 2, 32, 2, data_and_copy),
    PAIR(flag_of_the_block, 2, 32, 2, data_and_copy),
    PAIR(read_behind_the_flag, 2, 32, 2, data_and_copy),
    PAIR(no_fence_between_warps, 1, 64, 2, data_and_copy),
    PAIR(lock_of_the_block, 2, 32, 1, two_more),
    PAIR(fences_of_the_block_in_a_lock, 2, 32, 1, two_more),
    PAIR(no_fence_behind_one_lock, 2, 32, 1, two_more),
    PAIR(no_fence_before_one_release, 2, 32, 1, two_more),
    PAIR(write_without_the_lock, 2, 32, 1, four),
    PAIR(read_without_the_lock, 2, 32, 1, four),
    PAIR(no_fence_behind_a_block_lock, 1, 64, 1, two_more),
    PAIR(no_fence_before_a_block_release, 1, 64, 1, two_more),
    PAIR(write_without_the_block_lock, 1, 64, 1, four),
};

}  // namespace

int main(int argc, char** argv) { return run_suite(kPairs, argc, argv); }
