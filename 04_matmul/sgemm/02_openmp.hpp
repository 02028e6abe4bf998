// openmp: all cores, and everything kept near while it is used.
//
// Three loops become six. The inner three multiply 6 rows of A by two vectors of columns of B:
// their accumulators stay in 12 registers, each value of A serves 32 multiplications (16 on older
// CPUs), each of B 6. Around them, the rows of a block, which use the same columns again; k tiles
// of 256, so that the columns they need, packed side by side, fit into the L1 cache; and outside,
// blocks of C that threads take one by one. What is still wrong: a core of a CPU has 16 or 32
// multipliers, an H200 16,896.
#pragma once

#include <algorithm>
#include <cstdint>

namespace matmul::sgemm {

namespace cpu {

// g++'s vector extension: arithmetic on as many floats as a register of this CPU holds.
#ifdef __AVX512F__
constexpr int kLanes = 16;
#else
constexpr int kLanes = 8;
#endif
typedef float Vector __attribute__((vector_size(kLanes * sizeof(float)), aligned(4), may_alias));

constexpr int kTileM = 6, kTileN = 2 * kLanes;  // of C, in 12 registers
constexpr int kTileK = 256;                     // products of each at a time
constexpr std::int64_t kBlockM = 120;           // that use the same packed columns

// acc += (kTileM rows of A) (packed columns of B). row[r] points to `depth` values.
inline void multiply(const float* const* row, const float* packed, int depth,
                     float (&acc)[kTileM][kTileN]) {
  Vector s[kTileM][2] = {};
  for (int p = 0; p < depth; ++p) {
    const Vector* b = reinterpret_cast<const Vector*>(packed + p * kTileN);
    for (int r = 0; r < kTileM; ++r) {
      s[r][0] += row[r][p] * b[0];
      s[r][1] += row[r][p] * b[1];
    }
  }
  for (int r = 0; r < kTileM; ++r) {
    Vector* to = reinterpret_cast<Vector*>(acc[r]);
    to[0] += s[r][0];
    to[1] += s[r][1];
  }
}

// The block of C that begins at (row, col), at most kBlockM x kTileN.
inline void block(const float* a, const float* b, float* c, std::int64_t m, std::int64_t n,
                  std::int64_t k, std::int64_t row, std::int64_t col) {
  alignas(64) float packed[kTileK * kTileN];
  alignas(64) float acc[kBlockM / kTileM][kTileM][kTileN] = {};
  const std::int64_t rows = std::min(kBlockM, m - row),
                     cols = std::min<std::int64_t>(kTileN, n - col);
  for (std::int64_t p = 0; p < k; p += kTileK) {
    const int depth = static_cast<int>(std::min<std::int64_t>(kTileK, k - p));
    for (int q = 0; q < depth; ++q) {  // columns past the edge are zeros
      const float* from = b + (p + q) * n + col;
      std::fill(std::copy(from, from + cols, packed + q * kTileN), packed + (q + 1) * kTileN, 0.0f);
    }
    for (std::int64_t i = 0; i < rows; i += kTileM) {
      const float* from[kTileM];  // past the edge, the last row once more
      for (int r = 0; r < kTileM; ++r) from[r] = a + std::min(row + i + r, m - 1) * k + p;
      multiply(from, packed, depth, acc[i / kTileM]);
    }
  }
  for (std::int64_t i = 0; i < rows; ++i) {
    const float* from = acc[i / kTileM][i % kTileM];
    std::copy(from, from + cols, c + (row + i) * n + col);
  }
}

}  // namespace cpu

// C = A B; A is m x k, B is k x n, C is m x n, all row-major. Host pointers. Uses
// omp_get_max_threads() threads.
inline void sgemm_openmp(const float* a, const float* b, float* c, std::int64_t m, std::int64_t n,
                         std::int64_t k) {
#pragma omp parallel for collapse(2) schedule(dynamic)
  for (std::int64_t col = 0; col < n; col += cpu::kTileN) {
    for (std::int64_t row = 0; row < m; row += cpu::kBlockM) {
      cpu::block(a, b, c, m, n, k, row, col);
    }
  }
}

}  // namespace matmul::sgemm
