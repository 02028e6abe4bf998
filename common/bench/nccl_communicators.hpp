// NCCL's communicators for the devices of this process. Include it only where
// __has_include(<nccl.h>).
#pragma once

#include <nccl.h>

#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace bench {

inline void check_nccl(ncclResult_t result) {
  if (result == ncclSuccess) return;
  throw std::runtime_error(std::string("NCCL: ") + ncclGetErrorString(result));
}

// One for each device, 0 to size - 1.
class NcclCommunicators {
 public:
  // NVLink multicast, which none of our rungs uses, stays off unless the environment says so.
  explicit NcclCommunicators(int size) : of_rank_(size) {
    setenv("NCCL_NVLS_ENABLE", "0", 0);
    check_nccl(ncclCommInitAll(of_rank_.data(), size, nullptr));
  }
  ~NcclCommunicators() {
    for (ncclComm_t communicator : of_rank_) ncclCommDestroy(communicator);
  }
  NcclCommunicators(const NcclCommunicators&) = delete;
  NcclCommunicators& operator=(const NcclCommunicators&) = delete;

  int size() const { return static_cast<int>(of_rank_.size()); }

  // call(rank, communicator) for every rank, as one group.
  template <class Call>
  void group(Call call) const {
    check_nccl(ncclGroupStart());
    for (int rank = 0; rank < size(); ++rank) check_nccl(call(rank, of_rank_[rank]));
    check_nccl(ncclGroupEnd());
  }

 private:
  std::vector<ncclComm_t> of_rank_;
};

// Of so many devices: made once, since that takes a second, and kept until the program ends.
inline const NcclCommunicators& nccl_communicators(int size) {
  static std::unique_ptr<NcclCommunicators> made;
  if (!made || made->size() != size) {
    made.reset();
    made = std::make_unique<NcclCommunicators>(size);
  }
  return *made;
}

}  // namespace bench
