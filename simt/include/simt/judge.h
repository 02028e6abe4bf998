// For a judge in one program with code that nobody trusts (tools/exercise): what came from where,
// and an end that the code has no part in. Only instrumented programs have it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace simt {

// Bytes that copies have moved so far between the host and device memory, variables included.
struct HostCopies {
  uint64_t to_device, to_host;
};
HostCopies host_copies();

// How many of these bytes differ from those in `before` though no kernel (and no fill with zeros on
// the device) wrote them last; *first is the first of them. On the host that is whatever no copy
// has brought there from such memory.
size_t not_by_kernels(const void* address, const void* before, size_t bytes, size_t* first);

// With SIMT_SEAL in the environment a program reads one word from its standard input, before
// anything else of it runs, and nobody else can. What the engine writes holds it. A kernel of such
// a program may use no variable of the host's, but for constants.
const char* seal();

// Writes the reports and the counts, and ends the program: nothing else of it runs any more.
[[noreturn]] void end_of_program(int status);

}  // namespace simt
