// A product of matrices through tiles in shared memory, with sizes that no tile divides.
#include <cstdio>
#include <vector>

#define TILE_WIDTH 16

__global__ void matrixMulShared(const float* M, const float* N, float* P, int rows, int inner,
                                int cols) {
  __shared__ float ds_M[TILE_WIDTH][TILE_WIDTH];
  __shared__ float ds_N[TILE_WIDTH][TILE_WIDTH];
  int bx = blockIdx.x, by = blockIdx.y, tx = threadIdx.x, ty = threadIdx.y;
  int row = by * TILE_WIDTH + ty, col = bx * TILE_WIDTH + tx;
  float value = 0;
  for (int m = 0; m < (inner - 1) / TILE_WIDTH + 1; ++m) {
    if (row < rows && m * TILE_WIDTH + tx < inner)
      ds_M[ty][tx] = M[row * inner + m * TILE_WIDTH + tx];
    else
      ds_M[ty][tx] = 0;
    if (col < cols && m * TILE_WIDTH + ty < inner)
      ds_N[ty][tx] = N[(m * TILE_WIDTH + ty) * cols + col];
    else
      ds_N[ty][tx] = 0;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < TILE_WIDTH; ++k) value += ds_M[ty][k] * ds_N[k][tx];
    __syncthreads();
  }
  if (row < rows && col < cols) P[row * cols + col] = value;
}

int main() {
  const int rows = 67, inner = 45, cols = 83;
  std::vector<float> m(rows * inner), n(inner * cols), p(rows * cols);
  for (size_t i = 0; i < m.size(); ++i) m[i] = int(i * 7 % 11) - 5;
  for (size_t i = 0; i < n.size(); ++i) n[i] = int(i * 3 % 13) - 6;
  float *d_m, *d_n, *d_p;
  cudaMalloc(&d_m, m.size() * sizeof(float));
  cudaMalloc(&d_n, n.size() * sizeof(float));
  cudaMalloc(&d_p, p.size() * sizeof(float));
  cudaMemcpy(d_m, m.data(), m.size() * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(d_n, n.data(), n.size() * sizeof(float), cudaMemcpyHostToDevice);
  dim3 dimGrid((cols - 1) / TILE_WIDTH + 1, (rows - 1) / TILE_WIDTH + 1, 1);
  dim3 dimBlock(TILE_WIDTH, TILE_WIDTH, 1);
  matrixMulShared<<<dimGrid, dimBlock>>>(d_m, d_n, d_p, rows, inner, cols);
  cudaDeviceSynchronize();
  cudaMemcpy(p.data(), d_p, p.size() * sizeof(float), cudaMemcpyDeviceToHost);
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < cols; ++c) {
      float expected = 0;
      for (int k = 0; k < inner; ++k) expected += m[r * inner + k] * n[k * cols + c];
      if (p[r * cols + c] != expected) return 1;
    }
  printf("ok\n");
  return 0;
}
