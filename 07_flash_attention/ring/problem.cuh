// The problem: attention of one long sequence, whose tokens are divided among several devices.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "07_flash_attention/element.hpp"
#include "07_flash_attention/problem.cuh"
#include "07_flash_attention/ring/kit/arrivals.cuh"
#include "07_flash_attention/ring/kit/sharding.hpp"
#include "07_flash_attention/ring/kit/team.cuh"
#include "07_flash_attention/shape.hpp"
#include "common/bench/compare.hpp"
#include "common/bench/device_facts.cuh"
#include "common/bench/guarded_array.cuh"
#include "common/bench/memory_need.hpp"
#include "common/bench/report.hpp"
#include "common/bench/variant.cuh"
#include "common/kit/check.cuh"
#include "common/kit/device_buffer.cuh"
#include "common/kit/devices.cuh"

namespace ring_attention {

using kit::devices_here;

// Whether device 0 is a Hopper and this program has code for its wgmma.
inline bool is_hopper() {
  static const bench::DeviceFacts kDevice = bench::query_device();
  const bench::CodeFacts& code = kDevice.code;
  return kDevice.compute_capability() == 90 && (code.capability == 0 || code.for_sm_90a);
}

// The arrays of one rank.
template <class T>
struct ShardArrays {
  bench::GuardedArray<T> q, kv, o;
  bench::GuardedArray<float> lse;

  ShardArrays(const std::string& rank, std::int64_t rows, int d)
      : q("Q of rank " + rank, bench::Role::input, rows * d),
        kv("K and V of rank " + rank, bench::Role::input, 2 * rows * d),
        o("O of rank " + rank, bench::Role::output, rows * d),
        lse("log-sum-exp of rank " + rank, bench::Role::output, rows) {}

  template <class Visit>
  void each(Visit visit) {
    visit(q);
    visit(kv);
    visit(o);
    visit(lse);
  }
};

template <class T>
struct RingAttention {
  static constexpr const char* name = "ring_attention";
  using Whole = attention::Problem<T>;

  attention::Shape shape;  // of the whole sequence
  int size;                // devices
  std::unique_ptr<Whole> whole;
  // The same tokens in both orders: [0] contiguous, [1] zigzag.
  std::vector<ShardArrays<T>> shards[2];

  RingAttention(const attention::Shape& shape, int size, std::uint64_t seed,
                bool is_real_gpu = true)
      : shape(shape), size(size), whole(std::make_unique<Whole>(shape, seed, 1, is_real_gpu)) {
    for (const bool is_zigzag : {false, true}) {
      for (int rank = 0; rank < size; ++rank) {
        const std::int64_t rows = shape.all_heads() * sharding(is_zigzag).rows(rank);
        shards[is_zigzag].emplace_back(std::to_string(rank), rows, shape.d);
        ShardArrays<T>& to = shards[is_zigzag].back();
        each_row(is_zigzag, rank, [&](std::int64_t own, std::int64_t all) {
          const auto copy = [&](T* own_rows, const T* rows) {
            std::copy_n(rows + all * shape.d, shape.d, own_rows + own * shape.d);
          };
          copy(to.q.pristine(), whole->q.pristine());
          copy(to.kv.pristine(), whole->k.pristine());
          copy(to.kv.pristine() + rows * shape.d, whole->v.pristine());
        });
      }
    }
  }

  Sharding sharding(bool is_zigzag) const { return {shape.n_q, size, is_zigzag, shape.causal}; }

  // Calls f(row of the shard, row of the whole) for the rows of all heads.
  template <class Function>
  void each_row(bool is_zigzag, int rank, Function f) const {
    const Sharding sharding = this->sharding(is_zigzag);
    const int rows = sharding.rows(rank);
#pragma omp parallel for schedule(static)
    for (std::int64_t head = 0; head < shape.all_heads(); ++head) {
      for (int row = 0; row < rows; ++row) {
        f(head * rows + row, head * shape.n_q + sharding.token(rank, row));
      }
    }
  }

  // Each array is visited with its device as the current one, and has arrived there afterwards.
  template <class Visit>
  void each_array(Visit visit) {
    whole->each_array(visit);
    kit::at_each_rank(size, [&](int rank) {
      for (auto& of_ranks : shards) of_ranks[rank].each(visit);
    });
  }

