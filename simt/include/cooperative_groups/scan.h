#pragma once

#include "cooperative_groups.h"
#include "cooperative_groups/reduce.h"

namespace cooperative_groups {

// The thread of rank r gets values 0 to r, combined in this order.
template <class T, class Operator>
T inclusive_scan(const lane_group& group, T value, Operator op,
                 simt::Location at = simt::Location::here()) {
  for (unsigned distance = 1; distance < group.size(); distance *= 2) {
    T earlier = group.shfl_up(value, distance, at);
    if (group.thread_rank() >= distance) value = op(earlier, value);
  }
  return value;
}
template <class T>
T inclusive_scan(const lane_group& group, T value, simt::Location at = simt::Location::here()) {
  return inclusive_scan(group, value, plus<T>(), at);
}

// The same without the thread's own value; rank 0 gets T().
template <class T, class Operator>
T exclusive_scan(const lane_group& group, T value, Operator op,
                 simt::Location at = simt::Location::here()) {
  T earlier = group.shfl_up(inclusive_scan(group, value, op, at), 1, at);
  return group.thread_rank() == 0 ? T() : earlier;
}
template <class T>
T exclusive_scan(const lane_group& group, T value, simt::Location at = simt::Location::here()) {
  return exclusive_scan(group, value, plus<T>(), at);
}

}  // namespace cooperative_groups
