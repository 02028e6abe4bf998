// The row to compare with: NCCL.
#pragma once

#include <cuda_runtime.h>

#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "05_reduction/all_reduce/problem.cuh"
#include "common/bench/variant.cuh"

#if __has_include(<nccl.h>)
#include <nccl.h>
#endif

namespace all_reduce {

#if __has_include(<nccl.h>)
inline void check_nccl(ncclResult_t result) {
  if (result == ncclSuccess) return;
  throw std::runtime_error(std::string("NCCL: ") + ncclGetErrorString(result));
}

// One communicator for each device of this process.
class Communicators {
 public:
  // NVLink multicast, which none of our rungs uses, stays off unless the environment says so.
  explicit Communicators(int size) : of_rank_(size) {
    setenv("NCCL_NVLS_ENABLE", "0", 0);
    check_nccl(ncclCommInitAll(of_rank_.data(), size, nullptr));
  }
  ~Communicators() {
    for (ncclComm_t communicator : of_rank_) ncclCommDestroy(communicator);
  }
  Communicators(const Communicators&) = delete;
  Communicators& operator=(const Communicators&) = delete;

  // region nccl_all_reduce
  template <class T>
  void all_reduce(const Team<T>& team, std::int64_t n) const {
    const ncclDataType_t type = std::is_same_v<T, float> ? ncclFloat : ncclBfloat16;
    check_nccl(ncclGroupStart());
    for (int rank = 0; rank < team.size(); ++rank) {
      check_nccl(ncclAllReduce(team.peers.x[rank], team.peers.y[rank], n, type, ncclSum,
                               of_rank_[rank], team.streams[rank]));
    }
    check_nccl(ncclGroupEnd());
  }
  // endregion
  int size() const { return static_cast<int>(of_rank_.size()); }

 private:
  std::vector<ncclComm_t> of_rank_;
};

// Of so many devices: made once, since that takes a second, and kept until the program ends.
inline const Communicators& communicators(int size) {
  static std::unique_ptr<Communicators> made;
  if (!made || made->size() != size) {
    made.reset();
    made = std::make_unique<Communicators>(size);
  }
  return *made;
}
#endif

template <class T>
bench::Variant<AllReduce<T>> nccl_peer() {
#if __has_include(<nccl.h>)
  return in_any_order(
      bench::peer<AllReduce<T>>("nccl", "ncclAllReduce", [](AllReduce<T>& p, cudaStream_t stream) {
        p.with_team(stream,
                    [&](const Team<T>& team) { communicators(team.size()).all_reduce(team, p.n); });
      }));
#else
  return bench::missing_peer<AllReduce<T>>("nccl", "ncclAllReduce", "needs NCCL (nccl.h)");
#endif
}

}  // namespace all_reduce
