// The problem: every device has an array, and every device wants the sum of all of them.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "05_reduction/all_reduce/kit/team.cuh"
#include "05_reduction/all_reduce/kit/vector.cuh"
#include "common/bench/compare.hpp"
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

namespace all_reduce {

using kit::devices_here;

// Vectors of a piece that one_shot_push sends at a time.
constexpr std::int64_t kInboxVectors = kit::kHasGpu ? 1 << 20 : 1 << 12;

// A team with memory of its own for what its members send. Throws Skip where the machine has not
// so many devices, or they cannot use each other's memory.
template <class T>
class TeamMemory {
 public:
  TeamMemory(int size, std::int64_t n, std::int64_t inbox_vectors)
      : devices(size), parts_out_(size), sums_out_(size) {
    static_cast<kit::Devices&>(team) = devices.devices();
    team.parts_out = parts_out_.devices();
    team.sums_out = sums_out_.devices();
    Peers<T>& peers = team.peers;
    peers.size = size;
    peers.inbox_vectors = inbox_vectors;
    host_ = {nullptr, size, n};
    team.host = &host_;
    CUDA_CHECK(cudaMallocHost(&host_.data, std::max<std::int64_t>(1, size * n) * sizeof(T)));
    team.most_blocks = kMostBlocks;
    for_each_rank(team, [&](int rank, cudaStream_t) {
      const int processors = kit::device_attribute(cudaDevAttrMultiProcessorCount);
      team.most_blocks = std::min(team.most_blocks, kBlocksPerSm * processors);
      peers.inbox[rank] = memory<Vector<T>>(2 * size * inbox_vectors);
      peers.parts[rank] = memory<T>(size * padded<T>(n));
      peers.packets[rank] = zeros<std::uint64_t>(packets(size));
      peers.flags[rank] = zeros<unsigned>(kMostBlocks * kMostDevices);
      peers.epochs[rank] = zeros<unsigned>(kMostBlocks);
      CUDA_CHECK(cudaDeviceSynchronize());
    });
  }
  ~TeamMemory() { cudaFreeHost(host_.data); }
  TeamMemory(const TeamMemory&) = delete;
  TeamMemory& operator=(const TeamMemory&) = delete;

  // Bytes on one device.
  static double bytes(int size, std::int64_t n) {
    return 1.0 * size * (2.0 * kInboxVectors * sizeof(Vector<T>) + 1.0 * n * sizeof(T)) +
           1.0 * packets(size) * sizeof(std::uint64_t);
  }

  kit::DeviceTeam devices;
  Team<T> team;

 private:
  static std::int64_t packets(int size) { return std::int64_t{2} * size * kMostBlocks * kThreads; }

  // On the current device.
  template <class U>
  U* memory(std::int64_t count) {
    memory_.emplace_back(std::max<std::int64_t>(1, count) * static_cast<std::int64_t>(sizeof(U)));
    return reinterpret_cast<U*>(memory_.back().data());
  }
  template <class U>
  U* zeros(std::int64_t count) {
    U* made = memory<U>(count);
    CUDA_CHECK(cudaMemset(made, 0, count * sizeof(U)));
    return made;
  }

  kit::DeviceTeam parts_out_, sums_out_;
  std::vector<kit::DeviceBuffer<unsigned char>> memory_;
  HostMemory<T> host_;
};

template <class T>
struct AllReduce {
  static constexpr const char* name = sizeof(T) == 4 ? "all_reduce" : "all_reduce_bf16";

  std::int64_t n;
  std::vector<bench::GuardedArray<T>> x, y;  // one for each device
  kit::HostBuffer<T> expected;               // summed in the order of the ranks
  std::int64_t inbox_vectors;

