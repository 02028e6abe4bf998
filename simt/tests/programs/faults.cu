// Commits the error that its argument names; prints what the runtime says about it.
#include <cassert>
#include <cstdio>
#include <cstring>

__global__ void write_far(int* data) { data[threadIdx.x + (1 << 16)] = 1; }
__global__ void write_behind(int* data, int n) { data[n + threadIdx.x] = 1; }
__global__ void write_null(int* data) { *data = 1; }
__global__ void fail_assert(int x) { assert(x == 1 && "x is one"); }
__global__ void run_trap() {
  if (threadIdx.x == 3) __trap();
}
__global__ void wait_for_nobody(int* flag) {
  while (atomicAdd(flag, 0) == 0) {
  }
}
__global__ void wait_in_two_places() {
  if (threadIdx.x < 16)
    __syncwarp(0xffffffff);
  else
    __syncthreads();
}
__global__ void divide(int* data) { data[0] = data[1] / data[0]; }
__device__ int recurse(int n) {
  volatile int local[256];
  local[n % 256] = n;
  return n == 0 ? local[0] : recurse(n - 1) + local[n % 256];
}
__global__ void recurse_deeply(int* data, int n) { data[0] = recurse(n); }
__global__ void read_misaligned(const float* data, float4* out) {
  *out = *reinterpret_cast<const float4*>(data + threadIdx.x + 1);
}
__global__ void free_in_kernel(int* data) { cudaFree(data); }
__global__ void wait_in_kernel() { cudaDeviceSynchronize(); }
__global__ void launch_in_kernel() { wait_in_kernel<<<1, 1>>>(); }
__global__ void three_arrays(int* data) {
  __shared__ int a[8192], b[4096], c[1];
  a[threadIdx.x] = b[threadIdx.x] = c[0] = 1;
  data[0] = a[0] + b[0] + c[0];
}
__global__ void read_texture(int* data, cudaTextureObject_t texture) {
  data[0] = tex1Dfetch<int>(texture, 0);
}
__global__ void good(int* data) { data[threadIdx.x] = 7; }

static void say(const char* what, cudaError_t e) { printf("%s: %s\n", what, cudaGetErrorName(e)); }

int main(int argc, char** argv) {
  const char* which = argc > 1 ? argv[1] : "";
  int* data;
  cudaMalloc(&data, 1024);
  cudaMemset(data, 0, 1024);
  if (!strcmp(which, "far")) write_far<<<1, 32>>>(data);
  if (!strcmp(which, "behind")) write_behind<<<1, 32>>>(data, 256);
  if (!strcmp(which, "null")) write_null<<<1, 1>>>(nullptr);
  if (!strcmp(which, "freed")) {
    int* other;
    cudaMalloc(&other, 64);
    cudaFree(other);
    good<<<1, 1>>>(other);
  }
  if (!strcmp(which, "assert")) fail_assert<<<1, 1>>>(2);
  if (!strcmp(which, "trap")) run_trap<<<4, 64>>>();
  if (!strcmp(which, "polling")) wait_for_nobody<<<2, 1>>>(data);
  if (!strcmp(which, "barriers")) wait_in_two_places<<<1, 32>>>();
  if (!strcmp(which, "division")) divide<<<1, 1>>>(data);
  if (!strcmp(which, "recursion")) recurse_deeply<<<1, 1>>>(data, 100000);
  if (!strcmp(which, "misaligned")) read_misaligned<<<1, 32>>>((float*)data, (float4*)data);
  if (!strcmp(which, "texture")) {
    cudaResourceDesc resource{};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear = {data, cudaCreateChannelDesc<float>(), 1024};
    cudaTextureDesc description{};
    cudaTextureObject_t texture;
    cudaCreateTextureObject(&texture, &resource, &description, nullptr);
    read_texture<<<1, 1>>>(data, texture);
  }
  if (!strcmp(which, "no texture")) read_texture<<<1, 1>>>(data, 5);
  if (!strcmp(which, "free")) free_in_kernel<<<1, 1>>>(data);
  if (!strcmp(which, "wait")) wait_in_kernel<<<1, 1>>>();
  if (!strcmp(which, "launch")) launch_in_kernel<<<1, 1>>>();
  if (!strcmp(which, "shared")) three_arrays<<<1, 1>>>(data);
  if (!strcmp(which, "unconfigured")) good(data);
  if (!strcmp(which, "host function"))
    cudaLaunchHostFunc(
        nullptr, [](void*) { say("in a host function", cudaDeviceSynchronize()); }, nullptr);
  say("launch", cudaGetLastError());
  say("synchronize", cudaDeviceSynchronize());
  say("last", cudaGetLastError());
  say("again", cudaGetLastError());
  say("malloc", cudaMalloc(&data, 64));
  return 0;
}
