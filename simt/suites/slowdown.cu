// What simt's checks cost: five kernels, timed. Built twice, plain and with SIMT_CHECK=1, its two
// tables side by side are the one at the end of simt/checks-and-counters.md:
//
//   simt/nvcc -O3 simt/suites/slowdown.cu -o plain && SIMT_THREADS=1 ./plain
//   SIMT_CHECK=1 simt/nvcc -O3 simt/suites/slowdown.cu -o checked && SIMT_THREADS=1 ./checked
#include <cstdio>
#include <ctime>

__global__ void add(const float* a, const float* b, float* c) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  c[i] = a[i] + b[i];
}
__global__ void product(const float* a, const float* b, float* c, unsigned n) {
  __shared__ float tile_a[16][16], tile_b[16][16];
  const unsigned row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (unsigned k = 0; k < n; k += 16) {
    tile_a[threadIdx.y][threadIdx.x] = a[row * n + k + threadIdx.x];
    tile_b[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + column];
    __syncthreads();
    for (unsigned j = 0; j < 16; ++j) sum += tile_a[threadIdx.y][j] * tile_b[j][threadIdx.x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}
__global__ void reduce(const float* a, float* sums) {
  float sum = a[blockIdx.x * blockDim.x + threadIdx.x];
  for (unsigned offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(~0u, sum, offset);
  if (threadIdx.x % 32 == 0) atomicAdd(&sums[blockIdx.x], sum);
}
__global__ void histogram(const unsigned char* bytes, unsigned* bins) {
  __shared__ unsigned own[256];
  own[threadIdx.x] = 0;
  __syncthreads();
  for (unsigned i = 0; i < 16; ++i)
    atomicAdd(&own[bytes[(blockIdx.x * 16 + i) * blockDim.x + threadIdx.x]], 1u);
  __syncthreads();
  atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}
// Nothing but arithmetic: next to nothing to check.
__global__ void iterate(const float* a, float* c) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = a[i];
  for (int turn = 0; turn < 256; ++turn) x = x * x - 0.5f * x + 0.25f;
  c[i] = x;
}

// Milliseconds of CPU time of the fastest of five launches: what else runs on the machine counts
// less than it would in time by the clock.
template <class Launch>
void time(const char* name, Launch launch) {
  double best = 1e30;
  for (int repeat = 0; repeat < 5; ++repeat) {
    const std::clock_t start = std::clock();
    launch();
    cudaDeviceSynchronize();
    const double taken = 1e3 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    if (taken < best) best = taken;
  }
  std::printf("%-12s %8.2f ms\n", name, best);
}

int main() {
  constexpr unsigned kSide = 256, kCount = 1 << 20;
  float *a, *b, *c;
  unsigned* bins;
  cudaMalloc(&a, kCount * sizeof *a), cudaMalloc(&b, kCount * sizeof *b);
  cudaMalloc(&c, kCount * sizeof *c), cudaMalloc(&bins, 256 * sizeof *bins);
  cudaMemset(a, 0, kCount * sizeof *a), cudaMemset(b, 0, kCount * sizeof *b);
  cudaMemset(c, 0, kCount * sizeof *c), cudaMemset(bins, 0, 256 * sizeof *bins);
  time("add", [&] { add<<<kCount / 256, 256>>>(a, b, c); });
  time("product", [&] { product<<<dim3(kSide / 16, kSide / 16), dim3(16, 16)>>>(a, b, c, kSide); });
  time("reduce", [&] { reduce<<<kCount / 256, 256>>>(a, c); });
  time("histogram",
       [&] { histogram<<<kCount / 4096, 256>>>(reinterpret_cast<const unsigned char*>(a), bins); });
  time("iterate", [&] { iterate<<<kCount / 4096, 256>>>(a, c); });
  cudaFree(a), cudaFree(b), cudaFree(c), cudaFree(bins);
}
