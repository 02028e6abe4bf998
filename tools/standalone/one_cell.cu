// The sum of n 16-bit samples in one 64-bit cell. The racy rung is wrong on purpose.
int main(int argc, char** argv) try {
  const std::int64_t n = size(argc, argv, 1, 1'000'003);
  const cudaStream_t stream = nullptr;
  Array<std::uint16_t> x(n);
  Array<unsigned long long> total(1);
  std::mt19937 random(1);
  unsigned long long expected = 0;
  for (std::int64_t i = 0; i < n; ++i)
    expected += x[i] = static_cast<std::uint16_t>(random() >> 16);
  x.to_device();
  const auto off = [&](std::int64_t) { return total[0] == expected ? 0.0 : 2.0; };
  return judge(
      {VARIANTS}, 1, [&] { total.set_bytes(0xff); }, [&] { total.to_host(); }, off);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
