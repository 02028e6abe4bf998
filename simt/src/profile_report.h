// The counters as a table for people and as JSON for programs.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "simt/profile.h"

namespace simt {

void print_profiles(FILE* out, const std::vector<KernelProfile>& kernels);
// False, after a line on stderr, if the file could not be written.
bool write_profiles_json(const std::string& path, const std::vector<KernelProfile>& kernels);

}  // namespace simt
