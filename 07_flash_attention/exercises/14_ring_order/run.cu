// Runs exercise 07/ring_order on one case.
#include <string>
#include <vector>

#include "tools/exercise/stages.hpp"
#include EXERCISE_FILE

__global__ void compute_kernel(const int* at_hand, int* out, int rank) {
  out[threadIdx.x] = 3 * at_hand[threadIdx.x] + rank;
}

// x: of every rank `count` numbers. y: of every rank its result with the numbers of each rank.
class Ring {
 public:
  Ring(exercise::Stages& stages, const int* x, int* y, int ranks, int count)
      : stages_(stages), x_(x), y_(y), ranks_(ranks), count_(count) {
    exercise::require(cudaMalloc(&inbox_, 2 * ranks * bytes()), "cudaMalloc");
  }
  void send(int rank, int step, cudaStream_t stream) {
    const int next = (rank + 1) % ranks_;
    stages_.add(name("copy", rank, step), stream, used(rank, step), slot_bit(next, step % 2), [&] {
      cudaMemcpyAsync(slot(next, step % 2), at_hand(rank, step), bytes(), cudaMemcpyDeviceToDevice,
                      stream);
    });
  }
  void compute(int rank, int step, int owner, cudaStream_t stream) {
    if (owner < 0 || owner >= ranks_) throw std::runtime_error("there is no such owner");
    stages_.add(name("kernel", rank, step), stream, used(rank, step), 0, [&] {
      compute_kernel<<<1, count_, 0, stream>>>(at_hand(rank, step),
                                               y_ + (rank * ranks_ + owner) * count_, rank);
    });
  }

 private:
  static std::string name(const std::string& what, int rank, int step) {
    return "the " + what + " of rank " + std::to_string(rank) + " in step " + std::to_string(step);
  }
  static std::uint32_t slot_bit(int rank, int slot) { return 1u << (2 * rank + slot); }
  static std::uint32_t used(int rank, int step) {
    return step == 0 ? 0 : slot_bit(rank, (step - 1) % 2);
  }
  int* slot(int rank, int slot) const { return inbox_ + (2 * rank + slot) * count_; }
  const int* at_hand(int rank, int step) const {
    return step == 0 ? x_ + rank * count_ : slot(rank, (step - 1) % 2);
  }
  std::size_t bytes() const { return count_ * sizeof(int); }

  exercise::Stages& stages_;
  const int* x_;
  int* y_;
  int ranks_, count_;
  int* inbox_ = nullptr;
};

int main(int argc, char** argv) {
  return exercise::run(argc, argv, [](exercise::Case& c) {
    const int ranks = static_cast<int>(c.size("ranks"));
    exercise::Stages stages(2 * ranks);
    Ring ring(stages, c.device<int>("x"), c.device<int>("y"), ranks,
              static_cast<int>(c.size("count")));
    std::vector<cudaEvent_t> events(2 * ranks * ranks);
    for (cudaEvent_t& event : events) {
      exercise::require(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "event");
    }
    std::vector<cudaEvent_t*> sent(ranks), computed(ranks);
    for (int rank = 0; rank < ranks; ++rank) {
      sent[rank] = &events[2 * rank * ranks];
      computed[rank] = sent[rank] + ranks;
    }
    stages.record();
    go_round(ring, ranks, stages.streams(), stages.streams() + ranks, sent.data(), computed.data());
    if (c.size("orders") != 0 && stages.orders() > c.size("orders")) {
      throw std::runtime_error("something waits for work with which it shares no memory");
    }
    c.host<int>("longest_chain")[0] = stages.run();
  });
}
