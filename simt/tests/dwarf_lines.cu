// The program finds its own source lines.
#include "simt/src/dwarf_lines.h"

#include "tests/catch.hpp"

namespace {

__attribute__((noinline)) simt::SourceLine line_of_caller() {
  const void* pc = __builtin_return_address(0);
  return simt::line_of_return_address(simt::relative_pc(pc, simt::program_base()));
}

}  // namespace

TEST_CASE("a return address leads to file, line and column of the call") {
  const simt::SourceLine here = line_of_caller();
  CHECK(here.line == __LINE__ - 1);
  CHECK(here.file.find("dwarf_lines.cu") != std::string::npos);
  CHECK(here.column > 0);
  const simt::SourceLine left = line_of_caller(), right = line_of_caller();
  CHECK(left.line == right.line);
  CHECK(left.column < right.column);
  CHECK(simt::to_string(here) == here.file + ":" + std::to_string(here.line));
}

TEST_CASE("an address outside of the program has no line") {
  CHECK(simt::line_of_instruction(0xfffffff0u).file.empty());
  CHECK(simt::to_string(simt::line_of_instruction(0xfffffff0u)) == "unknown line");
}
