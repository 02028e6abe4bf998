// y = x, n floats.
int main(int argc, char** argv) try {
  const std::int64_t n = size(argc, argv, 1, 1'000'003);
  const cudaStream_t stream = nullptr;
  Array<float> x(n), y(n);
  fill(x, 1);
  const auto off = [&](std::int64_t i) { return y[i] == x[i] ? 0.0 : 2.0; };
  return judge(
      {VARIANTS}, n, [&] { y.set_bytes(0xff); }, [&] { y.to_host(); }, off);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
