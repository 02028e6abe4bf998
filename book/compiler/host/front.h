// What stands in front of every program of the page; compiled once, when the book is built.
#include "places.h"
#include "simt/frontend/keywords.h"

#include <simt/cuda.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <vector>
