// The problem: one product, C = A B' in bf16 with sums in fp32, shared by several devices, for any
// m, n, k. Two forms of it, which follow one another in the layers of a network:
// - gather: rank r has some rows of A and some columns of B', and wants all rows of these columns
// of C.
// - scatter: rank r has some columns of A and of B, and wants its rows of C, a sum over all ranks.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "04_matmul/reference.hpp"
#include "04_matmul/shape.hpp"
#include "04_matmul/sharded/kit/plain_product.cuh"
#include "04_matmul/sharded/kit/shard_tiles.cuh"
#include "04_matmul/sharded/kit/shards.hpp"
#include "04_matmul/sharded/kit/team.cuh"
#include "common/bench/compare.hpp"
#include "common/bench/device_facts.cuh"
#include "common/bench/guarded_array.cuh"
#include "common/bench/memory_need.hpp"
#include "common/bench/report.hpp"
#include "common/bench/variant.cuh"
#include "common/kit/check.cuh"
#include "common/kit/device_buffer.cuh"
#include "common/kit/devices.cuh"
#include "common/kit/host_buffer.hpp"
#include "common/kit/launch.cuh"
#include "common/kit/random.cuh"

#if __has_include(<cublas_v2.h>)
#include "common/bench/cublas_handle.hpp"
#endif

namespace matmul::sharded {

enum class Form { gather, scatter };

// The product of one device: cuBLAS with sums in fp32, or, where there is none, plain_product.
class LocalProduct {
 public:
  void operator()(int rank, const Element* a, const Element* b, Element* c, std::int64_t m,
                  std::int64_t n, std::int64_t k, cudaStream_t stream) const {
    if (m == 0 || n == 0) return;
#if __has_include(<cublas_v2.h>)
    using Cublas = bench::CublasHandle;
    Mine& mine = (*of_rank_)[rank];
    cublasHandle_t handle = mine.handle.get();
    if (mine.stream != stream) {
      // A workspace of its own, so that graphs may hold the calls.
      constexpr std::int64_t kBytes = 32 << 20;
      mine.memory = kit::DeviceBuffer<unsigned char>(kBytes);
      Cublas::check(cublasSetStream(handle, stream), "cublasSetStream");
      Cublas::check(cublasSetWorkspace(handle, mine.memory.data(), kBytes), "cublasSetWorkspace");
      Cublas::check(cublasSetMathMode(handle, CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION),
                    "cublasSetMathMode");
      mine.stream = stream;
    }
    // cuBLAS counts by columns: our row-major matrices are its transposed ones, and C' = B' A'.
    const float one = 1, zero = 0;
    const int kk = static_cast<int>(std::max<std::int64_t>(k, 1));
    Cublas::check(
        cublasGemmEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, static_cast<int>(n), static_cast<int>(m),
                     static_cast<int>(k), &one, b, CUDA_R_16BF, kk, a, CUDA_R_16BF, kk, &zero, c,
                     CUDA_R_16BF, static_cast<int>(n), CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
        "cublasGemmEx");
#else
    (void)rank;
    plain_product(a, b, c, m, n, k, stream);
#endif
  }

 private:
#if __has_include(<cublas_v2.h>)
  struct Mine {
    bench::CublasHandle handle;
    cudaStream_t stream = nullptr;
    kit::DeviceBuffer<unsigned char> memory;
  };
  std::shared_ptr<std::vector<Mine>> of_rank_ = std::make_shared<std::vector<Mine>>(kMostDevices);
#endif
};

// A team with what its members need beside the arrays of the problem. Throws Skip where the machine
// has not so many devices, or they cannot use each other's memory.
class TeamMemory {
 public:
  // flags: on each device.
  TeamMemory(int size, std::int64_t flags) : devices(size), copies(size) {
    team = {devices.devices(), copies.devices(), LocalProduct(), {}, kMostPushBlocks};
    team.peers.size = size;
    kit::for_each_rank(team.devices, [&](int rank, cudaStream_t) {
      this->flags.emplace_back(flags);
      const int processors = kit::device_attribute(cudaDevAttrMultiProcessorCount);
      team.push_blocks = std::min(team.push_blocks, kPushBlocksPerSm * processors);
      team.peers.flags[rank] = zeros(kMostPushBlocks * kMostDevices);
      team.peers.epochs[rank] = zeros(kMostPushBlocks);
      CUDA_CHECK(cudaDeviceSynchronize());
    });
  }

