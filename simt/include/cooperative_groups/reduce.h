#pragma once

#include "cooperative_groups.h"

namespace cooperative_groups {

template <class T>
struct plus {
  T operator()(T a, T b) const { return a + b; }
};
template <class T>
struct less {  // the lesser of two
  T operator()(T a, T b) const { return b < a ? b : a; }
};
template <class T>
struct greater {
  T operator()(T a, T b) const { return a < b ? b : a; }
};
template <class T>
struct bit_and {
  T operator()(T a, T b) const { return a & b; }
};
template <class T>
struct bit_or {
  T operator()(T a, T b) const { return a | b; }
};
template <class T>
struct bit_xor {
  T operator()(T a, T b) const { return a ^ b; }
};

// Every thread gets the total, combined in the order of the ranks.
template <class T, class Operator>
T reduce(const lane_group& group, T value, Operator op,
         simt::Location at = simt::Location::here()) {
  return simt::reduce("cooperative_groups::reduce", group.lanes(), value, op, at);
}

// Adds the group's total to an atomic.
template <class Atomic, class T, class Operator>
void reduce_update_async(const lane_group& group, Atomic& target, T value, Operator op) {
  T total = reduce(group, value, op);
  if (group.thread_rank() == 0) target.fetch_add(total);
}

}  // namespace cooperative_groups
