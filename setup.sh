#!/usr/bin/env bash
# Installs what a fresh Debian 12 or Ubuntu 24.04 lacks to build and run this repository.
# Another shell (sh ./setup.sh) hands over to bash; macOS has one of 2006, which is too old.
if [ -z "${BASH_VERSION:-}" ] && command -v bash >/dev/null; then exec bash "$0" "$@"; fi
case ${BASH_VERSION:-none} in
  none | [1-3].*)
    echo "setup.sh: needs bash 4 or newer, on Debian or Ubuntu (Windows: WSL 2; a Mac: the dev container)" >&2
    exit 1
    ;;
esac
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: ./setup.sh [--dev] [--book]

Installs the compiler and libraries that are missing, through apt, and nothing
that is there already; run it as often as you like. It asks nothing (sudo may,
unless you are root).
--dev also installs clang-format 14, the version that `make check` and
`make format` go by; clangd, by which `make editor` is tested; CMake; and
bubblewrap, in whose sandbox `make exercise-grade` runs what was handed in.
--book also installs what `make book` and `make book-test` need: Node.js with
npm, Chromium, a compiler for WebAssembly, and the npm packages that
book/package-lock.json names, into book/node_modules.
Never installs a GPU driver or the CUDA Toolkit.
TEXT
}

developer=no
book=no
for argument in "$@"; do
  case $argument in
    --help | -h)
      usage
      exit 0
      ;;
    --dev) developer=yes ;;
    --book) book=yes ;;
    *)
      echo "setup.sh: unknown option $argument (--help shows the options)" >&2
      exit 2
      ;;
  esac
done

# The CUDA Toolkit installs itself there and leaves PATH to the reader.
PATH=$PATH:${CUDA_HOME:-/usr/local/cuda}/bin

# timed WHAT COMMAND...: runs what is silent for long; a terminal sees for how many seconds.
timed() {
  local what=$1 status=0 clock='' s
  shift
  if [[ -t 2 && ${TERM:-dumb} != dumb ]]; then
    for ((s = 0; ; ++s)); do
      kill -0 $$ || exit  # setup.sh was ended
      printf '\r%s, %d s ' "$what" "$s" >&2
      read -r -t 1 <> <(:) || true
    done &
    clock=$!
  fi
  "$@" || status=$?
  if [[ $clock ]]; then
    kill "$clock"
    wait "$clock" 2>/dev/null || true
    printf '\r\033[K' >&2
  fi
  return "$status"
}

have() { command -v "$1" >/dev/null 2>&1; }

# has_header HEADER: asks the compiler, so that a copy installed by hand counts as well.
has_header() {
  have g++ && printf '#if !__has_include(<%s>)\n#error\n#endif\n' "$1" |
    g++ -std=c++17 -fsyntax-only -x c++ - 2>/dev/null
}

has_catch2() { has_header catch2/catch_all.hpp || has_header catch2/catch.hpp; }

# As book/kernels/build.py asks: can C++ be compiled to WebAssembly?
makes_wasm() {
  clang++ --target=wasm32-wasi -x c++ - -o /dev/null <<<$'#include <vector>\nint main() {}' 2>/dev/null
}

