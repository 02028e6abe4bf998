// What a run allocates, for the check before anything is allocated.
#pragma once

namespace bench {

// Bytes that a problem takes, with all that its variants allocate: pristine and working copies, the
// reference, scratch memory. Doubles, which do not overflow.
struct MemoryNeed {
  double host = 0;
  double device = 0;
};

}  // namespace bench
