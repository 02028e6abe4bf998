// z[i] = (cos phi[i], sin phi[i]), n angles in [-pi, pi).
#include <cmath>

int main(int argc, char** argv) try {
  const std::int64_t n = size(argc, argv, 1, 1'000'003);
  const cudaStream_t stream = nullptr;
  Array<float> phi(n), z(2 * n);
  fill(phi, 1);
  for (std::int64_t i = 0; i < n; ++i) phi[i] *= 3.1415925f;
  phi.to_device();
  // sinf and cosf are at most 2 units in the last place off, 2^-23; their fast forms 2^-21.19.
  const auto off = [&](std::int64_t i) {
    const double angle = phi[i / 2], expected = i % 2 == 0 ? std::cos(angle) : std::sin(angle);
    return std::fabs(z[i] - expected) / std::exp2(-21.19);
  };
  return judge(
      {VARIANTS}, 2 * n, [&] { z.set_bytes(0xff); }, [&] { z.to_host(); }, off);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
