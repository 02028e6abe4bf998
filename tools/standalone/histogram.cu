// counts[b] = how many of n bytes are b.
int main(int argc, char** argv) try {
  const std::int64_t n = size(argc, argv, 1, 1'000'003);
  const cudaStream_t stream = nullptr;
  Array<unsigned char> x(n);
  Array<unsigned> counts(256);
  std::mt19937 random(1);
  std::vector<unsigned> expected(256);
  for (std::int64_t i = 0; i < n; ++i)
    ++expected[x[i] = static_cast<unsigned char>(random() >> 24)];
  x.to_device();
  const auto off = [&](std::int64_t i) { return counts[i] == expected[i] ? 0.0 : 2.0; };
  return judge(
      {VARIANTS}, 256, [&] { counts.set_bytes(0xff); }, [&] { counts.to_host(); }, off);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
