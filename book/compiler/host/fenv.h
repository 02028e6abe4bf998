// WebAssembly rounds to nearest only. No kernel of the page asks for another mode.
#pragma once
#include_next <fenv.h>

#define FE_DOWNWARD 1
#define FE_UPWARD 2
#define FE_TOWARDZERO 3
