// See condition_variable.
#pragma once

typedef int cpu_set_t;
#define CPU_COUNT(set) 1
inline int sched_getaffinity(int, unsigned, cpu_set_t*) { return 0; }
namespace simt {
void work_a_little();
}
inline int sched_yield() {
  simt::work_a_little();
  return 0;
}
