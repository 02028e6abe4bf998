// SPDX-License-Identifier: MIT
// One process for each GPU, on one machine or on many: ring attention of one long sequence under a
// causal mask, in bf16, checked and timed. Shards go round by NCCL; the kernel is that of `zigzag`.
//
//   nvcc -O3 -arch=native -I../.. processes.cu -o processes -lnccl
//   mpirun -np 2 ./processes [tokens]
//   torchrun --no-python --nproc-per-node 2 ./processes [tokens]
//
// As 05_reduction/all_reduce/processes.cu, whose page says how processes meet. tokens: of the
// longest sequence, on each GPU (default 16384).
#include <cstdio>

#if !__has_include(<nccl.h>)
int main() {
  std::puts("skipped: needs NCCL (nccl.h)");
  return 0;
}
#else
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "07_flash_attention/ring/05_zigzag.cuh"
#include "07_flash_attention/ring/kit/sharding.hpp"
#include "07_flash_attention/ring/kit/team.cuh"
#include "common/kit/check.cuh"
#include "common/kit/device_buffer.cuh"
#include "common/kit/gpu_timer.cuh"
#include "common/kit/processes.cuh"

using Element = __nv_bfloat16;
using ring_attention::Shard;
using ring_attention::Sharding;

constexpr int kHeads = 16, kD = 128;

// ---------------------------------------------------------------- the arrays
enum Matrix { kQ, kK, kV };

// An element of Q, K or V: every rank can compute those of all ranks, to check with. Scores are
// spread widely enough that a few keys decide, so that a key too many or too few shows.
Element element(Matrix matrix, int head, std::int64_t token, int c) {
  std::uint64_t x = ((token * kHeads + head) * kD + c) * 3 + matrix;
  x = (x ^ x >> 31) * 0x9e3779b97f4a7c15;
  x = (x ^ x >> 27) * 0xbf58476d1ce4e5b9;
  const float uniform = static_cast<float>(x >> 40) / (1 << 23) - 1;  // from -1 to 1
  return __float2bfloat16(matrix == kV ? uniform : 3 * uniform);
}

// The shard's rows of a matrix: [heads, rows, d].
std::vector<Element> rows_of(Matrix matrix, const Sharding& sharding, int rank) {
  const int rows = sharding.rows(rank);
  std::vector<Element> of(std::size_t{kHeads} * rows * kD);
#pragma omp parallel for schedule(static)
  for (int head = 0; head < kHeads; ++head) {
    Element* to = of.data() + std::int64_t{head} * rows * kD;
    for (int row = 0; row < rows; ++row) {
      const std::int64_t token = sharding.token(rank, row);
      for (int c = 0; c < kD; ++c) *to++ = element(matrix, head, token, c);
    }
  }
  return of;
}

// The largest error of some rows of o, beside double precision.
double largest_error(const std::vector<Element>& o, const Sharding& sharding, int rank) {
  const int rows = sharding.rows(rank), samples = 16;
  double largest = 0;
#pragma omp parallel for schedule(dynamic) reduction(max : largest)
  for (int sample = 0; sample < samples; ++sample) {
    const int head = sample % kHeads;
    const int row = static_cast<int>(std::int64_t{rows - 1} * sample / (samples - 1));
    const std::int64_t token = sharding.token(rank, row);
    std::vector<double> scores(token + 1), expected(kD);
    for (std::int64_t key = 0; key <= token; ++key) {
      for (int c = 0; c < kD; ++c) {
        scores[key] += double{__bfloat162float(element(kQ, head, token, c))} *
                       __bfloat162float(element(kK, head, key, c));
      }
      scores[key] /= std::sqrt(double{kD});
    }
    const double top = *std::max_element(scores.begin(), scores.end());
    double sum = 0;
    for (std::int64_t key = 0; key <= token; ++key) {
      const double weight = std::exp(scores[key] - top);
      sum += weight;
      for (int c = 0; c < kD; ++c) {
        expected[c] += weight * __bfloat162float(element(kV, head, key, c));
      }
    }
    for (int c = 0; c < kD; ++c) {
      const double got = __bfloat162float(o[(std::int64_t{head} * rows + row) * kD + c]);
      const double error = std::fabs(got - expected[c] / sum);
      largest = error <= largest ? largest : error;  // NaN stays
    }
  }
  return largest;
}

// ---------------------------------------------------------------- the ring
// What a process has on its GPU. The shards of others come into the inbox: one of its two slots is
// computed with, the other one is filled.
struct Rank {
  Sharding sharding;
  int rank;
  kit::DeviceBuffer<Element> q, kv, o, inbox[2];
  kit::DeviceBuffer<float> lse, state;
  cudaStream_t computes, copies;
  cudaEvent_t computed, copied;

  Rank(const Sharding& sharding, int rank) : sharding(sharding), rank(rank) {
    const std::int64_t rows = std::int64_t{kHeads} * sharding.rows(rank);
    q = upload(rows_of(kQ, sharding, rank));
    std::vector<Element> keys_values = rows_of(kK, sharding, rank);
    const std::vector<Element> values = rows_of(kV, sharding, rank);
    keys_values.insert(keys_values.end(), values.begin(), values.end());
    kv = upload(keys_values);
    o = kit::DeviceBuffer<Element>(rows * kD);
    lse = kit::DeviceBuffer<float>(rows);
    state = kit::DeviceBuffer<float>(rows * kD);
    for (auto& slot : inbox) {
      slot = kit::DeviceBuffer<Element>(std::int64_t{2} * kHeads * sharding.most_rows() * kD);
    }
    // NCCL copies by a kernel, whose few blocks must not wait for those of attention.
    int least = 0, greatest = 0;
    CUDA_CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    CUDA_CHECK(cudaStreamCreateWithPriority(&computes, cudaStreamNonBlocking, least));
    CUDA_CHECK(cudaStreamCreateWithPriority(&copies, cudaStreamNonBlocking, greatest));
    CUDA_CHECK(cudaEventCreateWithFlags(&computed, cudaEventDisableTiming));
    CUDA_CHECK(cudaEventCreateWithFlags(&copied, cudaEventDisableTiming));
  }
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;
  ~Rank() {
    cudaEventDestroy(computed);
    cudaEventDestroy(copied);
    cudaStreamDestroy(computes);
    cudaStreamDestroy(copies);
  }

