// Cooperative groups: a sum by tiles, and one by a grid that meets between its two steps.
#include <cooperative_groups.h>
#include <cstdio>

using namespace cooperative_groups;
namespace cg = cooperative_groups;

template <typename group_t>
__device__ int reduce_sum(group_t g, int* temp, int val) {
  int lane = g.thread_rank();
  for (int i = g.size() / 2; i > 0; i /= 2) {
    temp[lane] = val;
    g.sync();
    if (lane < i) val += temp[lane + i];
    g.sync();
  }
  return val;
}
__device__ int thread_sum(const int* input, int n) {
  int sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 4; i += blockDim.x * gridDim.x) {
    int4 in = ((const int4*)input)[i];
    sum += in.x + in.y + in.z + in.w;
  }
  return sum;
}
__global__ void sum_kernel_block(int* sum, const int* input, int n) {
  extern __shared__ int temp[];
  auto g = this_thread_block();
  int block_sum = reduce_sum(g, temp, thread_sum(input, n));
  if (g.thread_rank() == 0) atomicAdd(sum, block_sum);
}
template <int tile_sz>
__global__ void sum_kernel_32(int* sum, const int* input, int n) {
  auto tile = tiled_partition<tile_sz>(this_thread_block());
  int val = thread_sum(input, n);
  for (int i = tile.size() / 2; i > 0; i /= 2) val += tile.shfl_down(val, i);
  if (tile.thread_rank() == 0) atomicAdd(sum, val);
}
__global__ void sum_kernel_grid(int* sum, int* part, const int* input, int n) {
  grid_group grid = this_grid();
  __shared__ int block_sum;
  if (threadIdx.x == 0) block_sum = 0;
  __syncthreads();
  atomicAdd(&block_sum, thread_sum(input, n));
  __syncthreads();
  if (threadIdx.x == 0) part[blockIdx.x] = block_sum;
  cg::sync(grid);
  if (grid.thread_rank() == 0)
    for (unsigned b = 0; b < gridDim.x; ++b) *sum += part[b];
}

int main() {
  int n = 1 << 16, blockSize = 256, nBlocks = 16;
  int *sum, *data, *part;
  cudaMallocManaged(&sum, 3 * sizeof(int));
  cudaMallocManaged(&data, n * sizeof(int));
  cudaMallocManaged(&part, nBlocks * sizeof(int));
  for (int i = 0; i < n; ++i) data[i] = 1;
  cudaMemset(sum, 0, 3 * sizeof(int));
  sum_kernel_block<<<nBlocks, blockSize, blockSize * sizeof(int)>>>(sum, data, n);
  sum_kernel_32<16><<<nBlocks, blockSize>>>(sum + 1, data, n);
  int* third = sum + 2;
  void* args[] = {(void*)&third, (void*)&part, (void*)&data, (void*)&n};
  cudaError_t status =
      cudaLaunchCooperativeKernel((void*)sum_kernel_grid, nBlocks, blockSize, args, 0, 0);
  if (status != cudaSuccess || cudaDeviceSynchronize() != cudaSuccess) return 1;
  for (int i = 0; i < 3; ++i)
    if (sum[i] != n) return 2;
  printf("ok\n");
  return 0;
}
