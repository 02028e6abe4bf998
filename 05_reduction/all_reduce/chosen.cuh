// The last page of the ladder: which rung a library would take.
#pragma once

#include <cstdint>
#include <string>

#include "05_reduction/all_reduce/07_one_shot_push.cuh"
#include "05_reduction/all_reduce/08_packets.cuh"
#include "05_reduction/all_reduce/09_two_shot.cuh"
#include "05_reduction/all_reduce/kit/team.cuh"

namespace all_reduce {

// Bytes up to which a way is taken; what one device sends to all others grows with their number.
constexpr std::int64_t kPacketsUpTo = 256 << 10;
constexpr std::int64_t kOneShotUpTo = 512 << 10;

// y of every rank = the sum of all x, in the order of the ranks: with the same bits, whichever rung
// it is. Returns its name.
template <class T>
std::string all_reduce_chosen(const Team<T>& team, std::int64_t n) {
  const std::int64_t sent = n * static_cast<std::int64_t>(sizeof(T)) * (team.size() - 1);
  if (sent <= kPacketsUpTo) {
    all_reduce_packets(team, n);
    return "packets";
  }
  // With two ranks both ways send as much.
  if (sent <= kOneShotUpTo || team.size() == 2) {
    all_reduce_one_shot_push(team, n);
    return "one_shot_push";
  }
  all_reduce_two_shot(team, n);
  return "two_shot";
}

}  // namespace all_reduce
