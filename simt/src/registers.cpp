// setmaxnreg: registers that change hands between the warpgroups of a block. g++ allocates none of
// a GPU's, so all that can be known is whether what the warpgroups ask for is there at all: on a
// GPU the one that asks for too much waits for ever.

#include <algorithm>

#include "async.h"
#include "faults.h"
#include "limits.h"
#include "simt/ptx.h"
#include "simt/runtime_types.h"

namespace simt {
namespace {

constexpr unsigned kMostOfAThread = 255;

// Per thread, as ptxas hands them out where setmaxnreg is used: all that there are, in eights.
unsigned registers_at_start(const Block& b) {
  const unsigned blocks = unsigned(std::max(1, b.launch->kernel->bounds.min_blocks));
  return std::min(kMostOfAThread,
                  unsigned(kRegistersPerMultiprocessor) / blocks / b.thread_count / 8 * 8);
}

void end_launch(Block& b, const std::string& what, Location at) {
  report({"setmaxnreg",
          std::string("kernel ") + b.launch->name() + ": " + what + " at " + at.file + ":" +
              std::to_string(at.line),
          cudaErrorLaunchTimeout, at, &b});
  abort_launch(*b.launch, cudaErrorLaunchTimeout);
}

}  // namespace

void check_registers(Block& b) {
  const std::vector<RegisterRequest>& requests = b.async->registers;
  const unsigned start = registers_at_start(b);
  unsigned sum = 0, whole = 0;
  std::string terms;
  const RegisterRequest* most = nullptr;
  for (unsigned first = 0; first < b.thread_count; first += kWarpgroupThreads) {
    const unsigned end = std::min(first + kWarpgroupThreads, b.thread_count);
    const RegisterRequest* asked = nullptr;
    unsigned missing = 0;
    for (unsigned i = first; i < end; ++i) {
      if (requests[i].count == 0)
        ++missing;
      else
        asked = &requests[i];
    }
    if (asked && missing) {
      end_launch(b,
                 "setmaxnreg by some threads of a warpgroup only: " + std::to_string(missing) +
                     " of " + std::to_string(end - first) + " never came",
                 asked->at);
      return;
    }
    const unsigned count = asked ? asked->count : start;
    sum += count;
    whole += start;
    terms += (terms.empty() ? "" : " + ") + std::to_string(count);
    if (asked && (!most || count > most->count)) most = asked;
  }
  if (most && sum > whole)
    end_launch(b,
               "setmaxnreg beyond what there is: the warpgroups ask for " + terms +
                   " registers a thread, and start with " + std::to_string(start) + " each",
               most->at);
}

namespace ptx {

void set_max_registers(unsigned count, bool, Location at) {
  if (count < 24 || count > 256 || count % 8 != 0)
    refuse_instruction("setmaxnreg",
                       "setmaxnreg of " + std::to_string(count) +
                           " registers, which is no multiple of 8 from 24 to 256",
                       at, cudaErrorIllegalInstruction);
  BlockAsync& async = async_of(*state.block);
  if (async.registers.empty()) async.registers.resize(kMaxThreads);
  async.registers[state.thread] = {count, at};
}

}  // namespace ptx
}  // namespace simt
