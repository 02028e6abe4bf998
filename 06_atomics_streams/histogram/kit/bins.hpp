// How many values a byte has.
#pragma once

namespace histogram {

constexpr int kBins = 256;

}  // namespace histogram
