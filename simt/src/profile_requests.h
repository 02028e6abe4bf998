// What one memory instruction of a warp costs: pure arithmetic on the addresses of its lanes.
//
// A warp executes a load or store as one request. Global memory answers in sectors of 32 bytes: the
// request moves every sector that at least one lane touches, whole. Shared memory has 32 banks of
// 4 bytes; lanes that want different words of one bank wait for each other, one wavefront per word.
#pragma once

#include <cstdint>

namespace simt {

constexpr unsigned kRequestLanes = 32;
constexpr unsigned kSectorBytes = 32;
constexpr unsigned kBanks = 32;
constexpr unsigned kBankBytes = 4;

// One executed memory instruction: bit i of `lanes` says that lane i takes part, with `size` bytes
// at `address[i]`. Entries of lanes that do not take part are never read.
struct WarpAccess {
  uint32_t lanes;
  uint32_t size;
  const uint64_t* address;
};

struct GlobalCost {
  unsigned sectors;     // distinct sectors touched
  unsigned bytes_used;  // distinct bytes that some lane asked for; 32 * sectors were moved
};

struct SharedCost {
  unsigned wavefronts;        // passes needed
  unsigned ideal_wavefronts;  // passes needed if no two lanes met in a bank
  unsigned degree;            // most words asked of one bank in one pass group; 1 = no conflict
};

struct AtomicCost {
  unsigned addresses;      // distinct addresses
  unsigned serialization;  // most lanes that hit one address: they go one after another
};

GlobalCost global_cost(const WarpAccess& access);
SharedCost shared_cost(const WarpAccess& access);
AtomicCost atomic_cost(const WarpAccess& access);

}  // namespace simt
