// The largest of n floats, in one cell.
int main(int argc, char** argv) try {
  const std::int64_t n = size(argc, argv, 1, 1'000'003);
  const cudaStream_t stream = nullptr;
  Array<float> x(n), largest(1);
  fill(x, 1);
  for (std::int64_t i = 0; i < n; ++i) x[i] -= 2;  // all negative, as maxima often are
  x.to_device();
  const float expected = *std::max_element(x.h(), x.h() + n);
  const auto off = [&](std::int64_t) { return largest[0] == expected ? 0.0 : 2.0; };
  return judge(
      {VARIANTS}, 1, [&] { largest.set_bytes(0xff); }, [&] { largest.to_host(); }, off);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