  static kit::DeviceBuffer<Element> upload(const std::vector<Element>& from) {
    kit::DeviceBuffer<Element> to(static_cast<std::int64_t>(from.size()));
    CUDA_CHECK(
        cudaMemcpy(to.data(), from.data(), from.size() * sizeof(Element), cudaMemcpyHostToDevice));
    return to;
  }

  // region attend
  // Attention of the own queries with the keys of all ranks. Each step sends on the shard at hand
  // and receives the next one, while the kernel computes. NCCL waits until the next rank is ready
  // to receive, so no rank needs another one's events.
  void attend(ncclComm_t team) {
    const int size = sharding.size;
    for (int step = 0; step < size; ++step) {
      const int rows = sharding.rows(sharding.owner(rank, step));
      const Element* const keys = step == 0 ? kv.data() : inbox[(step - 1) % 2].data();
      const Element* const values = keys + std::int64_t{kHeads} * rows * kD;
      if (step < size - 1) {
        const auto elements = [&](int of) {
          return std::size_t{2} * kHeads * sharding.rows(sharding.owner(rank, of)) * kD;
        };
        kit::check(ncclGroupStart());
        kit::check(ncclSend(keys, elements(step), ncclBfloat16, (rank + 1) % size, team, copies));
        kit::check(ncclRecv(inbox[step % 2].data(), elements(step + 1), ncclBfloat16,
                            (rank + size - 1) % size, team, copies));
        kit::check(ncclGroupEnd());
      }
      const ring_attention::Work work = sharding.work(rank, step);
      if (work.any()) {
        const Shard<Element> own{q.data(), kv.data(), o.data(), lse.data(), state.data()};
        ring_attention::launch_zigzag(own, keys, values, kHeads, kD, sharding.rows(rank), rows,
                                      work, step == 0, computes);
      }
      // The next step computes with what has come, and receives where this one has read.
      CUDA_CHECK(cudaEventRecord(copied, copies));
      CUDA_CHECK(cudaStreamWaitEvent(computes, copied, 0));
      CUDA_CHECK(cudaEventRecord(computed, computes));
      CUDA_CHECK(cudaStreamWaitEvent(copies, computed, 0));
    }
  }
  // endregion
};

// Milliseconds of one call of some in a row, after a few that warm up.
double milliseconds(Rank& here, ncclComm_t team, int calls) {
  kit::GpuTimer timer;
  for (int i = 0; i < 3; ++i) here.attend(team);
  timer.start(here.computes);
  for (int i = 0; i < calls; ++i) here.attend(team);
  timer.stop(here.computes);
  return timer.elapsed_ms() / calls;
}

bool run(int most_tokens) {
  // Values lie between -1 and 1. Weights and O are rounded to bf16, by at most 2^-9 of each, and a
  // mean of values is off by no more than its weights are.
  const double bound = std::ldexp(2, -9);
  const kit::Process process = kit::Process::from_environment();
  kit::Watchdog watchdog(process.rank);
  watchdog.begin("all ranks meet");
  const ncclComm_t team = kit::meet(process);

  if (process.rank == 0) {
    std::printf("%d processes, %d heads, d = %d, causal\n%14s %10s %14s %10s\n", process.size,
                kHeads, kD, "tokens per GPU", "ms", "TFLOP/s per GPU", "error");
  }
  bool right = true;
  for (int tokens = std::min(256, most_tokens); tokens <= most_tokens; tokens *= 4) {
    watchdog.begin("ring attention");
    const std::int64_t n = std::int64_t{tokens} * process.size;
    Rank here({n, process.size, true, true}, process.rank);
    const double ms = milliseconds(here, team, tokens <= 4096 ? 20 : 5);
    std::vector<Element> o(here.o.size());
    CUDA_CHECK(cudaMemcpy(o.data(), here.o.data(), here.o.bytes(), cudaMemcpyDeviceToHost));
    watchdog.begin("check");
    const double error = largest_error(o, here.sharding, process.rank);
    const bool is_right = error <= bound;
    right = right && is_right;
    const double operations = 2.0 * kHeads * n * (n + 1) * kD / process.size;
    if (process.rank == 0) {
      std::printf("%14d %10.3f %14.1f %10.1e  %s\n", tokens, ms, operations / ms * 1e-9, error,
                  is_right ? "right" : "WRONG");
      std::fflush(stdout);
    } else if (!is_right) {
      std::fprintf(stderr, "rank %d: WRONG, an error of %g\n", process.rank, error);
    }
  }
  kit::check(ncclCommDestroy(team));
  return right;
}

int main(int argc, char** argv) {
  return kit::main_with_number(argc, argv, "tokens per GPU", 2, 1 << 20, 16384,
                               [](long long tokens) { return run(static_cast<int>(tokens)); });
}
#endif
