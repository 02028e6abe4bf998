// C = A B: A is m x k, B is k x n, C is m x n, row-major.
#include <cmath>

int main(int argc, char** argv) try {
  const int m = size(argc, argv, 1, 250), n = size(argc, argv, 2, 333);
  const int k = size(argc, argv, 3, 517);
  const cudaStream_t stream = nullptr;
  Array<float> a(std::int64_t{m} * k), b(std::int64_t{k} * n), c(std::int64_t{m} * n);
  fill(a, 1);
  fill(b, 2);
  std::vector<double> expected(c.size()), sizes(c.size());  // of C, and of the sums of |a b|
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t p = 0; p < k; ++p) {
      for (std::int64_t j = 0; j < n; ++j) {
        const double product = double(a[i * k + p]) * b[p * n + j];
        expected[i * n + j] += product;
        sizes[i * n + j] += std::fabs(product);
      }
    }
  }
  // A sum of k products, each of which passes through at most k roundings.
  const auto off = [&](std::int64_t i) {
    return std::fabs(c[i] - expected[i]) / (k * 0x1p-24 * sizes[i]);
  };
  return judge(
      {VARIANTS}, c.size(), [&] { c.set_bytes(0xff); }, [&] { c.to_host(); }, off);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
