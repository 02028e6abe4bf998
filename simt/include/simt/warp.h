// Warp functions: shuffles, votes, match, reductions. Each is a WarpOperation: a payload per lane
// and a function that computes all lanes' results once all of them have arrived.
#pragma once

#include <cstring>

#include "simt/build_mode.h"
#include "simt/location.h"
#include "simt/state.h"
#include "simt/warp_operation.h"

namespace simt {

SIMT_INLINE constexpr bool has_lane(unsigned lanes, unsigned lane) { return lanes >> lane & 1; }

// ---- shuffle: every lane reads the value of another lane --------------------------------------

template <class T>
struct ShuffleLane {
  T value;
  unsigned source;
  T result;
};

template <class T>
SIMT_INLINE void combine_shuffle(void** payload, unsigned lanes) {
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (!has_lane(lanes, lane)) continue;
    auto* mine = static_cast<ShuffleLane<T>*>(payload[lane]);
    // Reading a lane that does not take part is undefined on a GPU; here a lane then keeps its own.
    bool there = has_lane(lanes, mine->source);
    mine->result = there ? static_cast<ShuffleLane<T>*>(payload[mine->source])->value : mine->value;
  }
}

template <class T>
SIMT_INLINE T shuffle(const char* name, unsigned mask, T value, unsigned source, Location at) {
  ShuffleLane<T> lane{value, source, value};
  WarpOperation operation{name, &combine_shuffle<T>};
  warp_operation(mask, operation, &lane, at);
  return lane.result;
}

// ---- vote: every lane learns which lanes' predicates hold -------------------------------------

struct VoteLane {
  bool predicate;
  unsigned ballot;
};

SIMT_INLINE void combine_vote(void** payload, unsigned lanes) {
  unsigned ballot = 0;
  for (unsigned lane = 0; lane < 32; ++lane)
    if (has_lane(lanes, lane) && static_cast<VoteLane*>(payload[lane])->predicate)
      ballot |= 1u << lane;
  for (unsigned lane = 0; lane < 32; ++lane)
    if (has_lane(lanes, lane)) static_cast<VoteLane*>(payload[lane])->ballot = ballot;
}

SIMT_INLINE unsigned ballot(const char* name, unsigned mask, bool predicate, Location at) {
  VoteLane lane{predicate, 0};
  WarpOperation operation{name, &combine_vote};
  warp_operation(mask, operation, &lane, at);
  return lane.ballot;
}

// ---- match: every lane learns which lanes hold the same value ---------------------------------

template <class T>
struct MatchLane {
  T value;
  unsigned same;
};

template <class T>
SIMT_INLINE void combine_match(void** payload, unsigned lanes) {
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (!has_lane(lanes, lane)) continue;
    auto* mine = static_cast<MatchLane<T>*>(payload[lane]);
    mine->same = 0;
    for (unsigned other = 0; other < 32; ++other)
      if (has_lane(lanes, other) &&
          memcmp(&static_cast<MatchLane<T>*>(payload[other])->value, &mine->value, sizeof(T)) == 0)
        mine->same |= 1u << other;
  }
}

template <class T>
SIMT_INLINE unsigned match(const char* name, unsigned mask, T value, Location at) {
  MatchLane<T> lane{value, 0};
  WarpOperation operation{name, &combine_match<T>};
  warp_operation(mask, operation, &lane, at);
  return lane.same;
}

// ---- reduce: every lane gets the sum (or least, ...) of all lanes, added in the order of the
// lanes -----

template <class T, class Operator>
struct ReduceLane {
  T value;
  Operator op;
};

template <class T, class Operator>
SIMT_INLINE void combine_reduce(void** payload, unsigned lanes) {
  using Lane = ReduceLane<T, Operator>;
  unsigned first = __builtin_ctz(lanes);
  T total = static_cast<Lane*>(payload[first])->value;
  for (unsigned lane = first + 1; lane < 32; ++lane)
    if (has_lane(lanes, lane))
      total =
          static_cast<Lane*>(payload[first])->op(total, static_cast<Lane*>(payload[lane])->value);
  for (unsigned lane = 0; lane < 32; ++lane)
    if (has_lane(lanes, lane)) static_cast<Lane*>(payload[lane])->value = total;
}

template <class T, class Operator>
SIMT_INLINE T reduce(const char* name, unsigned mask, T value, Operator op, Location at) {
  ReduceLane<T, Operator> lane{value, op};
  WarpOperation operation{name, &combine_reduce<T, Operator>};
  warp_operation(mask, operation, &lane, at);
  return lane.value;
}

struct Sum {
  template <class T>
  SIMT_UNWATCHED T operator()(T a, T b) const {
    return a + b;
  }
};
struct Least {
  template <class T>
  SIMT_UNWATCHED T operator()(T a, T b) const {
    return b < a ? b : a;
  }
};
struct Greatest {
  template <class T>
  SIMT_UNWATCHED T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};