  kit::DeviceTeam devices, copies;
  Team team;
  std::vector<kit::DeviceBuffer<unsigned>> flags;

 private:
  // On the current device.
  unsigned* zeros(std::int64_t count) {
    meeting_.emplace_back(count);
    CUDA_CHECK(cudaMemset(meeting_.back().data(), 0, count * sizeof(unsigned)));
    return meeting_.back().data();
  }

  std::vector<kit::DeviceBuffer<unsigned>> meeting_;
};

template <Form form>
class ShardedGemm {
 public:
  static constexpr const char* name = form == Form::gather ? "gather_gemm" : "gemm_scatter";
  static constexpr bool kGathers = form == Form::gather;
  using Array = bench::GuardedArray<Element>;
  using Call = std::conditional_t<kGathers, GatherProduct, ProductScatter>;

  Shape shape;   // of the whole product
  Shards rows;   // of m; whose A or whose C
  Shards parts;  // of n, whose B and C, or of k, whose A and B
  std::vector<Array> a, b, c;
  // What is received: all of A; or the slots, and room for the own product.
  std::vector<Array> received, own;

  // is_real_gpu: false where kernels run on the CPU; then one launch makes a sample.
  ShardedGemm(Shape shape, int size, std::uint64_t seed, bool is_real_gpu = true)
      : shape(shape),
        rows(shards_of_rows(shape.m, size)),
        parts(shards_of_columns(kGathers ? shape.n : shape.k, size)),
        launches_(is_real_gpu ? launches_per_sample(shape) : 1) {
    using bench::Role;
    const auto [m, n, k] = shape;
    for (int r = 0; r < size; ++r) {
      const std::string id = std::to_string(r);
      const std::int64_t height = rows.size(r), part = parts.size(r);
      a.emplace_back("A" + id, Role::input, kGathers ? height * k : m * part);
      b.emplace_back("B" + id, Role::input, kGathers ? part * k : n * part);
      c.emplace_back("C" + id, Role::output, kGathers ? m * part : height * n);
      const std::int64_t slots = size * slot_elements(r);
      received.emplace_back("received" + id, Role::output, kGathers ? m * k : slots);
      own.emplace_back("own" + id, Role::output, kGathers ? 0 : m * n);
    }
    // Element (i, p) of A and (j, p) of B are the same for any number of devices.
    for (int r = 0; r < size; ++r) {
      if (kGathers) {
        fill(a[r], 2 * seed, rows.size(r), rows.first(r), k, 0);
        fill(b[r], 2 * seed + 1, parts.size(r), parts.first(r), k, 0);
      } else {
        fill(a[r], 2 * seed, m, 0, parts.size(r), parts.first(r));
        fill(b[r], 2 * seed + 1, n, 0, parts.size(r), parts.first(r));
      }
    }
    multiply(seed);
  }

  int size() const { return rows.parts; }

  // Each array is visited with its device as the current one, and has arrived there afterwards.
  template <class Visit>
  void each_array(Visit visit) {
    kit::at_each_rank(size(), [&](int rank) {
      for (auto* arrays : {&a, &b, &c, &received, &own}) visit((*arrays)[rank]);
    });
  }

  // run(team, call): what it asks of the team's streams comes after what was asked of `stream`, a
  // stream of device 0, and before what is asked of it later. Throws Skip where there is no such
  // team.
  template <class Run>
  void with_team(cudaStream_t stream, Run run) {
    if (!memory_) memory_ = std::make_unique<TeamMemory>(size(), flags_of(size(), rows, shape.n));
    const Call call = this->call();
    memory_->devices.with(stream, [&](const kit::Devices&) { run(memory_->team, call); });
  }

