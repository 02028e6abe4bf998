// out = in^T: in is rows x cols, out is cols x rows, both row-major.
int main(int argc, char** argv) try {
  const std::int64_t rows = size(argc, argv, 1, 1000), cols = size(argc, argv, 2, 776);
  const cudaStream_t stream = nullptr;
  Array<float> in(rows * cols), out(rows * cols);
  fill(in, 1);
  const auto off = [&](std::int64_t i) {
    return out[i] == in[i % rows * cols + i / rows] ? 0.0 : 2.0;
  };
  return judge(
      {VARIANTS}, out.size(), [&] { out.set_bytes(0xff); }, [&] { out.to_host(); }, off);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
