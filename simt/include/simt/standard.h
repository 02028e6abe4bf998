// cuda::std: the host's standard library, for whose functions simt's device code is host code.
#pragma once

#include <utility>

namespace cuda {
namespace std {
using namespace ::std;
}  // namespace std
}  // namespace cuda
