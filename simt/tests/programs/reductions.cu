// Sums of an array: the classic steps, from divergent interleaving to shuffles.
#include <cstdio>
#include <vector>

#define CHECK(call)                                                         \
  do {                                                                      \
    cudaError_t status = call;                                              \
    if (status != cudaSuccess) {                                            \
      printf("%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
      return 1;                                                             \
    }                                                                       \
  } while (0)

template <unsigned blockSize>
__global__ void interleaved(const int* in, int* out, int n) {
  extern __shared__ int sdata[];
  unsigned tid = threadIdx.x, i = blockIdx.x * blockSize + tid;
  sdata[tid] = i < n ? in[i] : 0;
  __syncthreads();
  for (unsigned s = 1; s < blockSize; s *= 2) {
    if (tid % (2 * s) == 0) sdata[tid] += sdata[tid + s];
    __syncthreads();
  }
  if (tid == 0) atomicAdd(out, sdata[0]);
}
template <unsigned blockSize>
__global__ void sequential(const int* in, int* out, int n) {
  extern __shared__ int sdata[];
  unsigned tid = threadIdx.x, i = blockIdx.x * blockSize * 2 + tid;
  sdata[tid] = (i < n ? in[i] : 0) + (i + blockSize < n ? in[i + blockSize] : 0);
  __syncthreads();
  for (unsigned s = blockSize / 2; s > 32; s >>= 1) {
    if (tid < s) sdata[tid] += sdata[tid + s];
    __syncthreads();
  }
  if (tid < 32) {
    int v = sdata[tid] + sdata[tid + 32];
    for (int offset = 16; offset > 0; offset /= 2) v += __shfl_down_sync(0xffffffff, v, offset);
    if (tid == 0) atomicAdd(out, v);
  }
}
__inline__ __device__ int warpReduceSum(int val) {
  for (int offset = warpSize / 2; offset > 0; offset /= 2)
    val += __shfl_xor_sync(0xffffffff, val, offset);
  return val;
}
__inline__ __device__ int blockReduceSum(int val) {
  static __shared__ int shared[32];
  int lane = threadIdx.x % warpSize, wid = threadIdx.x / warpSize;
  val = warpReduceSum(val);
  if (lane == 0) shared[wid] = val;
  __syncthreads();
  val = (threadIdx.x < blockDim.x / warpSize) ? shared[lane] : 0;
  if (wid == 0) val = warpReduceSum(val);
  return val;
}
__global__ void grid_stride(const int* in, int* out, int n) {
  int sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
    sum += in[i];
  sum = blockReduceSum(sum);
  if (threadIdx.x == 0) atomicAdd(out, sum);
}

int main() {
  const int n = 100003;
  std::vector<int> h(n);
  int expected = 0;
  for (int i = 0; i < n; ++i) expected += h[i] = i % 17 - 8;
  int *in, *out, result[3];
  CHECK(cudaMalloc(&in, n * sizeof(int)));
  CHECK(cudaMalloc(&out, 3 * sizeof(int)));
  CHECK(cudaMemcpy(in, h.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  CHECK(cudaMemset(out, 0, 3 * sizeof(int)));
  interleaved<256><<<(n + 255) / 256, 256, 256 * sizeof(int)>>>(in, out, n);
  sequential<256><<<(n + 511) / 512, 256, 256 * sizeof(int)>>>(in, out + 1, n);
  grid_stride<<<24, 512>>>(in, out + 2, n);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(result, out, sizeof result, cudaMemcpyDeviceToHost));
  CHECK(cudaFree(in));
  CHECK(cudaFree(out));
  for (int r : result)
    if (r != expected) return 1;
  printf("ok\n");
  return 0;
}
