// n affine maps v -> a v + b modulo 2^32, one after the other, make one map. Which?
#include "05_reduction/affine/kit/affine_map.cuh"

int main(int argc, char** argv) try {
  const std::int64_t n = size(argc, argv, 1, 300'007);
  const cudaStream_t stream = nullptr;
  Array<affine::AffineMap> maps(n), result(1), partials(n / 1024 + 64);  // partials: work space
  std::mt19937 random(1);
  affine::AffineMap expected{1, 0};
  for (std::int64_t i = 0; i < n; ++i) {
    maps[i] = {static_cast<std::uint32_t>(random()) | 1, static_cast<std::uint32_t>(random())};
    expected = {maps[i].a * expected.a, maps[i].a * expected.b + maps[i].b};
  }
  maps.to_device();
  const auto off = [&](std::int64_t) {
    return result[0].a == expected.a && result[0].b == expected.b ? 0.0 : 2.0;
  };
  return judge(
      {VARIANTS}, 1, [&] { result.set_bytes(0xff); }, [&] { result.to_host(); }, off);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
