// y = softmax of each row of x, rows x columns, row-major.
#include <cmath>

int main(int argc, char** argv) try {
  const std::int64_t rows = size(argc, argv, 1, 257), columns = size(argc, argv, 2, 1000);
  const cudaStream_t stream = nullptr;
  Array<float> x(rows * columns), y(rows * columns);
  fill(x, 1);
  for (std::int64_t i = 0; i < x.size(); ++i) x[i] *= 10;
  x.to_device();
  std::vector<double> expected(x.size());
  for (std::int64_t row = 0; row < rows; ++row) {
    double sum = 0;
    for (std::int64_t i = row * columns; i < (row + 1) * columns; ++i)
      sum += std::exp(double(x[i]));
    for (std::int64_t i = row * columns; i < (row + 1) * columns; ++i) {
      expected[i] = std::exp(double(x[i])) / sum;
    }
  }
  // An exponential of up to 20 is off by 24 units of 2^-24, the sum by some roundings more.
  const auto off = [&](std::int64_t i) {
    return std::fabs(y[i] - expected[i]) /
           ((100 + std::sqrt(1.0 * columns)) * 0x1p-24 * expected[i]);
  };
  return judge(
      {VARIANTS}, y.size(), [&] { y.set_bytes(0xff); }, [&] { y.to_host(); }, off);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