  // All rows of A in memory of this rank, which is the current device: for the yardstick.
  const Element* whole_a(int rank) {
    if (whole_a_.empty()) whole_a_.resize(size());
    kit::DeviceBuffer<Element>& whole = whole_a_[rank];
    if (whole.size() == 0) {
      whole = kit::DeviceBuffer<Element>(shape.m * shape.k);
      for (int r = 0; r < size(); ++r) {
        CUDA_CHECK(cudaMemcpy(whole.data() + rows.first(r) * shape.k, a[r].pristine(),
                              a[r].size() * sizeof(Element), cudaMemcpyHostToDevice));
      }
    }
    return whole.data();
  }

  bench::Comparison check() const {
    bench::Comparison all;
    for (int rank = 0; rank < size(); ++rank) {
      const std::int64_t width = kGathers ? parts.size(rank) : shape.n;
      for (std::size_t s = 0; s < checked_.size(); ++s) {
        const std::int64_t row = kGathers ? checked_[s] : checked_[s] - rows.first(rank);
        if (row < 0 || row >= (kGathers ? shape.m : rows.size(rank))) continue;
        const std::int64_t first = s * shape.n + (kGathers ? parts.first(rank) : 0);
        all.add(bench::compare(c[rank].fetched() + row * width, expected_.data() + first, width,
                               [&](std::int64_t j) { return bound_.data()[first + j]; }),
                checked_[s] * shape.n + first - s * shape.n);
      }
    }
    return all;
  }

  bench::Sizes sizes() const {
    return {{"m", shape.m}, {"n", shape.n}, {"k", shape.k}, {"devices", size()}};
  }
  double bytes() const { return shape.bytes(sizeof(Element)); }
  double flops() const { return shape.flops(); }
  int batch() const { return launches_; }
  void rotate(int) {}
  double peak_gflops(const bench::DeviceFacts& device) const {
    return size() * bench::peak_bf16_gflops(device);
  }

  // Device: of each one. The model GPUs share the memory of the host.
  static bench::MemoryNeed memory(Shape shape, int size) {
    const double matrices = shape.bytes(sizeof(Element)), each = sizeof(Element);
    const double extra = 2 * each * shape.m * (kGathers ? shape.k : shape.n);
    const double device = matrices + extra + (64 << 20);
    const double host = 3 * matrices + size * extra + 4 * shape.bytes();
    return {host + (kit::kHasGpu ? 0 : (size - 1) * device), device};
  }

 private:
  std::int64_t slot_elements(int rank) const { return (rows.size(rank) * shape.n + 7) / 8 * 8; }
  static std::int64_t flags_of(int size, const Shards& rows, std::int64_t n) {
    std::int64_t most = kMostDevices * kMostChunks;
    for (int r = 0; r < size; ++r) {
      most = std::max(most, size * scatter_flags(rows.size(r), n));
    }
    return most;
  }

  // Rows x columns from (first_row, first_column) on of the whole matrix.
  void fill(Array& array, std::uint64_t seed, std::int64_t height, std::int64_t first_row,
            std::int64_t width, std::int64_t first_column) {
    const std::int64_t k = shape.k;
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < height; ++i) {
      for (std::int64_t p = 0; p < width; ++p) {
        array.pristine()[i * width + p] =
            static_cast<Element>(kit::random_float(seed, (first_row + i) * k + first_column + p));
      }
    }
  }

  Call call() {
    Call call = {};
    call.m = shape.m, call.n = shape.n, call.k = shape.k;
    call.rows = rows;
    for (int r = 0; r < size(); ++r) {
      CUDA_CHECK(cudaSetDevice(r));
      call.a[r] = a[r].device_data();
      call.b[r] = b[r].device_data();
      call.c[r] = c[r].device_data();
      call.flags[r] = memory_->flags[r].data();
      if constexpr (kGathers) {
        call.whole_a[r] = received[r].device_data();
      } else {
        call.slots[r] = received[r].device_data();
        call.addend[r] = own[r].device_data();
      }
    }
    if constexpr (kGathers) call.columns = parts;
    if constexpr (!kGathers) call.ks = parts;
    CUDA_CHECK(cudaSetDevice(0));
    return call;
  }

