// A histogram of letters: global atomics, then private copies in shared memory.
#include <cstdio>
#include <cstring>
#include <string>

#define NUM_BINS 7

__global__ void histo_kernel(const char* data, unsigned int length, unsigned int* histo) {
  unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < length) {
    int position = data[i] - 'a';
    if (position >= 0 && position < 26) atomicAdd(&histo[position / 4], 1);
  }
}
__global__ void histo_private_kernel(const char* data, unsigned int length, unsigned int* histo) {
  __shared__ unsigned int histo_s[NUM_BINS];
  for (unsigned int bin = threadIdx.x; bin < NUM_BINS; bin += blockDim.x) histo_s[bin] = 0u;
  __syncthreads();
  unsigned int accumulator = 0;
  int previous = -1;
  unsigned int tid = blockIdx.x * blockDim.x + threadIdx.x;
  for (unsigned int i = tid; i < length; i += blockDim.x * gridDim.x) {
    int position = data[i] - 'a';
    if (position >= 0 && position < 26) {
      int bin = position / 4;
      if (bin == previous) {
        ++accumulator;
      } else {
        if (accumulator > 0) atomicAdd(&histo_s[previous], accumulator);
        accumulator = 1;
        previous = bin;
      }
    }
  }
  if (accumulator > 0) atomicAdd(&histo_s[previous], accumulator);
  __syncthreads();
  for (unsigned int bin = threadIdx.x; bin < NUM_BINS; bin += blockDim.x) {
    unsigned int value = histo_s[bin];
    if (value > 0) atomicAdd(&histo[bin], value);
  }
}

int main() {
  std::string text;
  unsigned expected[NUM_BINS] = {};
  for (int i = 0; i < 30000; ++i) {
    char c = i % 11 == 0 ? ' ' : char('a' + i * i % 26);
    text += c;
    if (c != ' ') ++expected[(c - 'a') / 4];
  }
  char* data;
  unsigned *histo, result[2][NUM_BINS];
  cudaMalloc(&data, text.size());
  cudaMalloc(&histo, 2 * NUM_BINS * sizeof(unsigned));
  cudaMemcpy(data, text.data(), text.size(), cudaMemcpyHostToDevice);
  cudaMemset(histo, 0, 2 * NUM_BINS * sizeof(unsigned));
  histo_kernel<<<(text.size() + 1023) / 1024, 1024>>>(data, text.size(), histo);
  histo_private_kernel<<<8, 256>>>(data, text.size(), histo + NUM_BINS);
  cudaMemcpy(result, histo, sizeof result, cudaMemcpyDeviceToHost);
  if (memcmp(result[0], expected, sizeof expected) || memcmp(result[1], expected, sizeof expected))
    return 1;
  printf("ok\n");
  return 0;
}