# As book/tests/browser_kit.mjs looks for it. A snap sees neither /tmp nor folders with a dot, and
# Ubuntu's chromium-browser is no browser but what calls the snap.
has_chromium() {
  local found
  for found in $(type -aP chromium google-chrome); do
    [[ $found == */snap/* ]] || return 0
  done
  return 1
}

# is_there PACKAGE
is_there() {
  case $1 in
    g++ | make | git | python3 | clang-format-14 | clangd | cmake | npm) have "$1" ;;
    nodejs) have node ;;
    chromium) has_chromium ;;
    binaryen) have wasm-opt ;;
    clang | lld | *wasm32 | wasi-libc) makes_wasm ;;
    catch2) has_catch2 ;;
    bubblewrap) have bwrap ;;
  esac
}

what_for() {
  case $1 in
    g++) echo "compiles the host code" ;;
    make) echo "runs every command of this repository" ;;
    git) echo "stamps results with the commit" ;;
    python3) echo "runs simt and the scripts in tools/" ;;
    catch2) echo "runs the tests" ;;
    clang-format-14) echo "formats the sources" ;;
    clangd) echo "what editors ask; tests make editor" ;;
    cmake) echo "tests the snippet for CMake" ;;
    bubblewrap) echo "runs students' files apart from all else" ;;
    nodejs | npm) echo "builds the book" ;;
    chromium) echo "tests the book" ;;
    clang | lld | binaryen | *wasm32 | wasi-libc) echo "compiles the kernels that run in the book" ;;
  esac
}

wanted=(g++ make git python3 catch2)
[[ $developer == yes ]] && wanted+=(clang-format-14 clangd cmake bubblewrap)
# Ubuntu has Chromium as a snap alone, which a container cannot have: there npm's packages bring one.
os_release=${OS_RELEASE:-/etc/os-release}
is_ubuntu() { [[ -r $os_release && $'\n'$(<"$os_release")$'\n' == *$'\nID=ubuntu\n'* ]]; }
if [[ $book == yes ]]; then
  wanted+=(nodejs npm clang lld binaryen wasi-libc libc++-dev-wasm32 libclang-rt-dev-wasm32)
  is_ubuntu || wanted+=(chromium)
fi

lacking() {
  local package
  for package in "${wanted[@]}"; do
    is_there "$package" || echo "$package"
  done
}

mapfile -t missing < <(lacking)
for package in "${wanted[@]}"; do
  state="found"
  [[ " ${missing[*]} " == *" $package "* ]] && state="missing"
  printf '%-22s %-8s (%s)\n' "$package" "$state" "$(what_for "$package")"
done

if ((${#missing[@]})); then
  if ! have apt-get; then
    echo "setup.sh: this is no Debian or Ubuntu; please install: ${missing[*]} (names as in Debian)" >&2
    exit 1
  fi
  as_root=()
  if ((EUID != 0)); then
    if ! have sudo; then
      echo "setup.sh: run as root, there is no sudo: apt-get install ${missing[*]}" >&2
      exit 1
    fi
    # Without a terminal nobody could type a password; with one, sudo asks before its output is kept.
    if ! sudo -n true 2>/dev/null && ! { [[ -t 0 ]] && sudo -v; }; then
      echo "setup.sh: sudo wants a password; run as root: apt-get install ${missing[*]}" >&2
      exit 1
    fi
    as_root=(sudo -n)
  fi
  echo "Installing: ${missing[*]}"
  # A package may ask questions and read from stdin; both are cut off. A system that has just started
  # may be installing updates: their end is waited for.
  install=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0
    -o DPkg::Lock::Timeout=600)
  log=$(mktemp)
  trap 'rm -f "$log"' EXIT
  add_missing() {
    { "${install[@]}" update && "${install[@]}" install -y --no-install-recommends "${missing[@]}"; } \
      </dev/null >"$log" 2>&1
  }
  if ! timed "${#missing[@]} packages" add_missing; then
    cat "$log" >&2
    echo "setup.sh: apt-get could not install ${missing[*]} (names as in Debian 12 and Ubuntu 24.04);" \
      "its own words are above" >&2
    exit 1
  fi
  mapfile -t still < <(lacking)
  if ((${#still[@]})); then
    echo "setup.sh: apt-get succeeded, yet these are not found: ${still[*]}" >&2
    exit 1
  fi
  echo "Installed: ${missing[*]}"
else
  echo "Everything is there already; nothing was installed."
fi

# Debian 12 and Ubuntu 24.04 have an older Node.js than the packages want; npm has a newer one.
NODE_VERSION=22.23.3
node_is_new() { node -e 'process.exit(process.versions.node.split(".")[0] >= 20 ? 0 : 1)' 2>/dev/null; }

if [[ $book == yes ]]; then
  echo "Installing the book's packages, as book/package-lock.json names them"
  npm_log=$(mktemp)
  here=$(cd "$(dirname "$0")" && pwd)
  add_packages() {
    npm ci --ignore-scripts --no-audit --no-fund --prefix "$here/book" || return
    if ! node_is_new; then
      local machine=x64
      [[ $(uname -m) == aarch64 ]] && machine=arm64
      npm install --no-save --no-audit --no-fund --prefix "$here/book" "node-linux-$machine@$NODE_VERSION" || return
    fi
  }
  add_browser() {
    PATH=$here/book/node_modules/.bin:$PATH playwright-core install --with-deps chromium-headless-shell
  }
  # give_up WHAT: says what could not be done
  give_up() {
    cat "$npm_log" >&2
    rm -f "$npm_log"
    echo "setup.sh: $1; its own words are above" >&2
    exit 1
  }
  quietly() { "$@" </dev/null >"$npm_log" 2>&1; }
  timed "npm's packages" quietly add_packages || give_up "npm could not install the book's packages"
  is_there chromium || timed Chromium quietly add_browser ||
    give_up "playwright could not install Chromium; make book works, make book-test will not"
  rm -f "$npm_log"
  echo "Installed: book/node_modules"
fi

echo
if have nvcc; then
  echo "nvcc found ($(command -v nvcc)): with a GPU, kernels run on it; without one, on the CPU."
else
  echo "nvcc not found: kernels run on the CPU, through simt, with the same results."
  echo "To use a GPU, install the CUDA Toolkit 12.0 or newer yourself:"
  echo "https://developer.nvidia.com/cuda-downloads"
fi
if [[ $book == yes ]]; then echo "Next: make book-serve"; else echo "Next: make run"; fi
