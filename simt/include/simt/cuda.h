// Everything a .cu file sees without including anything, as with nvcc. simt/nvcc includes this file
// in front of every .cu file.
#pragma once

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmath>
#include <new>
#include <utility>

#include "simt/atomics.h"
#include "simt/build_mode.h"
#include "simt/device_heap.h"
#include "simt/discarded.h"
#include "simt/kernel.h"
#include "simt/loads.h"
#include "simt/location.h"
#include "simt/math.h"
#include "simt/ptx.h"
#include "simt/runtime_api.h"
#include "simt/shared.h"
#include "simt/special_functions.h"
#include "simt/state.h"
#include "simt/sync.h"
#include "simt/temporary.h"
#include "simt/textures.h"
#include "simt/unit.h"
#include "simt/vector_types.h"
#include "simt/warp.h"
#include "simt/words.h"

#if SIMT_CUDA == 12
#include "simt/cuda12.h"
#endif

// The include guards of the toolkit's own headers, which programs ask for to learn what is there.
#define __CUDA_RUNTIME_H__
#define __CUDA_RUNTIME_API_H__
#define __DRIVER_TYPES_H__
#define __VECTOR_TYPES_H__
#define __VECTOR_FUNCTIONS_H__
#define __DEVICE_LAUNCH_PARAMETERS_H__
