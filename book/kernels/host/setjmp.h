// Only named in a structure of simt's that a page does not use.
#pragma once

typedef int sigjmp_buf;
