// The sum of n floats.
#include "05_reduction/kit/operators.cuh"

using Op = reduction::Plus;  // of the rungs that take any

int main(int argc, char** argv) try {
  const std::int64_t n = size(argc, argv, 1, 1'000'003);
  const cudaStream_t stream = nullptr;
  Array<float> x(n), result(1), partials(n / 255 + 8192);  // partials: work space
  Array<std::uint64_t> words(n / 4096 + 64);               // work space, zero before and after
  Array<unsigned> counter(1);                              // the same
  words.set_bytes(0);
  counter.set_bytes(0);
  double expected = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    x[i] = reduction::random_eighth(1, i);  // sums of eighths are exact, in any order
    expected += x[i];
  }
  x.to_device();
  const auto off = [&](std::int64_t) { return result[0] == expected ? 0.0 : 2.0; };
  return judge(
      {VARIANTS}, 1, [&] { result.set_bytes(0xff); }, [&] { result.to_host(); }, off);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
