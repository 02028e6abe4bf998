// The one difference between a plain and an instrumented build, as our own headers see it.
//
// In an instrumented build the compiler reports every memory access of the user's code to the
// observer. Our inline helpers must not show up among them: they are kept out of the
// instrumentation and out of line, and they report the access that the user meant, under the user's
// return address.
#pragma once

#if defined(__SANITIZE_THREAD__)
#define SIMT_INSTRUMENTED 1
#define SIMT_UNWATCHED __attribute__((no_sanitize("thread"), no_sanitize_coverage, noinline))
#else
#define SIMT_INSTRUMENTED 0
#define SIMT_UNWATCHED
#endif
#define SIMT_INLINE \
  inline SIMT_UNWATCHED  // for lambdas, which inherit nothing: SIMT_UNWATCHED alone

// For helpers that take a half, a pair and the like by value. g++ reports no load of a structure
// that goes from memory straight into a call; compiled into the user's code, the call is a copy,
// which is reported.
#if SIMT_INSTRUMENTED
#define SIMT_BY_VALUE inline __attribute__((always_inline))
#else
#define SIMT_BY_VALUE inline
#endif

namespace simt {

// For which threads an atomic operation or a fence is made: those of its block, of the device, all.
enum class Scope : unsigned char { kBlock, kDevice, kSystem };

// To the observer, if there is one.
void note_read(const void* address, unsigned bytes, const void* pc);
void note_write(const void* address, unsigned bytes, const void* pc);
void note_atomic(const void* address, unsigned bytes, const void* pc, Scope scope);
void note_atomic_cas(const void* address, unsigned bytes, const void* pc, Scope scope);
void note_atomic_overwrite(const void* address, unsigned bytes, const void* pc, Scope scope);
void note_atomic_load(const void* address, unsigned bytes, const void* pc, Scope scope);
void note_atomic_store(const void* address, unsigned bytes, const void* pc, Scope scope);
// The atomic operation that follows publishes what the thread has written before.
void note_release(Scope scope);
// The atomic operation just before has received what it found published.
void note_acquire(Scope scope);

}  // namespace simt

#if SIMT_INSTRUMENTED
#define SIMT_NOTE(what, address, bytes) \
  ::simt::note_##what((const void*)(address), unsigned(bytes), __builtin_return_address(0))
#define SIMT_NOTE_FOR(caller, what, address, bytes) \
  ::simt::note_##what((const void*)(address), unsigned(bytes), caller)
// what: atomic, atomic_cas, atomic_overwrite, atomic_load or atomic_store
#define SIMT_NOTE_ATOMIC(what, address, bytes, scope) \
  ::simt::note_##what((const void*)(address), unsigned(bytes), __builtin_return_address(0), scope)
#define SIMT_NOTE_RELEASE(scope) ::simt::note_release(scope)
#define SIMT_NOTE_ACQUIRE(scope) ::simt::note_acquire(scope)
#else
#define SIMT_NOTE(what, address, bytes) ((void)0)
#define SIMT_NOTE_FOR(caller, what, address, bytes) ((void)(caller))
#define SIMT_NOTE_ATOMIC(what, address, bytes, scope) ((void)0)
#define SIMT_NOTE_RELEASE(scope) ((void)0)
#define SIMT_NOTE_ACQUIRE(scope) ((void)0)
#endif
