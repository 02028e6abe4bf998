// The problem: n bytes go from one device to another one; or n bytes each way at once.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "06_atomics_streams/device_copy/kit/transfer.cuh"
#include "common/bench/compare.hpp"
#include "common/bench/guarded_array.cuh"
#include "common/bench/memory_need.hpp"
#include "common/bench/options.hpp"
#include "common/bench/report.hpp"
#include "common/bench/variant.cuh"
#include "common/kit/check.cuh"
#include "common/kit/devices.cuh"
#include "common/kit/random.cuh"

namespace device_copy {

// A transfer with streams, events and host memory of its own, for up to so many bytes. Throws Skip
// where the machine lacks one of the devices, or they cannot use each other's memory.
class Way {
 public:
  Way(int source, int target, std::int64_t bytes) : team_(std::max(source, target) + 1) {
    transfer.bytes = bytes;
    transfer.source = source;
    transfer.target = target;
    transfer.devices = team_.devices();
    const std::int64_t slots = kSlots * kChunkBytes;
    CUDA_CHECK(cudaMallocHost(&transfer.staging, std::max(bytes, slots)));
    on_device(target, [this] {
      for (cudaEvent_t& event : transfer.left) {
        CUDA_CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
      }
    });
  }
  ~Way() {
    for (cudaEvent_t event : transfer.left) {
      if (event != nullptr) cudaEventDestroy(event);
    }
    cudaFreeHost(transfer.staging);
  }
  Way(const Way&) = delete;
  Way& operator=(const Way&) = delete;

  // As DeviceTeam::with; run().
  template <class Run>
  void with(cudaStream_t stream, Run run) {
    team_.with(stream, [&run](const kit::Devices&) { run(); });
  }

  Transfer transfer;

 private:
  kit::DeviceTeam team_;
};

// kWays: 1, or 2 for both ways at once.
template <int kWays>
struct DeviceCopy {
  static constexpr const char* name = kWays == 1 ? "device_copy" : "device_exchange";

  std::int64_t n;  // bytes each way
  int source, target;
  std::vector<bench::GuardedArray<Byte>> x, y;  // of each way

  DeviceCopy(std::int64_t n, int source, int target, std::uint64_t seed)
      : n(n), source(source), target(target) {
    if (source == target) throw bench::UsageError("--from and --to are the same device");
    for (int way = 0; way < kWays; ++way) {
      const std::string number = kWays == 1 ? "" : std::to_string(way);
      x.emplace_back("x" + number, bench::Role::input, n);
      y.emplace_back("y" + number, bench::Role::output, n);
      Byte* const bytes = x.back().pristine();
#pragma omp parallel for schedule(static)
      for (std::int64_t i = 0; i < n; ++i) {
        bytes[i] = static_cast<Byte>(kit::random_bits(seed + way, i) >> 56);
      }
    }
  }

  int source_of(int way) const { return way == 0 ? source : target; }
  int target_of(int way) const { return way == 0 ? target : source; }

  // Each array is visited with its device as the current one, and has arrived there afterwards.
  template <class Visit>
  void each_array(Visit visit) {
    const bool spread = kit::devices_here() > std::max(source, target);
    const auto at = [&](int device, bench::GuardedArray<Byte>& array) {
      if (!spread) return visit(array);
      on_device(device, [&] {
        visit(array);
        CUDA_CHECK(cudaDeviceSynchronize());
      });
    };
    for (int way = 0; way < kWays; ++way) {
      at(source_of(way), x[way]);
      at(target_of(way), y[way]);
    }
  }

  // run(transfer) for each way: what it asks for comes after what was asked of `stream`, a stream
  // of device 0, and before what is asked of it later. Within run it may be called again: then
  // nothing is waited for. Throws Skip as Way does.
  template <class Run>
  void for_each_way(cudaStream_t stream, Run run) {
    way(0).with(stream, [&] {
      if constexpr (kWays == 1) {
        run(way(0).transfer);
      } else {
        way(1).with(stream, [&] {
          for (int each = 0; each < kWays; ++each) run(way(each).transfer);
        });
      }
    });
  }

  // Equality. Byte i of the second way is number n + i.
  bench::Comparison check() const {
    bench::Comparison all;
    for (int way = 0; way < kWays; ++way) {
      all.add(bench::compare(y[way].fetched(), x[way].pristine(), n, 0.0), way * n);
    }
    return all;
  }

  bench::Sizes sizes() const { return {{"n", n}, {"from", source}, {"to", target}}; }
  double bytes() const { return kWays * static_cast<double>(n); }  // over the link
  double flops() const { return 0; }

  static bench::MemoryNeed memory(std::int64_t n) {
    const double all = kWays * static_cast<double>(n);
    // Two devices of simt lie in the memory of the host.
    return {(kit::kHasGpu ? 4.1 : 6.1) * all + kWays * 1.0 * kSlots * kChunkBytes, 2.1 * n * kWays};
  }

 private:
  Way& way(int number) {
    std::unique_ptr<Way>& made = ways_[number];
    if (!made) made = std::make_unique<Way>(source_of(number), target_of(number), n);
    made->transfer.from = x[number].device_data();
    made->transfer.to = y[number].device_data();
    return *made;
  }

  std::unique_ptr<Way> ways_[kWays];
};

// A rung: run(transfer) for each way.
template <int kWays, class Run>
bench::Variant<DeviceCopy<kWays>> transfer_rung(const std::string& name, const std::string& idea,
                                                Run run, bench::Needs needs = {}) {
  return bench::device_variant<DeviceCopy<kWays>>(
      name, idea, [run](DeviceCopy<kWays>& p, cudaStream_t stream) { p.for_each_way(stream, run); },
      needs);
}

}  // namespace device_copy