  // The result in double of some rows, all of them where they are few, and how far an element may
  // be off: sums in fp32 lose as those of the rest of this chapter (bf16/problem.cuh derives it),
  // and each rounding to bf16 half the distance between neighbours: once, or of each addend and
  // each partial sum of them.
  void multiply(std::uint64_t seed) {
    const auto [m, n, k] = shape;
    const std::int64_t count = std::min(m, kMostChecked);
    for (std::int64_t s = 0; s < count; ++s) checked_.push_back(s * m / count);
    expected_ = kit::HostBuffer<double>(count * n);
    bound_ = kit::HostBuffer<double>(count * n);
    std::fill_n(expected_.data(), count * n, 0.0);
    std::fill_n(bound_.data(), count * n, 0.0);
    std::vector<double> addends(count * n), sizes(count * n, 0.0);
    for (int r = 0; r < (kGathers ? 1 : size()); ++r) {
      const std::int64_t first = kGathers ? 0 : parts.first(r),
                         width = kGathers ? k : parts.size(r);
      kit::HostBuffer<float> x(count * width), y(width * n);
#pragma omp parallel for schedule(static)
      for (std::int64_t s = 0; s < count; ++s) {
        for (std::int64_t p = 0; p < width; ++p) {
          x.data()[s * width + p] = rounded(2 * seed, checked_[s] * shape.k + first + p);
        }
      }
#pragma omp parallel for schedule(static)
      for (std::int64_t p = 0; p < width; ++p) {
        for (std::int64_t j = 0; j < shape.n; ++j) {
          y.data()[p * shape.n + j] = rounded(2 * seed + 1, j * shape.k + first + p);
        }
      }
      multiply_in_double(x.data(), y.data(), addends.data(), count, n, width);
      const std::vector<double> a_norms = row_norms(x.data(), count, width);
      const std::vector<double> b_norms = column_norms(y.data(), width, n);
      for (std::int64_t i = 0; i < count * n; ++i) {
        const double before = sum_bound(a_norms[i / n], b_norms[i % n], static_cast<double>(width));
        expected_.data()[i] += addends[i];
        bound_.data()[i] += before + half_ulp_of_bf16(std::fabs(addends[i]) + before);
        sizes[i] += std::fabs(addends[i]) + before;
      }
    }
    if constexpr (!kGathers) {
      for (std::int64_t i = 0; i < count * n; ++i) {
        bound_.data()[i] += (size() - 1) * half_ulp_of_bf16(sizes[i] + bound_.data()[i]);
      }
    }
  }
  static float rounded(std::uint64_t seed, std::int64_t index) {
    return static_cast<float>(static_cast<Element>(kit::random_float(seed, index)));
  }
  static double sum_bound(double a_norm, double b_norm, double k) {
    const double u = std::ldexp(1.0, -23), squared = 85;  // L^2
    const double likely =
        u * std::min(a_norm, b_norm) * (squared * std::sqrt(k) + std::sqrt(squared) * k / 8);
    return std::min(2 * k * u * a_norm * b_norm, likely);
  }

  static int launches_per_sample(Shape shape) {
    const double launches = 20 * std::pow(8192.0, 3) / (1.0 * shape.m * shape.n * shape.k);
    return static_cast<int>(std::clamp(launches, 10.0, 400.0));
  }

  static constexpr std::int64_t kMostChecked = 1024;  // rows
  std::vector<std::int64_t> checked_;
  kit::HostBuffer<double> expected_, bound_;  // of these rows
  int launches_;
  std::vector<kit::DeviceBuffer<Element>> whole_a_;
  std::unique_ptr<TeamMemory> memory_;
};
using GatherGemm = ShardedGemm<Form::gather>;
using GemmScatter = ShardedGemm<Form::scatter>;

// A rung on all devices: run(team, call).
template <class Problem, class Run>
bench::Variant<Problem> team_rung(const std::string& name, const std::string& idea, Run run,
                                  bench::Needs needs = bench::needs_sm(80)) {
  return bench::device_variant<Problem>(
      name, idea, [run](Problem& p, cudaStream_t stream) { p.with_team(stream, run); }, needs);
}

}  // namespace matmul::sharded
