#!/usr/bin/env bash
# Runs test programs and adds up their last lines.
#
# usage: [JOBS=2] tools/run_tests.sh PROGRAM...
# Each program ends with "N passed, N failed, N skipped" (tests/main.cpp); a *.py file is a Python
# unittest module. A program that ends without that line (a crash, say) counts as one failure.
# Exit status 0 only if nothing failed. The output of a program is shown only if it failed.
# They run one after the other, or JOBS at a time, which is for machines without a GPU: many of them
# keep one core busy. What is printed keeps the order in which they are named.
set -u

jobs=${JOBS:-1}
unset JOBS  # the programs' own tools know a JOBS, too
if ! [[ $jobs =~ ^[1-9][0-9]{0,2}$ ]]; then
  echo "run_tests.sh: JOBS='$jobs': expected how many programs run at a time" >&2
  exit 2
fi

programs=("$@")
passed=0 failed=0 skipped=0
logs=$(mktemp -d)
# What was begun ends with this script: each program has a process group of its own (set -m).
trap 'exec 2>/dev/null; for job in $(jobs -p); do kill -- "-$job"; done; rm -rf "$logs"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
set -m

# run PROGRAM LOG: what it says goes into LOG, how it ends and how long it took into LOG.end.
run() {
  local start=$SECONDS
  if [[ $1 == *.py ]]; then
    PYTHONDONTWRITEBYTECODE=1 python3 "$1"
  else
    "$1"
  fi >"$2" 2>&1 </dev/null
  echo "$? $((SECONDS - start))" >"$2.part"
  mv "$2.part" "$2.end"
}

# report PROGRAM LOG
report() {
  local program=$1 log=$2 status seconds line p f s
  read -r status seconds <"$log.end"
  if [[ $program == *.py ]]; then
    # unittest closes with "Ran 12 tests in 3.4s" and "OK (skipped=1)" or "FAILED (failures=1, ...)".
    local ran last count bad=0 skip=0
    ran=$(sed -nE 's/^Ran ([0-9]+) tests?.*/\1/p' "$log" | tail -n 1)
    last=$(tail -n 1 "$log")
    while read -r count; do bad=$((bad + count)); done \
      < <(grep -oE '(failures|errors)=[0-9]+' <<<"$last" | grep -oE '[0-9]+')
    [[ $last =~ skipped=([0-9]+) ]] && skip=${BASH_REMATCH[1]}
    line="$((${ran:-0} - bad - skip)) passed, $bad failed, $skip skipped"
    [[ -n $ran ]] || line=""
  else
    line=$(grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$log" | tail -n 1)
  fi

  if [[ $line =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+)\ skipped$ ]]; then
    p=${BASH_REMATCH[1]} f=${BASH_REMATCH[2]} s=${BASH_REMATCH[3]}
  else
    p=0 f=0 s=0
  fi
  # A status that the counted failures do not explain is a failure of its own; so is no count at all.
  if ((f == 0 && (status != 0 || p + s == 0))); then f=1; fi
  passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
  printf '%-44s %4d passed %4d failed %4d skipped %4d s\n' "$program" "$p" "$f" "$s" "$seconds"
  if ((f > 0)); then
    printf -- '---- output of %s (exit status %d)\n' "$program" "$status"
    cat "$log"
    printf -- '----\n'
  else
    grep -E '^skipped [0-9]+: ' "$log" | sed 's/^/    /'
  fi
}

begun=0 reported=0
while ((reported < ${#programs[@]})); do
  while ((begun < ${#programs[@]})) && (($(jobs -rp | wc -l) < jobs)); do
    run "${programs[begun]}" "$logs/$begun" &
    begun=$((begun + 1))
  done
  wait -n
  while ((reported < begun)) && [[ -e $logs/$reported.end ]]; do
    report "${programs[reported]}" "$logs/$reported"
    reported=$((reported + 1))
  done
done

# A line that nobody could read, on a full disk say, is no success.
printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped" || exit 1
((failed == 0 && passed + skipped > 0))
