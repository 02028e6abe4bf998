// SPDX-License-Identifier: MIT
// Several devices of one machine that work on one thing. One host thread asks all of them: each has
// a stream, and events let one stream wait for another. Rank r is device r.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "common/kit/check.cuh"

namespace kit {

constexpr int kMostDevices = 8;

// After so many looks at a flag a kernel no longer waits for a peer (its program died, its launch
// failed). Half a microsecond each: about 20 s. On a CPU, which may be busy, some seconds or more.
constexpr unsigned kMostLooks = kHasGpu ? 1u << 25 : 1u << 24;

// Devices of this machine, at most as many as work together here.
inline int devices_here() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) cudaGetLastError();
  return std::min(count, kMostDevices);
}

// How many work together if `asked` are asked for; 0: all there are, or two if there is one.
inline int team_size(std::int64_t asked) {
  return asked != 0 ? static_cast<int>(asked) : std::max(2, devices_here());
}

// Calls f(rank) for the ranks of a team of `size`, with its device as the current one, and waits
// for what it asked for; then rank 0's is again. Where there are fewer devices, the current one
// stays so for all ranks.
template <class Function>
void at_each_rank(int size, Function f) {
  const bool spread = devices_here() >= size;
  for (int rank = 0; rank < size; ++rank) {
    if (spread) CUDA_CHECK(cudaSetDevice(rank));
    f(rank);
    if (spread) CUDA_CHECK(cudaDeviceSynchronize());
  }
  if (spread) CUDA_CHECK(cudaSetDevice(0));
}

// What a rung gets of them.
struct Devices {
  int count = 0;
  cudaStream_t streams[kMostDevices] = {};  // each of its own device, as are the events
  cudaEvent_t events[kMostDevices] = {};

  int size() const { return count; }

  // What stream `rank` is asked for from now on comes after what was asked of stream `other`.
  void wait(int rank, int other) const {
    CUDA_CHECK(cudaEventRecord(events[other], streams[other]));
    CUDA_CHECK(cudaStreamWaitEvent(streams[rank], events[other], 0));
  }
};

// Calls f(rank, stream) for every rank, with its device as the current one; then rank 0's is again.
template <class Function>
void for_each_rank(const Devices& devices, Function f) {
  for (int rank = 0; rank < devices.count; ++rank) {
    CUDA_CHECK(cudaSetDevice(rank));
    f(rank, devices.streams[rank]);
  }
  CUDA_CHECK(cudaSetDevice(0));
}

// Lets the kernels of `device` use memory of `peer`. Throws Skip where the machine cannot.
inline void enable_access(int device, int peer) {
  static bool enabled[kMostDevices][kMostDevices] = {};  // asked for twice, it is an error
  if (enabled[device][peer]) return;
  int can = 0;
  CUDA_CHECK(cudaDeviceCanAccessPeer(&can, device, peer));
  if (!can) {
    throw Skip("devices " + std::to_string(device) + " and " + std::to_string(peer) +
               " cannot use each other's memory");
  }
  int current = 0;
  CUDA_CHECK(cudaGetDevice(&current));
  CUDA_CHECK(cudaSetDevice(device));
  const cudaError_t error = cudaDeviceEnablePeerAccess(peer, 0);
  if (error == cudaErrorPeerAccessAlreadyEnabled) {
    cudaGetLastError();  // by a library of this program
  } else {
    CUDA_CHECK(error);
  }
  CUDA_CHECK(cudaSetDevice(current));
  enabled[device][peer] = true;
}

// `count` devices with their streams and events, all of which may use each other's memory. Throws
// Skip where the machine has not so many, or they cannot.
class DeviceTeam {
 public:
  explicit DeviceTeam(int count) {
    if (devices_here() < count) {
      throw Skip("needs " + std::to_string(count) + " GPUs, there is " +
                 std::to_string(devices_here()) +
                 (kHasGpu ? "" : " (SIMT_DEVICES=" + std::to_string(count) + " makes as many)"));
    }
    for (int a = 0; a < count; ++a) {
      for (int b = 0; b < count; ++b) {
        if (a != b) enable_access(a, b);
      }
    }
    devices_.count = count;
    for_each_rank(devices_, [&](int rank, cudaStream_t) {
      CUDA_CHECK(cudaStreamCreateWithFlags(&devices_.streams[rank], cudaStreamNonBlocking));
      CUDA_CHECK(cudaEventCreateWithFlags(&devices_.events[rank], cudaEventDisableTiming));
    });
  }
  ~DeviceTeam() {
    for (cudaStream_t stream : devices_.streams) {
      if (stream != nullptr) cudaStreamDestroy(stream);
    }
    for (cudaEvent_t event : devices_.events) {
      if (event != nullptr) cudaEventDestroy(event);
    }
  }
  DeviceTeam(const DeviceTeam&) = delete;
  DeviceTeam& operator=(const DeviceTeam&) = delete;

  const Devices& devices() const { return devices_; }

  // run(devices): what it asks of their streams comes after what was asked of `stream`, a stream of
  // device 0, and before what is asked of it later. Within run it may be called again: then nothing
  // is waited for, and the calls follow one another in the streams of the devices.
  template <class Run>
  void with(cudaStream_t stream, Run run) {
    if (inside_) {
      run(devices_);
      return;
    }
    CUDA_CHECK(cudaEventRecord(devices_.events[0], stream));
    for (int rank = 0; rank < devices_.count; ++rank) {
      CUDA_CHECK(cudaStreamWaitEvent(devices_.streams[rank], devices_.events[0], 0));
    }
    inside_ = true;
    try {
      run(devices_);
    } catch (...) {
      inside_ = false;
      throw;
    }
    inside_ = false;
    for (int rank = 0; rank < devices_.count; ++rank) {
      CUDA_CHECK(cudaEventRecord(devices_.events[rank], devices_.streams[rank]));
      CUDA_CHECK(cudaStreamWaitEvent(stream, devices_.events[rank], 0));
    }
  }

 private:
  Devices devices_;
  bool inside_ = false;
};

}  // namespace kit
