// A place in the code of a page: see page.cpp.
#pragma once
#include <stdint.h>

extern "C" uintptr_t simt_site;
namespace simt {
void* page_frame();
void go_on();
}  // namespace simt
