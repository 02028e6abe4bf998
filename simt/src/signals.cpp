// The signals that turn a fault in a kernel into an error of the launch.

#include <signal.h>
#include <ucontext.h>

#include <cstdlib>

#include "faults.h"
#include "simt/runtime_types.h"
#include "worker.h"

namespace simt {
namespace {

const void* program_counter(const ucontext_t& context) {
#if defined(__x86_64__)
  return reinterpret_cast<const void*>(context.uc_mcontext.gregs[REG_RIP]);
#else
  return reinterpret_cast<const void*>(context.uc_mcontext.pc);
#endif
}

bool was_write([[maybe_unused]] const ucontext_t& context) {
#if defined(__x86_64__)
  return context.uc_mcontext.gregs[REG_ERR] & 2;
#else
  return false;
#endif
}

void on_fault(int signal, siginfo_t* info, void* context) {
  const auto& machine = *static_cast<const ucontext_t*>(context);
  const bool in_kernel = state.worker && state.block && state.worker->in_kernel();
  const bool is_write = was_write(machine);
  const bool told = observer && signal != SIGFPE &&
                    observer->fault(info->si_addr, program_counter(machine), is_write);
  if (!in_kernel) {
    if (!told && in_device_range(info->si_addr))
      report("host code touched device memory: " + describe_address(info->si_addr));
    ::signal(signal, SIG_DFL);  // and die of it as usual
    return;
  }
  if (signal == SIGFPE) {
    report({"division", describe_current_thread() + ": integer division by zero",
            cudaErrorLaunchFailure});
    fail_kernel(cudaErrorLaunchFailure);
  }
  char* address = static_cast<char*>(info->si_addr);
  const size_t guard = 4096;
  const Fiber* fiber = state.worker->running_fiber();
  if (fiber && address < fiber->low && address >= fiber->low - guard) {
    report({"stack",
            describe_current_thread() +
                ": local variables or recursion overflow the thread's stack (SIMT_STACK_KB)",
            cudaErrorLaunchFailure});
    fail_kernel(cudaErrorLaunchFailure);
  }
#if defined(__x86_64__)
  // The processor names no address: 16 bytes or more at an address that is no multiple of them.
  if (!told && !address && info->si_code == SI_KERNEL) {
    report({"misaligned",
            describe_current_thread() + ": misaligned access of 16 bytes or more (a build with " +
                "SIMT_CHECK=1 says where)",
            cudaErrorMisalignedAddress});
    fail_kernel(cudaErrorMisalignedAddress);
  }
#endif
  if (!told)
    report({"memory",
            describe_current_thread() + ": illegal " + (is_write ? "write: " : "read: ") +
                describe_address(address),
            cudaErrorIllegalAddress});
  fail_kernel(cudaErrorIllegalAddress);
}

}  // namespace

void install_fault_handlers() {
  struct sigaction action = {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE}) sigaction(signal, &action, nullptr);
}

void use_alternate_stack() {
  constexpr size_t bytes = 64 * 1024;
  stack_t stack = {};
  stack.ss_sp = malloc(bytes);  // as long as the OS thread, so never freed
  stack.ss_size = bytes;
  sigaltstack(&stack, nullptr);
}

}  // namespace simt
