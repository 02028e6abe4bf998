// From a code address to the source line: reads the line table that `g++ -g` leaves in the program
// (section .debug_line, DWARF versions 2 to 5), once, when the first address is asked for.
#pragma once

#include <cstdint>
#include <string>

namespace simt {

struct SourceLine {
  std::string file;  // as it was given to the compiler; empty: not known
  unsigned line = 0;
  unsigned column = 0;
};

// The 32-bit code addresses used in records are relative to where the program was loaded.
uint64_t program_base();
inline uint32_t relative_pc(const void* pc, uint64_t base) {
  return static_cast<uint32_t>(reinterpret_cast<uint64_t>(pc) - base);
}

// The line of the call that returns to `pc` (a relative address). Safe from any thread.
SourceLine line_of_return_address(uint32_t pc);
// The line of the instruction at `pc`.
SourceLine line_of_instruction(uint32_t pc);

// "file:line", or "unknown line".
std::string to_string(const SourceLine& line);

}  // namespace simt