  // size: devices that take part; 0: all there are, or two if there is one.
  AllReduce(std::int64_t n, int size, std::uint64_t seed,
            std::int64_t inbox_vectors = kInboxVectors)
      : n(n), expected(n), inbox_vectors(inbox_vectors) {
    size = kit::team_size(size);
    for (int rank = 0; rank < size; ++rank) {
      x.emplace_back("x" + std::to_string(rank), bench::Role::input, n);
      y.emplace_back("y" + std::to_string(rank), bench::Role::output, n);
    }
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < n; ++i) {
      float sum = 0;
      for (int rank = 0; rank < size; ++rank) {
        const T own = from_float<T>(kit::random_float(seed * kMostDevices + rank, i));
        x[rank].pristine()[i] = own;
        sum += to_float(own);
      }
      expected[i] = from_float<T>(sum);
    }
  }

  int size() const { return static_cast<int>(x.size()); }

  // Each array is visited with its device as the current one, and has arrived there afterwards.
  template <class Visit>
  void each_array(Visit visit) {
    kit::at_each_rank(size(), [&](int rank) {
      visit(x[rank]);
      visit(y[rank]);
    });
  }

  // Throws Skip where there is no such team.
  const Team<T>& team() {
    if (!memory_) memory_ = std::make_unique<TeamMemory<T>>(size(), n, inbox_vectors);
    Team<T>& team = memory_->team;
    for_each_rank(team, [&](int rank, cudaStream_t) {
      team.peers.x[rank] = x[rank].device_data();
      team.peers.y[rank] = y[rank].device_data();
    });
    return team;
  }

  // As kit::DeviceTeam::with; run(team).
  template <class Run>
  void with_team(cudaStream_t stream, Run run) {
    const Team<T>& team = this->team();
    memory_->devices.with(stream, [&](const kit::Devices&) { run(team); });
  }

  // Equality, bit for bit: in the order of the ranks float addition has one result. Element i of
  // rank r is number r * n + i.
  bench::Comparison check() const { return check_within(0); }
  bench::Comparison check_within(double bound) const {
    bench::Comparison all;
    for (int rank = 0; rank < size(); ++rank) {
      all.add(bench::compare(y[rank].fetched(), expected.data(), n, bound), rank * n);
    }
    return all;
  }
  // In any order, and rounded after every addition: inputs are at most 1, so partial sums at most
  // size, and each of the size - 1 additions is off by half a unit in the last place.
  bench::Comparison check_any_order() const {
    const double unit = sizeof(T) == 4 ? 0x1p-24 : 0x1p-9;
    return check_within(size() * size() * unit);
  }

  bench::Sizes sizes() const { return {{"n", n}, {"devices", size()}}; }
  // What limits it are the links, whose peak no device tells.
  double bytes() const { return 0; }
  double flops() const { return (size() - 1.0) * static_cast<double>(n); }

  static bench::MemoryNeed memory(int size, std::int64_t n) {
    size = kit::team_size(size);
    const double array = sizeof(T) * static_cast<double>(n);
    const double device = 2.1 * array + TeamMemory<T>::bytes(size, n);
    // The model GPUs share the memory of the host.
    return {(4.1 * size + 1) * array + (kit::kHasGpu ? 0 : (size - 1) * device), device};
  }

 private:
  std::unique_ptr<TeamMemory<T>> memory_;
};

// A rung on all devices: run(team, n).
template <class T, class Run>
bench::Variant<AllReduce<T>> team_rung(const std::string& name, const std::string& idea, Run run) {
  return bench::device_variant<AllReduce<T>>(
      name, idea, [run](AllReduce<T>& p, cudaStream_t stream) {
        p.with_team(stream, [&](const Team<T>& team) { run(team, p.n); });
      });
}

// The same variant, whose sums have another order than that of the ranks.
template <class T>
bench::Variant<AllReduce<T>> in_any_order(bench::Variant<AllReduce<T>> variant) {
  variant.check = [](const AllReduce<T>& p) { return p.check_any_order(); };
  return variant;
}

}  // namespace all_reduce
