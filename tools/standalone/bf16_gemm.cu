// C = A B in bf16, sums in fp32: A is m x k, B is k x n, C is m x n, row-major.
#include <cuda_bf16.h>
#include <cmath>

int main(int argc, char** argv) try {
  const int m = size(argc, argv, 1, 250), n = size(argc, argv, 2, 336);
  const int k = size(argc, argv, 3, 520);
  const cudaStream_t stream = nullptr;
  Array<__nv_bfloat16> a(std::int64_t{m} * k), b(std::int64_t{k} * n), c(std::int64_t{m} * n);
  Array<float4> partials(std::int64_t{1} << 22);  // work space
  fill(a, 1);
  fill(b, 2);
  std::vector<float> fa(a.h(), a.h() + a.size()), fb(b.h(), b.h() + b.size());
  std::vector<double> expected(c.size()), sizes(c.size());  // of C, and of the sums of |a b|
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t p = 0; p < k; ++p) {
      for (std::int64_t j = 0; j < n; ++j) {
        const double product = double(fa[i * k + p]) * fb[p * n + j];
        expected[i * n + j] += product;
        sizes[i * n + j] += std::fabs(product);
      }
    }
  }
  // Tensor cores chop: 2 k losses of at most 2^-23 of the sum; C is rounded to 8 bits in the end.
  const auto off = [&](std::int64_t i) {
    const double sum_bound = 2 * k * 0x1p-23 * sizes[i];
    const double bound = sum_bound + 0x1p-8 * (std::fabs(expected[i]) + sum_bound);
    return std::fabs(static_cast<double>(static_cast<float>(c[i])) - expected[i]) / bound;
  };
  return judge(
      {VARIANTS}, c.size(), [&] { c.set_bytes(0xff); }, [&] { c.to_host(); }, off);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
