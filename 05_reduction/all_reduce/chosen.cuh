// The last page of the ladder: which rung a library would take.
#pragma once

#include <cstdint>
#include <string>

#include "05_reduction/all_reduce/07_one_shot_push.cuh"
#include "05_reduction/all_reduce/08_packets.cuh"
#include "05_reduction/all_reduce/09_two_shot.cuh"
#include "05_reduction/all_reduce/10_pieces.cuh"
#include "05_reduction/all_reduce/kit/team.cuh"

namespace all_reduce {

// Bytes that one device sends to all others in one shot, up to which a way is taken. Measured with
// two H200; a trip more costs as much as so many bytes.
constexpr std::int64_t kPacketsUpTo = 512 << 10;
constexpr std::int64_t kOneShotUpTo = 2 << 20;
// Bytes of an array from which copy engines pay.
constexpr std::int64_t kPiecesFrom = 128 << 20;

// y of every rank = the sum of all x, in the order of the ranks: with the same bits, whichever rung
// it is. Returns its name.
template <class T>
std::string all_reduce_chosen(const Team<T>& team, std::int64_t n) {
  const std::int64_t sent = n * static_cast<std::int64_t>(sizeof(T)) * (team.size() - 1);
  if (sent <= kPacketsUpTo) {
    all_reduce_packets(team, n);
    return "packets";
  }
  if (sent <= kOneShotUpTo) {
    all_reduce_one_shot_push(team, n);
    return "one_shot_push";
  }
  if (n * static_cast<std::int64_t>(sizeof(T)) >= kPiecesFrom) {
    all_reduce_pieces(team, n);
    return "pieces";
  }
  all_reduce_two_shot(team, n);
  return "two_shot";
}

}  // namespace all_reduce
