// SPDX-License-Identifier: MIT
// mbarrier is in tma.cuh, beside the copies that report to it.
#pragma once

#include "common/kit/ptx/tma.cuh"
