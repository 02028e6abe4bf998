// Loads and stores that say how the caches should treat them. There are no caches here, so they are
// plain loads and stores.
#pragma once

#include "simt/build_mode.h"

#define SIMT_LOAD(name)                  \
  template <class T>                     \
  SIMT_INLINE T name(const T* address) { \
    SIMT_NOTE(read, address, sizeof(T)); \
    return *address;                     \
  }
SIMT_LOAD(__ldg)
SIMT_LOAD(__ldca)
SIMT_LOAD(__ldcg)
SIMT_LOAD(__ldcs)
SIMT_LOAD(__ldlu)
SIMT_LOAD(__ldcv)
#undef SIMT_LOAD

#define SIMT_STORE(name)                                  \
  template <class T, class Value>                         \
  SIMT_INLINE void name(T* address, const Value& value) { \
    SIMT_NOTE(write, address, sizeof(T));                 \
    *address = value;                                     \
  }
SIMT_STORE(__stwb)
SIMT_STORE(__stcg)
SIMT_STORE(__stcs)
SIMT_STORE(__stwt)
#undef SIMT_STORE
