// Between two barriers every warp has one turn, whatever its lanes wait for in it. Who comes first
// is open, but the warps' numbers do not mix.
#include <algorithm>
#include <cstdio>

constexpr int kThreads = 200, kWarps = 7, kRounds = 6;  // the last warp has 8 lanes

__global__ void take_turns(int* next, int* numbers, int* wrong) {
  for (int round = 0; round < kRounds; ++round) {
    int* mine = &numbers[(round * kThreads + threadIdx.x) * 2];
    mine[0] = atomicAdd(next, 1);
    const bool warp_waits = (threadIdx.x / 32 + round) % 2 == 0;
    if (warp_waits) __syncwarp();
    mine[1] = atomicAdd(next, 1);
    if (round % 2 == 0)
      __syncthreads();
    else if (__syncthreads_count(threadIdx.x < 50) != 50)
      *wrong = 1;
  }
}

int main() {
  int *next, *numbers, *wrong;
  cudaMallocManaged(&next, sizeof(int));
  cudaMallocManaged(&numbers, kRounds * kThreads * 2 * sizeof(int));
  cudaMallocManaged(&wrong, sizeof(int));
  *next = *wrong = 0;
  take_turns<<<1, kThreads>>>(next, numbers, wrong);
  if (cudaDeviceSynchronize() != cudaSuccess || *wrong) return 1;
  for (int round = 0; round < kRounds; ++round)
    for (int warp = 0; warp < kWarps; ++warp) {
      const int lanes = std::min(32, kThreads - 32 * warp);
      const int* first = &numbers[(round * kThreads + 32 * warp) * 2];
      const auto [low, high] = std::minmax_element(first, first + 2 * lanes);
      if (*high - *low != 2 * lanes - 1) return 2;
    }
  printf("ok\n");
  return 0;
}
