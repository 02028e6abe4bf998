#!/usr/bin/env bash
# Says what this machine has and, in plain words, what can be done with it.
set -uo pipefail
set -f # what a program says is text, no pattern of files

usage() {
  cat <<'TEXT'
usage: tools/doctor.sh

Lists what this machine has, with versions, and what can be done with it.
Changes nothing. Exit 1 only if a tool that everything needs is missing or too
old.
TEXT
}

case ${1:-} in
  --help | -h)
    usage
    exit 0
    ;;
esac
if (($#)); then
  echo "doctor.sh: takes no arguments, got: $*" >&2
  exit 2
fi

# The CUDA Toolkit installs itself there and leaves PATH to the reader.
PATH=$PATH:${CUDA_HOME:-/usr/local/cuda}/bin

missing=()
outdated=()

# lines INDENT TEXT: TEXT in lines of at most 80 columns, all behind the first INDENT blanks in.
lines() {
  local indent=$1 line word
  shift
  line=
  for word in $*; do
    if ((indent + ${#line} + ${#word} + 1 > 80)) && [[ -n $line ]]; then
      printf '%s\n%*s' "$line" "$indent" ''
      line=
    fi
    line+=${line:+ }$word
  done
  printf '%s\n' "$line"
}

row() { printf '  %-18s %s\n' "$1" "$(lines 21 "$2")"; }
have() { command -v "$1" >/dev/null 2>&1; }

# first_version COMMAND...: the first dotted number in what the command prints.
first_version() { "$@" 2>&1 | grep -oE '[0-9]+(\.[0-9]+)+' | head -1; }

# required NAME COMMAND LEAST WHY: LEAST is the oldest version that works, or empty.
required() {
  local name=$1 command=$2 least=$3 why=$4 version
  if ! have "$command"; then
    row "$name" "MISSING (needed for $why); ./setup.sh installs it"
    missing+=("$name")
    return
  fi
  version=$(first_version "$command" --version)
  if [[ -n $least && $(printf '%s\n' "$least" "$version" | sort -V | head -1) != "$least" ]]; then
    row "$name" "$version is TOO OLD: $least or newer is needed for $why"
    outdated+=("$name")
  else
    row "$name" "${version:-found, version unknown}"
  fi
}

# optional NAME COMMAND WHY
optional() {
  if have "$2"; then
    row "$1" "$(first_version "$2" --version)"
  else
    row "$1" "not installed (optional: $3)"
  fi
}

# preprocessed: stdin through the preprocessor, comments and line marks gone.
preprocessed() { g++ -std=c++17 -E -P -x c++ - 2>/dev/null; }

catch2_version() {
  preprocessed <<'CODE' | sed -n 's/^catch2_version //p' | tr -d ' '
#if __has_include(<catch2/catch_version_macros.hpp>)
#include <catch2/catch_version_macros.hpp>
#elif __has_include(<catch2/catch.hpp>)
#define CATCH_CONFIG_PREFIX_ALL
#include <catch2/catch.hpp>
#endif
#ifdef CATCH_VERSION_MAJOR
catch2_version CATCH_VERSION_MAJOR . CATCH_VERSION_MINOR . CATCH_VERSION_PATCH
#endif
CODE
}

echo "This machine" || exit 1 # nobody can read it: the disk is full, say
system=$(sed -n 's/^PRETTY_NAME="\{0,1\}\([^"]*\)"\{0,1\}$/\1/p' /etc/os-release 2>/dev/null)
row "system" "${system:-$(uname -sr)}"
cpu=$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo 2>/dev/null | head -1)
row "processor" "${cpu:-$(uname -m)}, $(nproc) cores usable"
row "memory" "$(awk '/^MemTotal/ {printf "%.1f GiB", $2 / 1048576}' /proc/meminfo 2>/dev/null)"

echo
echo "Needed by everything"
required "g++" g++ 11 "compiling the host code"
required "make" make "" "every command of this repository"
required "python3" python3 3.10 "simt and the scripts behind make check and make bench"

echo
echo "Needed by a part"
catch2=$(catch2_version)
if [[ -n $catch2 ]]; then
  row "Catch2" "$catch2 (major version ${catch2%%.*})"
else
  row "Catch2" "not installed (optional: needed for make test; ./setup.sh installs it)"
fi
optional "clang-format" clang-format "needed for make check and make format; ./setup.sh --dev installs it"
if PATH=$PATH:/sbin:/usr/sbin ldconfig -p 2>/dev/null | grep -q libopenblas.so.0; then
  row "OpenBLAS" "found"
else
  row "OpenBLAS" "not installed (optional: a row of chapter 4 to compare with; apt-get install libopenblas0)"
fi

echo
echo "GPU"
gpu=""
facts=$(nvidia-smi --query-gpu=name,compute_cap,memory.total --format=csv,noheader 2>/dev/null) || facts=""
driver_cuda=""
if [[ -n $facts ]]; then
  while IFS=, read -r name capability memory; do
    [[ -z $gpu ]] && gpu=$name
    row "GPU" "$name, compute capability${capability},${memory}"
  done <<<"$facts"
  driver=$(nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -1)
  driver_cuda=$(nvidia-smi 2>/dev/null | grep -oE 'CUDA Version: *[0-9.]+' | grep -oE '[0-9.]+$')
  row "driver" "$driver, runs programs of CUDA up to ${driver_cuda:-unknown}"
elif have nvidia-smi; then
  row "GPU" "none usable: nvidia-smi is there but says: $(nvidia-smi 2>&1 | grep -m1 .)"
else
  row "GPU" "none found (optional: kernels run on the CPU instead)"
fi
nvcc_version=""
if have nvcc; then
  nvcc_version=$(nvcc --version | sed -n 's/.*release \([0-9.]*\).*/\1/p')
  row "nvcc" "$nvcc_version ($(command -v nvcc))"
else
  row "nvcc" "not installed (optional: needed to run kernels on a GPU)"
fi
optional "compute-sanitizer" compute-sanitizer "needed for make sanitize on a GPU"
optional "ncu" ncu "needed for make profile-... on a GPU"

echo
echo "What you can do now"
say() { printf '  %s\n' "$(lines 2 "$1")"; }
if ((${#missing[@]})); then
  say "Nothing builds yet: ${missing[*]} must be installed first. Run ./setup.sh"
fi
if ((${#outdated[@]})); then
  say "Nothing builds yet: ${outdated[*]} must be newer, and ./setup.sh does not replace what is there."
  say "Debian 12, Ubuntu 22.04 and later systems come with versions that are new enough."
fi
((${#missing[@]} + ${#outdated[@]} == 0)) || exit 1
runs_on_gpu=no
if [[ -n $gpu && -n $nvcc_version ]]; then
  if [[ ${nvcc_version%%.*} -lt 12 ]]; then
    say "nvcc is $nvcc_version, but CUDA 12.0 or newer is needed: update the CUDA Toolkit."
    say "Until then kernels run on the CPU with CPU=1 (make run CPU=1)."
  elif [[ -n $driver_cuda && ${nvcc_version%%.*} -gt ${driver_cuda%%.*} ]]; then
    say "nvcc is $nvcc_version, but the driver runs programs up to CUDA $driver_cuda only: update the driver, or install a CUDA Toolkit of $driver_cuda or older. Until then: make run CPU=1"
  else
    runs_on_gpu=yes
    say "Kernels are compiled by nvcc $nvcc_version and run on the $gpu."
  fi
elif [[ -n $gpu ]]; then
  say "There is a GPU ($gpu) but no nvcc, so kernels run on the CPU, through simt/nvcc."
  say "To use the GPU, install the CUDA Toolkit 12.0 or newer: https://developer.nvidia.com/cuda-downloads"
elif [[ -n $nvcc_version ]]; then
  say "There is nvcc but no GPU, so kernels run on the CPU, through simt/nvcc."
else
  say "There is no GPU, so kernels run on the CPU, through simt/nvcc."
fi
if [[ $runs_on_gpu == no ]]; then
  say "Their results are right and their memory accesses are counted; their times say nothing about a GPU."
fi
echo
# command_row COMMAND WHAT
command_row() { printf '  %-16s %s\n' "$1" "$(lines 19 "$2")"; }
command_row "make first" "build and run the first kernel of all"
command_row "make run" "build and run every chapter"
command_row "make run-01" "build and run chapter 1"
if [[ -n $catch2 ]]; then
  command_row "make test" "check every variant at awkward sizes"
else
  command_row "make test" "needs Catch2 first: run ./setup.sh"
fi
command_row "./exercise next" "write the first exercise, and say what to do"
if [[ $runs_on_gpu == yes ]]; then
  command_row "make bench" "measure, and write results/"
  have ncu && command_row "make profile-01" "hardware counters of chapter 1"
  have compute-sanitizer && command_row "make sanitize" "look for memory errors and races on the GPU"
else
  command_row "make profile-01" "count memory accesses of chapter 1, on the CPU"
  command_row "make sanitize" "look for memory errors and races, on the CPU"
fi

exit 0
