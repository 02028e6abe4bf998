// The index of problem C2: every way to keep two words together, in reading order.
#pragma once

#include <cstring>
#include <vector>

#include "06_atomics_streams/lock/01_sequential.hpp"
#include "06_atomics_streams/lock/02_per_thread.cuh"
#include "06_atomics_streams/lock/03_per_warp.cuh"
#include "06_atomics_streams/lock/04_packed.cuh"
#include "06_atomics_streams/lock/problem.cuh"
#include "common/variant.cuh"

inline std::vector<common::Variant<Lock>> lock_variants() {
  using common::on_device;
  const auto record = [](Lock& p) { return reinterpret_cast<Record*>(p.record.on_device()); };
  return {
      common::on_cpu<Lock>("sequential", "two assignments, one core",
                           [](Lock& p) {
                             float largest = 0;
                             unsigned* words = p.record.on_host();
                             lock_sequential(p.x.on_host(), p.n, &largest, &words[1]);
                             std::memcpy(&words[0], &largest, sizeof largest);
                           }),
      on_device<Lock>("per_thread", "every thread takes the lock",
                      [record](Lock& p, cudaStream_t stream) {
                        lock_per_thread(p.x.on_device(), p.n, record(p), p.lock.on_device(),
                                        stream);
                      }),
      on_device<Lock>("per_warp", "one lane of each warp takes the lock",
                      [record](Lock& p, cudaStream_t stream) {
                        lock_per_warp(p.x.on_device(), p.n, record(p), p.lock.on_device(), stream);
                      }),
      on_device<Lock>("packed", "both words in one 64-bit atomic, no lock",
                      [record](Lock& p, cudaStream_t stream) {
                        lock_packed(p.x.on_device(), p.n, record(p), stream);
                      }),
  };
}
