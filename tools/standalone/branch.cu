// y[i] = x[i] < 0 ? expensive_path(x[i]) : cheap_path(x[i]), n floats, one in ten of them negative.
#include <cmath>

#include "02_warp_divergence/branch/kit/paths.cuh"

int main(int argc, char** argv) try {
  const std::int64_t n = size(argc, argv, 1, 300'007);
  const cudaStream_t stream = nullptr;
  Array<float> x(n), y(n);
  Array<std::int64_t> places(n);       // work space
  Array<unsigned long long> count(1);  // work space
  fill(x, 1);
  for (std::int64_t i = 0; i < n; ++i)
    x[i] = i * 7919 % 10 == 0 ? -std::fabs(x[i]) : std::fabs(x[i]);
  x.to_device();
  std::vector<float> expected(n);  // a multiply-add rounds once everywhere: the same bits
  for (std::int64_t i = 0; i < n; ++i) {
    expected[i] =
        branch::is_expensive(x[i]) ? branch::expensive_path(x[i]) : branch::cheap_path(x[i]);
  }
  const auto off = [&](std::int64_t i) { return y[i] == expected[i] ? 0.0 : 2.0; };
  return judge(
      {VARIANTS}, n, [&] { y.set_bytes(0xff); }, [&] { y.to_host(); }, off);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
