// O = softmax(Q K^T / sqrt(d)) V and the log-sum-exp of each row: Q and O are [heads, n_q, d],
// K and V are [heads, n_k, d]. causal: 1 hides the keys after a query.
#include <cmath>

#include "07_flash_attention/shape.hpp"

int main(int argc, char** argv) try {
  using T = ELEMENT;
  const std::int64_t heads = size(argc, argv, 1, 2), n_q = size(argc, argv, 2, 200);
  const std::int64_t n_k = size(argc, argv, 3, 300), d = size(argc, argv, 4, 64);
  const bool causal = argc > 5 && argv[5][0] == '1';
  const attention::Shape shape{1, heads, n_q, n_k, static_cast<int>(d), causal};
  const cudaStream_t stream = nullptr;
  Array<T> q(heads * n_q * d), k(heads * n_k * d), v(heads * n_k * d), o(heads * n_q * d);
  Array<float> lse(heads * n_q), state(2 * heads * n_q);
  Array<T> scores(heads * n_q * n_k);  // work space
  fill(q, 1);
  fill(k, 2);
  fill(v, 3);
  const attention::Tensors<T> h_t{q.h(), k.h(), v.h(), o.h(), lse.h()};
  const attention::Tensors<T> d_t{q.d(), k.d(), v.d(), o.d(), lse.d()};
  std::vector<double> expected(o.size());
  for (std::int64_t row = 0; row < heads * n_q; ++row) {
    const std::int64_t head = row / n_q, seen = shape.visible(row % n_q);
    double sum = 0;
    for (std::int64_t key = head * n_k; key < head * n_k + seen; ++key) {
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
    for (std::int64_t i = 0; i < d && sum > 0; ++i) expected[row * d + i] /= sum;
  }
  // Weights and outputs are rounded to T (8 bits of a bf16); an output is an average of values up
  // to 1, and so is its error.
  const double unit = sizeof(T) == 4 ? 0x1p-24 * (8 * d + n_k) : 3 * 0x1p-9;
  const auto off = [&](std::int64_t i) {
    return std::fabs(double(float(o[i])) - expected[i]) / (unit + unit * std::fabs(expected[i]));
  };
  return judge(
      {VARIANTS}, o.size(), [&] { o.set_bytes(0xff); }, [&] { o.to_host(); }, off);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
