// SPDX-License-Identifier: MIT
// One process for each GPU, on one machine or on many: NCCL's all-reduce, checked and timed.
//
//   nvcc -O3 -I../.. processes.cu -o processes -lnccl
//   mpirun -np 2 ./processes [bytes]
//   torchrun --no-python --nproc-per-node 2 ./processes [bytes]
//
// Which process this is, and how many there are, the variables of mpirun or torchrun say. On more
// than one machine torchrun sets MASTER_ADDR by itself; for mpirun add -x MASTER_ADDR=host, the
// machine of rank 0. bytes: of the largest array (default 67108864).
#include <cstdio>

#if !__has_include(<nccl.h>)
int main() {
  std::puts("skipped: needs NCCL (nccl.h)");
  return 0;
}
#else
#include <vector>

#include "common/kit/check.cuh"
#include "common/kit/gpu_timer.cuh"
#include "common/kit/processes.cuh"

// ---------------------------------------------------------------- the arrays
// Whole numbers from -32 to 31: their sums are exact in any order.
float element(long long i, int rank) { return static_cast<float>((i * 31 + rank * 17) % 64 - 32); }

// Whether y is the sum of all ranks' arrays.
bool is_right(const std::vector<float>& y, int size) {
  for (long long i = 0; i < static_cast<long long>(y.size()); ++i) {
    float sum = 0;
    for (int rank = 0; rank < size; ++rank) sum += element(i, rank);
    if (y[i] != sum) {
      std::fprintf(stderr, "y[%lld] is %g instead of %g\n", i, y[i], sum);
      return false;
    }
  }
  return true;
}

// Microseconds of one of `calls` in a row, after as many that warm up. The CPU is ahead of the GPU.
double microseconds(ncclComm_t team, const float* x, float* y, long long n, int calls) {
  kit::GpuTimer timer;
  for (int i = 0; i < 2 * calls; ++i) {
    if (i == calls) timer.start();
    kit::check(ncclAllReduce(x, y, n, ncclFloat, ncclSum, team, nullptr));
  }
  timer.stop();
  return 1e3 * timer.elapsed_ms() / calls;
}

bool run(long long most_bytes) {
  const kit::Process process = kit::Process::from_environment();
  const int rank = process.rank, size = process.size;
  kit::Watchdog watchdog(rank);
  watchdog.begin("all ranks meet");
  const ncclComm_t team = kit::meet(process);

  if (rank == 0) std::printf("%d processes\n%12s %10s %8s %s\n", size, "bytes", "us", "GB/s", "");
  bool right = true;
  for (long long bytes = 256; bytes <= most_bytes; bytes *= 4) {
    watchdog.begin("all-reduce");
    const long long n = bytes / static_cast<long long>(sizeof(float));
    std::vector<float> host(n);
    for (long long i = 0; i < n; ++i) host[i] = element(i, rank);
    float *x = nullptr, *y = nullptr;
    CUDA_CHECK(cudaMalloc(&x, bytes));
    CUDA_CHECK(cudaMalloc(&y, bytes));
    CUDA_CHECK(cudaMemcpy(x, host.data(), bytes, cudaMemcpyHostToDevice));
    const double us = microseconds(team, x, y, n, bytes < (1 << 22) ? 100 : 20);
    CUDA_CHECK(cudaMemcpy(host.data(), y, bytes, cudaMemcpyDeviceToHost));
    const bool here = is_right(host, size);
    right = right && here;
    // What each process sends at least, 2 (size - 1) / size arrays, over the time.
    const double sent = 2.0 * (size - 1) / size * bytes;
    if (rank == 0) {
      std::printf("%12lld %10.2f %8.1f %s\n", bytes, us, sent / us * 1e-3,
                  here ? "right" : "WRONG");
    }
    CUDA_CHECK(cudaFree(x));
    CUDA_CHECK(cudaFree(y));
  }
  kit::check(ncclCommDestroy(team));
  return right;
}

int main(int argc, char** argv) {
  return kit::main_with_number(argc, argv, "bytes of the largest array", 256, 1LL << 34, 1 << 26,
                               run);
}
#endif
