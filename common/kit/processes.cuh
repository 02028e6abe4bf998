// SPDX-License-Identifier: MIT
// One process for each GPU, on one machine or on many, and NCCL between them. Include it only where
// there is an nccl.h.
#pragma once

#include <cuda_runtime.h>
#include <nccl.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <thread>

#include "common/kit/check.cuh"

namespace kit {

inline void check(ncclResult_t result) {
  if (result == ncclSuccess) return;
  throw std::runtime_error(std::string("NCCL: ") + ncclGetErrorString(result));
}

// Which process this is, of how many, and which GPU of its machine is its own: the variables of
// torchrun, mpirun or Slurm say it.
struct Process {
  int rank, size, device;

  static Process from_environment() {
    const int rank = number_of({"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"}, 0);
    return {
        rank, number_of({"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"}, 1),
        number_of({"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"},
                  rank)};
  }

  // The first of these variables that is set, as a number.
  static int number_of(std::initializer_list<const char*> names, int otherwise) {
    for (const char* name : names) {
      if (const char* text = std::getenv(name)) return std::atoi(text);
    }
    return otherwise;
  }
};

// Nobody waits for ever: a process that has died answers nobody, and the others' kernels would wait
// on. Ends this process, with a line and exit status 1, unless something begins within PATIENCE
// seconds (120 if that is not set).
class Watchdog {
 public:
  explicit Watchdog(int rank) {
    const int seconds = Process::number_of({"PATIENCE"}, 120);
    std::thread([this, rank, seconds] {
      for (int seen = -1, waited = 0;; ++waited) {
        if (seen != begun_) waited = 0;
        seen = begun_;
        if (waited == seconds) {
          std::fprintf(stderr, "rank %d: %s: the others have not come within %d s\n", rank,
                       what_.load(), seconds);
          std::_Exit(1);
        }
        std::this_thread::sleep_for(std::chrono::seconds(1));
      }
    }).detach();
  }
  void begin(const char* what) {
    what_ = what;
    ++begun_;
  }

 private:
  std::atomic<const char*> what_{"start"};
  std::atomic<int> begun_{0};
};

// Makes the process's GPU the current one and meets the others: rank 0 listens at MASTER_ADDR, one
// port above MASTER_PORT, which is torchrun's own.
inline ncclComm_t meet(const Process& process) {
  int devices = 0;
  CUDA_CHECK(cudaGetDeviceCount(&devices));
  if (process.device >= devices) {
    throw std::runtime_error("rank " + std::to_string(process.rank) +
                             " needs a GPU of its own: there are " + std::to_string(devices) +
                             " here");
  }
  CUDA_CHECK(cudaSetDevice(process.device));
  const char* const address = std::getenv("MASTER_ADDR");
  const int port = Process::number_of({"MASTER_PORT"}, 29500) + 1;
  const std::string root =
      std::string(address != nullptr ? address : "127.0.0.1") + ":" + std::to_string(port);
  setenv("NCCL_COMM_ID", root.c_str(), 0);
  ncclUniqueId id;
  check(ncclGetUniqueId(&id));
  ncclComm_t team;
  check(ncclCommInitRank(&team, process.size, id, process.rank));
  return team;
}

// main() of a program with one argument, a whole number from `least` to `most`, and `otherwise`
// where it is left out; `what`: what it is. Returns 0 if run(number) says that all was right, 1 if
// not or after an exception, 2 after other arguments.
template <class Run>
int main_with_number(int argc, char** argv, const char* what, long long least, long long most,
                     long long otherwise, Run run) {
  char* end = nullptr;
  const long long number = argc > 1 ? std::strtoll(argv[1], &end, 10) : otherwise;
  if (argc > 2 || number < least || number > most || (end != nullptr && *end != 0)) {
    std::fprintf(stderr, "usage: processes [%s, %lld to %lld]\n", what, least, most);
    return 2;
  }
  try {
    return run(number) ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "processes: %s\n", error.what());
    return 1;
  }
}

}  // namespace kit
