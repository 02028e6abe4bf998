#!/usr/bin/env bash
# Runs test programs one after the other and adds up their last lines.
#
# usage: tools/run_tests.sh PROGRAM...
# Each program ends with "N passed, N failed, N skipped" (tests/main.cpp); a *.py file is a Python
# unittest module. A program that ends without that line (a crash, say) counts as one failure.
# Exit status 0 only if nothing failed. The output of a program is shown only if it failed.
set -u

passed=0 failed=0 skipped=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT

for program in "$@"; do
  start=$SECONDS
  if [[ $program == *.py ]]; then
    PYTHONDONTWRITEBYTECODE=1 python3 "$program" >"$log" 2>&1 </dev/null
    status=$?
    # unittest closes with "Ran 12 tests in 3.4s" and "OK (skipped=1)" or "FAILED (failures=1, ...)".
    ran=$(sed -nE 's/^Ran ([0-9]+) tests?.*/\1/p' "$log" | tail -n 1)
    last=$(tail -n 1 "$log")
    bad=0 skip=0
    while read -r count; do bad=$((bad + count)); done \
      < <(grep -oE '(failures|errors)=[0-9]+' <<<"$last" | grep -oE '[0-9]+')
    [[ $last =~ skipped=([0-9]+) ]] && skip=${BASH_REMATCH[1]}
    line="$((${ran:-0} - bad - skip)) passed, $bad failed, $skip skipped"
    [[ -n $ran ]] || line=""
  else
    "$program" >"$log" 2>&1 </dev/null
    status=$?
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
  printf '%-44s %4d passed %4d failed %4d skipped %4d s\n' \
    "$program" "$p" "$f" "$s" "$((SECONDS - start))"
  if ((f > 0)); then
    printf -- '---- output of %s (exit status %d)\n' "$program" "$status"
    cat "$log"
    printf -- '----\n'
  else
    grep -E '^skipped [0-9]+: ' "$log" | sed 's/^/    /'
  fi
done

# A line that nobody could read, on a full disk say, is no success.
printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped" || exit 1
((failed == 0 && passed + skipped > 0))
