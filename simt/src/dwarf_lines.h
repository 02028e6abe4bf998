// From a code address to the source line: reads the line table that `g++ -g` leaves in the program
// (section .debug_line, DWARF versions 2 to 5), once, when the first address is asked for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

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

// A file by its number in the compilation unit whose lines begin at this offset of .debug_line.
std::string file_of_unit(uint64_t offset, uint64_t number);

// ---- dwarf_calls.cpp

// Where the functions were called that the compiler has put into one another at the call that
// returns to `pc`, the innermost first. Known of what g++ wrote in DWARF 5, as it does by itself.
std::vector<SourceLine> inlined_calls(uint32_t pc);
// The lines of the calls that have led the running thread here, the innermost first, without simt's
// own.
std::vector<SourceLine> lines_of_calls();

// "file:line", or "unknown line".
std::string to_string(const SourceLine& line);

}  // namespace simt
