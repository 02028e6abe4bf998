// A step of decoding: each of `batch` sequences has one new token, whose 8 query heads look at n
// keys of 2 K/V heads. Q and O are [batch, 8, d]; the caches are [batch, 2, n, d] in bf16, one page
// a sequence.
#include <cmath>

#include "07_flash_attention/decode/kit/chunks.cuh"
#include "07_flash_attention/decode/shape.hpp"

int main(int argc, char** argv) try {
  using T = ELEMENT;
  const std::int64_t batch = size(argc, argv, 1, 3), n = size(argc, argv, 2, 1000), d = 128;
  const std::int64_t heads = 8, kv_heads = 2, rows = batch * heads, keys = batch * kv_heads * n;
  const decode::Shape shape{batch, heads, kv_heads, static_cast<int>(n), static_cast<int>(d)};
  const cudaStream_t stream = nullptr;
  Array<T> q(rows * d), k(keys * d), v(keys * d), o(rows * d);
  Array<float> lse(rows), work(rows * (n / 64 + 1) * (d + 1) + 4096);
  Array<unsigned> counters(rows + 4096);  // zero before and after
  Array<int> lengths(batch), table(batch);
  counters.set_bytes(0);
  for (std::int64_t i = 0; i < batch; ++i)
    lengths[i] = static_cast<int>(n), table[i] = static_cast<int>(i);
  lengths.to_device();
  table.to_device();
  fill(q, 1);
  fill(k, 2);
  fill(v, 3);
  const decode::Tensors<T> h_t{q.h(), k.h(), v.h(), o.h(), lse.h()};
  const decode::Tensors<T> d_t{q.d(), k.d(), v.d(), o.d(), lse.d()};
  const auto cache_of = [&](const int* of_lengths, const int* of_table) {
    return decode::Cache{of_lengths, of_table, static_cast<int>(n), 1, 1 << 30};
  };
  const decode::Cache h_cache = cache_of(lengths.h(), table.h());
  const decode::Cache d_cache = cache_of(lengths.d(), table.d());
  const decode::Scratch scratch{[&](std::int64_t) { return work.d(); },
                                [&](std::int64_t) { return counters.d(); }};
  std::vector<double> expected(o.size());
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t first = row / (heads / kv_heads) * n;
    double sum = 0;
    for (std::int64_t key = first; key < first + n; ++key) {
      double score = 0;
      for (std::int64_t i = 0; i < d; ++i) {
        score += double(float(q[row * d + i])) * double(float(k[key * d + i]));
      }
      const double weight = std::exp(score / std::sqrt(double(d)));
      sum += weight;
      for (std::int64_t i = 0; i < d; ++i) {
        expected[row * d + i] += weight * double(float(v[key * d + i]));
      }
    }
    for (std::int64_t i = 0; i < d; ++i) expected[row * d + i] /= sum;
  }
  // Weights and outputs are rounded to bf16; an output is an average of values up to 1.
  const auto off = [&](std::int64_t i) {
    return std::fabs(double(float(o[i])) - expected[i]) /
           (3 * 0x1p-9 * (1 + std::fabs(expected[i])));
  };
  return judge(
      {VARIANTS}, o.size(), [&] { o.set_bytes(0xff); }, [&] { o.to_host(); }, off);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
