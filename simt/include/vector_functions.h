#pragma once
#include "simt/cuda.h"
