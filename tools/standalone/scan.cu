// y[i] = x[0] + ... + x[i], n floats.
#include "05_reduction/kit/operators.cuh"

int main(int argc, char** argv) try {
  const std::int64_t n = size(argc, argv, 1, 1'000'003), tiles = n / 1024 + 1;
  const cudaStream_t stream = nullptr;
  Array<float> x(n), y(n), totals(tiles);  // totals: work space
  Array<std::uint64_t> states(tiles);      // work space, zero before and after
  Array<unsigned> counters(2);             // the same
  states.set_bytes(0);
  counters.set_bytes(0);
  std::vector<double> expected(n);
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    x[i] = reduction::random_eighth(1, i);  // sums of eighths are exact, in any order
    expected[i] = sum += x[i];
  }
  x.to_device();
  const auto off = [&](std::int64_t i) { return y[i] == expected[i] ? 0.0 : 2.0; };
  return judge(
      {VARIANTS}, n, [&] { y.set_bytes(0xff); }, [&] { y.to_host(); }, off);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
