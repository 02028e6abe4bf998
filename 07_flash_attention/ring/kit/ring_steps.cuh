// The ring: who sends which keys and values to whom, and what waits for what.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/ring/kit/team.cuh"
#include "common/kit/check.cuh"

namespace ring_attention {

// region ring_steps
// What a rank computes with in a step: its own shard, then what has come.
template <class T>
const T* shard_at_hand(const Team<T>& team, int rank, int step) {
  return step == 0 ? team.shards[rank].kv : team.inbox(rank, (step - 1) % 2);
}
// Between two steps, on the devices: a shard has come, and a slot is free.
template <class T>
void wait_between_steps(const Team<T>& team) {
  record(team.copies);
  record(team.devices);
  for (int rank = 0; rank < team.size(); ++rank) {
    const int next = team.next(rank);
    // The shard has come: now the next rank computes with it, and sends it on.
    wait(team.devices.streams[next], team.copies, rank);
    wait(team.copies.streams[next], team.copies, rank);
    // The next copy goes where the next rank has read until now, for itself and to send on.
    wait(team.copies.streams[rank], team.devices, next);
    wait(team.copies.streams[rank], team.copies, next);
  }
}
// Who waits for a rank's stream has waited for its copies, too.
template <class T>
void wait_for_copies(const Team<T>& team) {
  record(team.copies);
  for (int rank = 0; rank < team.size(); ++rank) {
    wait(team.devices.streams[rank], team.copies, rank);
  }
}

// In step s every rank has the shard of the rank s before it at hand: in step 0 its own, then what
// has come to its inbox. Calls compute(rank, step, keys, values, stream) with the rank's device as
// the current one; meanwhile the copy engine takes that shard on to the next rank. The inbox has
// two slots: one is computed with, the other one is filled.
template <class T, class Compute>
void for_each_step(const Team<T>& team, Compute compute) {
  const int size = team.size();
  // What was asked of both ranks before comes first: it may still use the inbox.
  record(team.devices);
  for (int rank = 0; rank < size; ++rank) {
    wait(team.copies.streams[rank], team.devices, rank);
    wait(team.copies.streams[rank], team.devices, team.next(rank));
  }

  for (int step = 0; step < size; ++step) {
    const bool is_last = step == size - 1;
    for (int rank = 0; rank < size && !is_last; ++rank) {
      const std::int64_t count = 2 * team.keys(team.sharding.owner(rank, step));
      if (count == 0) continue;
      CUDA_CHECK(cudaMemcpyAsync(team.inbox(team.next(rank), step % 2),
                                 shard_at_hand(team, rank, step), count * sizeof(T),
                                 cudaMemcpyDefault, team.copies.streams[rank]));
    }
    for_each_rank(team.devices, [&](int rank, cudaStream_t stream) {
      const T* const keys = shard_at_hand(team, rank, step);
      compute(rank, step, keys, keys + team.keys(team.sharding.owner(rank, step)), stream);
    });
    if (!is_last) wait_between_steps(team);
  }
  wait_for_copies(team);
}
// endregion

}  // namespace ring_attention
