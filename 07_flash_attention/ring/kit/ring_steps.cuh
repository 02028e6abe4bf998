// The ring: who sends which keys and values to whom, and what waits for what.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/ring/kit/team.cuh"
#include "common/kit/check.cuh"

namespace ring_attention {

// region ring_steps
// In step s every rank has the shard of the rank s before it at hand: in step 0 its own, then what
// has come to its inbox. Calls compute(rank, step, keys, values, stream) with the rank's device as
// the current one; meanwhile the copy engine takes that shard on to the next rank. The inbox has
// two slots: one is computed with, the other one is filled.
template <class T, class Compute>
void for_each_step(const Team<T>& team, Compute compute) {
  const int size = team.size();
  const auto next = [size](int rank) { return (rank + 1) % size; };
  const auto at_hand = [&](int rank, int step) {
    return step == 0 ? team.shards[rank].kv : team.inbox(rank, (step - 1) % 2);
  };
  // What was asked of both ranks before comes first: it may still use the inbox.
  record(team.devices);
  for (int rank = 0; rank < size; ++rank) {
    wait(team.copies.streams[rank], team.devices, rank);
    wait(team.copies.streams[rank], team.devices, next(rank));
  }

  for (int step = 0; step < size; ++step) {
    const bool is_last = step == size - 1;
    for (int rank = 0; rank < size && !is_last; ++rank) {
      const std::int64_t count = 2 * team.keys(team.sharding.owner(rank, step));
      if (count == 0) continue;
      CUDA_CHECK(cudaMemcpyAsync(team.inbox(next(rank), step % 2), at_hand(rank, step),
                                 count * sizeof(T), cudaMemcpyDefault, team.copies.streams[rank]));
    }
    for_each_rank(team.devices, [&](int rank, cudaStream_t stream) {
      const T* const keys = at_hand(rank, step);
      compute(rank, step, keys, keys + team.keys(team.sharding.owner(rank, step)), stream);
    });
    record(team.copies);
    record(team.devices);
    for (int rank = 0; rank < size && !is_last; ++rank) {
      // The shard has come: now the next rank computes with it, and sends it on.
      wait(team.devices.streams[next(rank)], team.copies, rank);
      wait(team.copies.streams[next(rank)], team.copies, rank);
      // The next copy goes where the next rank has read until now, for itself and to send on.
      wait(team.copies.streams[rank], team.devices, next(rank));
      wait(team.copies.streams[rank], team.copies, next(rank));
    }
  }
  // Who waits for the rank's stream has waited for its copies, too.
  for (int rank = 0; rank < size; ++rank) wait(team.devices.streams[rank], team.copies, rank);
}
// endregion

}  // namespace ring_attention
