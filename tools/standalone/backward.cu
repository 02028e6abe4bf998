// dQ, dK and dV of O = softmax(Q K^T / sqrt(d)) V, from dO, O and the log-sum-exp of each row. All
// are [heads, n, d] in bf16, n_q queries and n_k keys a head; no mask.
#include <cmath>

#include "07_flash_attention/backward/shape.hpp"

int main(int argc, char** argv) try {
  using T = ELEMENT;
  const std::int64_t heads = size(argc, argv, 1, 2), n_q = size(argc, argv, 2, 130);
  const std::int64_t n_k = size(argc, argv, 3, 200), d = HEAD_DIM;
  const backward::Shape shape{1,        heads, heads, static_cast<int>(n_q), static_cast<int>(n_k),
                              HEAD_DIM, false};
  const cudaStream_t stream = nullptr;
  const std::int64_t rows = heads * n_q, keys = heads * n_k;
  Array<T> q(rows * d), k(keys * d), v(keys * d), o(rows * d), d_o(rows * d);
  Array<T> dq(rows * d), dk(keys * d), dv(keys * d);
  Array<float> lse(rows);
  Array<float> scratch_memory(2 * rows * n_k + (d + 8) * heads * (n_q + 512));  // for any rung
  float* const scratch = scratch_memory.d();
  fill(q, 1);
  fill(k, 2);
  fill(v, 3);
  fill(d_o, 4);
  const auto at = [](Array<T>& x, std::int64_t i) { return double(float(x[i])); };
  const auto dot = [&](Array<T>& x, std::int64_t row, Array<T>& y, std::int64_t key) {
    double sum = 0;
    for (std::int64_t i = 0; i < d; ++i) sum += at(x, row * d + i) * at(y, key * d + i);
    return sum;
  };
  // The forward pass, whose O and log-sum-exp the backward pass is given; then the gradients in
  // double and, for their bounds, the sums of the sizes of what they are sums of.
  std::vector<double> expected((rows + 2 * keys) * d), sizes(expected.size()), weight(n_k);
  const double scale = 1 / std::sqrt(double(d));
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t first = row / n_q * n_k;
    double sum = 0;
    for (std::int64_t j = 0; j < n_k; ++j)
      sum += weight[j] = std::exp(scale * dot(q, row, k, first + j));
    lse[row] = static_cast<float>(std::log(sum));
    for (std::int64_t i = 0; i < d; ++i) {
      double value = 0;
      for (std::int64_t j = 0; j < n_k; ++j) value += weight[j] / sum * at(v, (first + j) * d + i);
      o[row * d + i] = T(float(value));
    }
    double delta = 0, delta_size = 0;
    for (std::int64_t i = 0; i < d; ++i) {
      delta += at(d_o, row * d + i) * at(o, row * d + i);
      delta_size += std::fabs(at(d_o, row * d + i) * at(o, row * d + i));
    }
    for (std::int64_t j = 0; j < n_k; ++j) {
      const double p = weight[j] / sum, dp = dot(d_o, row, v, first + j);
      const double ds = scale * p * (dp - delta),
                   ds_size = scale * p * (std::fabs(dp) + delta_size);
      const auto add = [&](std::int64_t to, double by, double by_size, double factor) {
        expected[to] += by * factor;
        sizes[to] += by_size * std::fabs(factor);
      };
      for (std::int64_t i = 0; i < d; ++i) {
        const std::int64_t of_row = row * d + i, of_key = (first + j) * d + i;
        add(of_row, ds, ds_size, at(k, of_key));
        add(rows * d + of_key, ds, ds_size, at(q, of_row));
        add((rows + keys) * d + of_key, p, p, at(d_o, of_row));
      }
    }
  }
  o.to_device();
  lse.to_device();
  const backward::Tensors<T> h_t{q.h(),   k.h(),  v.h(),  o.h(), d_o.h(),
                                 lse.h(), dq.h(), dk.h(), dv.h()};
  const backward::Tensors<T> d_t{q.d(),   k.d(),  v.d(),  o.d(), d_o.d(),
                                 lse.d(), dq.d(), dk.d(), dv.d()};
  // P and dS are rounded to bf16, 2^-9 of them each, and so are O, which delta comes from, and the
  // result.
  const auto off = [&](std::int64_t i) {
    const std::int64_t of_q = rows * d, of_k = keys * d;
    const double actual = i < of_q          ? at(dq, i)
                          : i < of_q + of_k ? at(dk, i - of_q)
                                            : at(dv, i - of_q - of_k);
    return std::fabs(actual - expected[i]) / (4 * 0x1p-9 * sizes[i]);
  };
  const auto each = [&](auto visit) { visit(dq), visit(dk), visit(dv); };
  return judge(
      {VARIANTS}, static_cast<std::int64_t>(expected.size()),
      [&] { each([](Array<T>& x) { x.set_bytes(0xff); }); },
      [&] { each([](Array<T>& x) { x.to_host(); }); }, off);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
