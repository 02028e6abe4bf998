// --sweep flags: how long does a flag take to another device, and back?
//
// Two kernels of one thread each, on two devices, tell each other a number in turn. Nobody's clock
// is needed on both sides: a way there and back has begun and ended at the same thread.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <cuda/atomic>

#include "06_atomics_streams/device_copy/kit/transfer.cuh"
#include "06_atomics_streams/device_copy/problem.cuh"
#include "06_atomics_streams/study/sweep_device_copy.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/settings.hpp"
#include "common/kit/check.cuh"
#include "common/kit/cpu_timer.hpp"
#include "common/kit/device_buffer.cuh"
#include "common/kit/devices.cuh"
#include "common/kit/gpu_timer.cuh"

namespace device_copy {

// A flag that one of the two waits for, and a word that comes with it.
struct Mailbox {
  unsigned* flag;
  unsigned* word;
};

// region ping_pong
// One of the two begins, the other one answers, `turns` times. With kData a word is stored before
// each flag, and read when the flag has been seen: *wrong counts the old ones.
template <bool kData>
__global__ void ping_pong_kernel(Mailbox mine, Mailbox theirs, unsigned turns, bool begins,
                                 unsigned* wrong) {
  using Flag = cuda::atomic_ref<unsigned, cuda::thread_scope_system>;
  unsigned mistakes = 0;
  const auto tell = [&](unsigned turn) {
    if (kData) *theirs.word = turn;
    Flag(*theirs.flag).store(turn, kData ? cuda::memory_order_release : cuda::memory_order_relaxed);
  };
  const auto wait = [&](unsigned turn) {
    const auto order = kData ? cuda::memory_order_acquire : cuda::memory_order_relaxed;
    while (Flag(*mine.flag).load(order) != turn) {
    }
    if (kData && *mine.word != turn) ++mistakes;
  };
  for (unsigned turn = 1; turn <= turns; ++turn) {
    if (begins) tell(turn);
    wait(turn);
    if (!begins) tell(turn);
  }
  *wrong = mistakes;
}
// endregion

enum class FlagLies { with_who_waits, with_who_tells };

// A flag, a word and a count of mistakes, 128 bytes apart; and so many of these, since the way to
// the L2 cache differs from one address to another.
constexpr int kPlaceWords = 1088, kPlaces = kit::kHasGpu ? 16 : 2;
struct Places {
  kit::DeviceBuffer<unsigned> words;
  explicit Places(int device) {
    on_device(device, [this] {
      words = kit::DeviceBuffer<unsigned>(kPlaces * kPlaceWords);
      CUDA_CHECK(cudaMemset(words.data(), 0, words.bytes()));
      CUDA_CHECK(cudaDeviceSynchronize());
    });
  }
  Mailbox mailbox(int place) const {
    unsigned* const first = words.data() + place * kPlaceWords;
    return {first, first + 32};
  }
  unsigned* mistakes(int place) const { return words.data() + place * kPlaceWords + 64; }
};

// Microseconds of a way there and back between devices `one` and `other`, which may be the same:
// the median over the places; NaN without a GPU. Throws Skip as DeviceTeam does, std::runtime_error
// if an old word was read.
template <bool kData>
double flag_microseconds(int one, int other, FlagLies lies, unsigned turns) {
  // Two kernels of one device take two streams.
  kit::DeviceTeam beginners(std::max(one, other) + 1), answerers(std::max(one, other) + 1);
  const cudaStream_t begins = beginners.devices().streams[one];
  const cudaStream_t answers = answerers.devices().streams[other];
  const Places at_one(one), at_other(other);
  std::vector<double> us;
  for (int place = 0; place < kPlaces; ++place) {
    Mailbox ones = at_one.mailbox(place), others = at_other.mailbox(place);
    if (lies == FlagLies::with_who_tells) std::swap(ones, others);
    on_device(other, [&] {
      ping_pong_kernel<kData>
          <<<1, 1, 0, answers>>>(others, ones, turns, false, at_other.mistakes(place));
      CUDA_CHECK(cudaGetLastError());
    });
    on_device(one, [&] {
      kit::GpuTimer timer;
      timer.start(begins);
      ping_pong_kernel<kData>
          <<<1, 1, 0, begins>>>(ones, others, turns, true, at_one.mistakes(place));
      CUDA_CHECK(cudaGetLastError());
      timer.stop(begins);
      us.push_back(kit::kHasGpu ? 1e3 * timer.elapsed_ms() / turns : std::nan(""));
      CUDA_CHECK(cudaStreamSynchronize(begins));
    });
    on_device(other, [&] { CUDA_CHECK(cudaStreamSynchronize(answers)); });
    for (const Places* places : {&at_one, &at_other}) {
      unsigned wrong = 0;
      CUDA_CHECK(cudaMemcpy(&wrong, places->mistakes(place), sizeof wrong, cudaMemcpyDefault));
      if (wrong > 0) throw std::runtime_error(std::to_string(wrong) + " flags before their word");
    }
  }
  return kit::median(us);
}

// Between two blocks of one device, and between two devices: with the flag where it is polled, with
// the flag where it is stored, and with a word that must be there before the flag.
inline bench::Shown sweep_flags(const bench::RunSettings& run, const bench::Settings& settings,
                                const std::vector<bench::Variant<DeviceCopy<1>>>&) {
  if (const auto instead = shown_on_too_few(run, settings); !instead.empty()) return instead;
  const int one = static_cast<int>(settings["from"]), other = static_cast<int>(settings["to"]);
  constexpr unsigned kTurns = 2000;
  constexpr auto kHere = FlagLies::with_who_waits, kThere = FlagLies::with_who_tells;
  return {bench::Sweep{
      DeviceCopy<1>::name,
      "turns",
      {"turns", "one_device_us", "polled_here_us", "polled_there_us", "after_a_word_us"},
      {{kTurns, flag_microseconds<false>(one, one, kHere, kTurns),
        flag_microseconds<false>(one, other, kHere, kTurns),
        flag_microseconds<false>(one, other, kThere, kTurns),
        flag_microseconds<true>(one, other, kHere, kTurns)}}}};
}

}  // namespace device_copy
