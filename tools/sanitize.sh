#!/usr/bin/env bash
# Runs programs under every tool of compute-sanitizer, or under simt's own checks without a GPU.
set -uo pipefail

usage() {
  cat <<'TEXT'
usage: tools/sanitize.sh [--simt] PROGRAM... [-- ARGUMENT...]

With a GPU each PROGRAM runs under compute-sanitizer's memcheck, racecheck, synccheck and initcheck.
Without one, or with --simt, it runs once with SIMT_CHECK=1 and must be an instrumented build of
simt/nvcc. ARGUMENTs go to every program (default: --verify). Ends with one line per program, under
it the variants that this machine or these sizes made it skip: no tool has looked at them. Exits 1
if any tool found anything.
TEXT
}

fail() {
  echo "sanitize.sh: $*" >&2
  exit 2
}

programs=()
arguments=(--verify)
use_simt=no
while (($#)); do
  case $1 in
    --help | -h)
      usage
      exit 0
      ;;
    --simt) use_simt=yes ;;
    --)
      shift
      arguments=("$@")
      break
      ;;
    -*) fail "unknown option $1 (--help shows the options)" ;;
    *)
      [[ -x $1 && ! -d $1 ]] || fail "no program $1"
      programs+=("$1")
      ;;
  esac
  shift
done
((${#programs[@]})) || fail "no program named (--help shows the options)"

# The CUDA Toolkit installs itself there and leaves PATH to the reader.
PATH=$PATH:${CUDA_HOME:-/usr/local/cuda}/bin

# nvidia-smi without a working driver prints its complaint and no GPU line.
if [[ $use_simt == no && $(nvidia-smi -L 2>/dev/null) != GPU* ]]; then
  use_simt=yes
fi
if [[ $use_simt == yes ]]; then
  tools=(simt)
else
  tools=(memcheck racecheck synccheck initcheck)
  if ! command -v compute-sanitizer >/dev/null; then
    echo "sanitize.sh: compute-sanitizer is not on PATH (it comes with the CUDA Toolkit)" >&2
    exit 1
  fi
fi

# An exit code that no program uses itself, so that a finding and a crash can be told apart.
finding=86
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# check TOOL PROGRAM: prints one word for the table; the log of a run that was not clean goes to stderr.
check() {
  local tool=$1 program=$2 status=0
  if [[ $tool == simt ]]; then
    SIMT_CHECK=1 "$program" "${arguments[@]}" >"$log" 2>&1 || status=$?
  else
    compute-sanitizer --tool "$tool" --error-exitcode "$finding" \
      "$program" "${arguments[@]}" >"$log" 2>&1 || status=$?
  fi
  if ((status == 0)); then
    echo clean
    return 0
  fi
  {
    echo "--- $tool: $program ${arguments[*]}"
    cat "$log"
  } >&2
  if ((status == finding)) || [[ $tool == simt ]]; then
    echo FOUND
  else
    echo "failed($status)"
  fi
  return 1
}

width=7
for program in "${programs[@]}"; do
  name=${program##*/}
  ((${#name} > width)) && width=${#name}
done

# skipped_variants: `problem/name: reason` of each row that the program of $log printed as skipped.
skipped_variants() {
  awk '/^[a-z][a-z0-9_]*, /{ problem = $1; sub(/,$/, "", problem) }
       / skipped: /{ name = $1; sub(/.* skipped: /, ""); print problem "/" name ": " $0 }' "$log"
}

result=0
table=$(printf "%-${width}s" program && printf '  %-11s' "${tools[@]}")
for program in "${programs[@]}"; do
  line=$(printf "%-${width}s" "${program##*/}")
  for tool in "${tools[@]}"; do
    word=$(check "$tool" "$program") || result=1
    line+=$(printf '  %-11s' "$word")
  done
  table+=$'\n'$line
  skipped=$(skipped_variants)
  [[ -z $skipped ]] || table+=$'\n'$(sed 's/^/    skipped /' <<<"$skipped")
done
sed 's/ *$//' <<<"$table" || result=1
exit "$result"