  // run(team): what it asks of the team's streams comes after what was asked of `stream`, a stream
  // of device 0, and before what is asked of it later. Throws Skip where there is no such team.
  template <class Run>
  void with_team(bool is_zigzag, cudaStream_t stream, Run run) {
    const Team<T> team = this->team(is_zigzag);
    memory_->devices.with(stream, [&](const kit::Devices&) { run(team); });
  }
  Team<T> team(bool is_zigzag) {
    if (!memory_) memory_ = std::make_unique<Memory>(*this);
    Team<T> team{memory_->devices.devices(), memory_->copies.devices(),           {},
                 sharding(is_zigzag),        static_cast<int>(shape.all_heads()), shape.d};
    for_each_rank(team.devices, [&](int rank, cudaStream_t) {
      ShardArrays<T>& of = shards[is_zigzag][rank];
      team.shards[rank] = {of.q.device_data(),
                           of.kv.device_data(),
                           of.o.device_data(),
                           of.lse.device_data(),
                           memory_->state[rank].data(),
                           memory_->inbox[rank].data(),
                           memory_->tile_counts[rank].data(),
                           memory_->arrivals[rank].data()};
    });
    team.last_number = &memory_->last_number;
    return team;
  }

  // Two zeros on device 0, for one that works alone.
  int* tile_counts() {
    if (tile_counts_.size() == 0) {
      tile_counts_ = kit::DeviceBuffer<int>(2);
      CUDA_CHECK(cudaMemset(tile_counts_.data(), 0, 2 * sizeof(int)));
      CUDA_CHECK(cudaDeviceSynchronize());
    }
    return tile_counts_.data();
  }

  // Of the whole; of the shards, put together in the order of the sequence.
  bench::Comparison check() const { return whole->check(); }
  bench::Comparison check(bool is_zigzag) const {
    T* const o = whole->o.host_data();
    float* const lse = whole->lse.host_data();
    for (int rank = 0; rank < size; ++rank) {
      const ShardArrays<T>& from = shards[is_zigzag][rank];
      each_row(is_zigzag, rank, [&](std::int64_t own, std::int64_t all) {
        std::copy_n(from.o.fetched() + own * shape.d, shape.d, o + all * shape.d);
        lse[all] = from.lse.fetched()[own];
      });
    }
    return whole->check();
  }

  bench::Sizes sizes() const {
    return {{"batch", shape.batch}, {"heads", shape.heads},   {"n", shape.n_q},
            {"d", shape.d},         {"causal", shape.causal}, {"devices", size}};
  }
  double bytes() const { return whole->bytes(); }
  double flops() const { return whole->flops(); }
  int batch() const { return whole->batch(); }
  void rotate(int) {}
  // Of all devices together.
  double peak_gflops(const bench::DeviceFacts& device) const {
    return size * whole->peak_gflops(device);
  }

  static bench::MemoryNeed memory(const attention::Shape& shape, int size) {
    const double bytes = attention::bytes(shape, sizeof(T));
    bench::MemoryNeed need = Whole::memory(shape);
    need.host += 4.5 * bytes;
    // Both orders; two parts in three for keys and values that come; O in fp32.
    const double rows = static_cast<double>(shape.rows()) / size + 1;
    const double device = 2.2 * bytes / size + 2.0 * std::max(2, size - 1) * rows * shape.d * 2 +
                          4.0 * rows * shape.d;
    need.device += (kit::kHasGpu ? 1 : size) * device;
    return need;
  }

 private:
  // What a team has beside its arrays.
  struct Memory {
    kit::DeviceTeam devices, copies;
    std::vector<kit::DeviceBuffer<float>> state;
    std::vector<kit::DeviceBuffer<T>> inbox;
    std::vector<kit::DeviceBuffer<int>> tile_counts;
    std::vector<kit::DeviceBuffer<unsigned>> arrivals;
    unsigned last_number = 0;

    explicit Memory(const RingAttention& p) : devices(p.size), copies(p.size) {
      const std::int64_t heads = p.shape.all_heads(), d = p.shape.d;
      const int slots = std::max(2, p.size - 1);
      const int rows = std::max(p.sharding(false).most_rows(), p.sharding(true).most_rows());
      for_each_rank(devices.devices(), [&](int, cudaStream_t) {
        state.emplace_back(heads * rows * d);
        inbox.emplace_back(2 * slots * heads * rows * d);
        tile_counts.emplace_back(2);
        CUDA_CHECK(cudaMemset(tile_counts.back().data(), 0, 2 * sizeof(int)));
        arrivals.emplace_back(kMostPieces);
        CUDA_CHECK(cudaMemset(arrivals.back().data(), 0, kMostPieces * sizeof(unsigned)));
        CUDA_CHECK(cudaDeviceSynchronize());
      });
    }
  };
  std::unique_ptr<Memory> memory_;
  kit::DeviceBuffer<int> tile_counts_;
};

// A rung on all devices: run(team).
template <class T, class Run>
bench::Variant<RingAttention<T>> team_rung(const std::string& name, const std::string& idea,
                                           bool is_zigzag, Run run, const bench::Needs& needs) {
  auto variant = bench::device_variant<RingAttention<T>>(
      name, idea,
      [run, is_zigzag](RingAttention<T>& p, cudaStream_t stream) {
        p.with_team(is_zigzag, stream, run);
      },
      needs);
  variant.check = [is_zigzag](const RingAttention<T>& p) { return p.check(is_zigzag); };
  return variant;
}

}  // namespace ring_attention