struct BitAnd {
  template <class T>
  SIMT_UNWATCHED T operator()(T a, T b) const {
    return a & b;
  }
};
struct BitOr {
  template <class T>
  SIMT_UNWATCHED T operator()(T a, T b) const {
    return a | b;
  }
};
struct BitXor {
  template <class T>
  SIMT_UNWATCHED T operator()(T a, T b) const {
    return a ^ b;
  }
};

SIMT_INLINE void combine_nothing(void**, unsigned) {}

// Lanes of the warp that wait here too when no further lane can arrive.
unsigned active_mask(Location at);

}  // namespace simt

SIMT_INLINE void __syncwarp(unsigned mask = 0xffffffffu,
                            simt::Location at = simt::Location::here()) {
  static const simt::WarpOperation operation{"__syncwarp", &simt::combine_nothing};
  simt::warp_operation(mask, operation, nullptr, at);
}

SIMT_INLINE unsigned __activemask(simt::Location at = simt::Location::here()) {
  return simt::active_mask(at);
}

// Shuffles work within segments of `width` lanes (a power of two).
template <class T>
SIMT_INLINE T __shfl_sync(unsigned mask, T value, int source, int width = 32,
                          simt::Location at = simt::Location::here()) {
  unsigned segment = simt::state.lane & ~unsigned(width - 1);
  return simt::shuffle("__shfl_sync", mask, value, segment | (source & (width - 1)), at);
}

template <class T>
SIMT_INLINE T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32,
                             simt::Location at = simt::Location::here()) {
  unsigned lane = simt::state.lane, in_segment = lane & (width - 1);
  return simt::shuffle("__shfl_up_sync", mask, value, in_segment >= delta ? lane - delta : lane,
                       at);
}

template <class T>
SIMT_INLINE T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32,
                               simt::Location at = simt::Location::here()) {
  unsigned lane = simt::state.lane, in_segment = lane & (width - 1);
  bool inside = in_segment + delta < unsigned(width);
  return simt::shuffle("__shfl_down_sync", mask, value, inside ? lane + delta : lane, at);
}

template <class T>
SIMT_INLINE T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32,
                              simt::Location at = simt::Location::here()) {
  unsigned lane = simt::state.lane, source = lane ^ unsigned(lane_mask);
  // A lane may read from an earlier segment but not from a later one.
  bool inside = source < (lane & ~unsigned(width - 1)) + unsigned(width);
  return simt::shuffle("__shfl_xor_sync", mask, value, inside ? source : lane, at);
}

SIMT_INLINE unsigned __ballot_sync(unsigned mask, int predicate,
                                   simt::Location at = simt::Location::here()) {
  return simt::ballot("__ballot_sync", mask, predicate != 0, at);
}
SIMT_INLINE int __any_sync(unsigned mask, int predicate,
                           simt::Location at = simt::Location::here()) {
  return simt::ballot("__any_sync", mask, predicate != 0, at) != 0;
}
SIMT_INLINE int __all_sync(unsigned mask, int predicate,
                           simt::Location at = simt::Location::here()) {
  return simt::ballot("__all_sync", mask, predicate == 0, at) == 0;
}

template <class T>
SIMT_INLINE unsigned __match_any_sync(unsigned mask, T value,
                                      simt::Location at = simt::Location::here()) {
  return simt::match("__match_any_sync", mask, value, at);
}
template <class T>
SIMT_INLINE unsigned __match_all_sync(unsigned mask, T value, int* all,
                                      simt::Location at = simt::Location::here()) {
  unsigned same = simt::match("__match_all_sync", mask, value, at);
  *all = same == mask;
  return *all ? mask : 0;
}

#define SIMT_WARP_REDUCTION(name, Operator, T)                                             \
  SIMT_INLINE T name(unsigned mask, T value, simt::Location at = simt::Location::here()) { \
    return simt::reduce(#name, mask, value, simt::Operator(), at);                         \
  }
SIMT_WARP_REDUCTION(__reduce_add_sync, Sum, int)
SIMT_WARP_REDUCTION(__reduce_add_sync, Sum, unsigned)
SIMT_WARP_REDUCTION(__reduce_min_sync, Least, int)
SIMT_WARP_REDUCTION(__reduce_min_sync, Least, unsigned)
SIMT_WARP_REDUCTION(__reduce_max_sync, Greatest, int)
SIMT_WARP_REDUCTION(__reduce_max_sync, Greatest, unsigned)
SIMT_WARP_REDUCTION(__reduce_and_sync, BitAnd, unsigned)
SIMT_WARP_REDUCTION(__reduce_or_sync, BitOr, unsigned)
SIMT_WARP_REDUCTION(__reduce_xor_sync, BitXor, unsigned)
#undef SIMT_WARP_REDUCTION
