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
// two and with four H200; a trip more costs as much as so many bytes.
constexpr std::int64_t kPacketsUpTo = 512 << 10;
constexpr std::int64_t kOneShotUpTo = 2 << 20;
// Bytes of an array from which copy engines pay, between two devices. With four each engine has
// three copies for each piece: at 256 MiB they win nothing, and 1 GiB takes 5.4 ms instead of 4.6.
constexpr std::int64_t kPiecesFrom = 128 << 20;
constexpr int kPiecesRanks = 2;

// The fastest rung for arrays of so many bytes.
inline std::string fastest(std::int64_t bytes, int ranks) {
  const std::int64_t sent = bytes * (ranks - 1);
  if (sent <= kPacketsUpTo) return "packets";
  if (sent <= kOneShotUpTo) return "one_shot_push";
  return ranks <= kPiecesRanks && bytes >= kPiecesFrom ? "pieces" : "two_shot";
}

// y of every rank = the sum of all x, in the order of the ranks: with the same bits, whichever rung
// it is. Returns its name.
template <class T>
std::string all_reduce_chosen(const Team<T>& team, std::int64_t n) {
  const std::string rung = fastest(n * static_cast<std::int64_t>(sizeof(T)), team.size());
  if (rung == "packets") all_reduce_packets(team, n);
  if (rung == "one_shot_push") all_reduce_one_shot_push(team, n);
  if (rung == "two_shot") all_reduce_two_shot(team, n);
  if (rung == "pieces") all_reduce_pieces(team, n);
  return rung;
}

}  // namespace all_reduce
