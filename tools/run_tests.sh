#!/usr/bin/env bash
# Runs test programs and adds up their last lines.
#
# usage: [JOBS=2] [V=1] tools/run_tests.sh PROGRAM...
# Each program ends with "N passed, N failed, N skipped" (tests/main.cpp); a *.py file is a Python
# unittest module. Each of a program's test cases runs in a process of its own, so that one that
# crashes or breaks the device leaves the others alone. A process that ends without that line (a
# crash, say) counts as one failure.
# Exit status 0 only if nothing failed. Of a program that failed are shown the lines "failed ...",
# one for each thing that is broken, or with V=1 all of its output.
# They run one after the other, or JOBS at a time, which is for machines without a GPU: many of them
# keep one core busy. What is printed keeps the order in which they are named.
set -u

jobs=${JOBS:-1}
unset JOBS  # the programs' own tools know a JOBS, too
if ! [[ $jobs =~ ^[1-9][0-9]{0,2}$ ]]; then
  echo "run_tests.sh: JOBS='$jobs': expected how many programs run at a time" >&2
  exit 2
fi

# Side by side, a thread of OpenMP that has nothing to do must not keep a core from another program.
((jobs == 1)) || export OMP_WAIT_POLICY="${OMP_WAIT_POLICY:-passive}"

case ${V:-0} in 0 | no | off | false) shows_all= ;; *) shows_all=1 ;; esac
unset V  # a test may run make

programs=("$@")
passed=0 failed=0 skipped=0
short=  # whether more was said than is shown
logs=$(mktemp -d)
# What was begun ends with this script: each program has a process group of its own (set -m).
trap 'exec 2>/dev/null; for job in $(jobs -p); do kill -- "-$job"; done; rm -rf "$logs"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
set -m

# cases PROGRAM: its test cases, one a line, as Catch2 takes them from a command line. What is not
# there, or is no program of Catch2, has none.
cases() {
  local option
  for option in --list-test-names-only "--list-tests --verbosity quiet"; do  # Catch2 2, Catch2 3
    # shellcheck disable=SC2086
    "$1" $option 2>/dev/null </dev/null |
      sed -E '/^[0-9]+ passed, /d; s/[][\\,"*]/\\&/g; s/.*/"&"/' | grep . && return
  done
}

# run PROGRAM LOG: what it says goes into LOG; what is broken, and what was skipped, into LOG.lines;
# how many passed, failed and were skipped, and its seconds, into LOG.end.
run() {
  local start=$SECONDS name names=() passed=0 failed=0 skipped=0
  if [[ $1 == *.py ]]; then
    PYTHONDONTWRITEBYTECODE=1 python3 "$1" >"$2.case" 2>&1 </dev/null
    count "$1" "$2.case" $?
  else
    mapfile -t names < <(cases "$1")
    for name in "${names[@]:-}"; do
      "$1" ${name:+"$name"} >"$2.case" 2>&1 </dev/null
      count "$1" "$2.case" $?
    done
  fi
  echo "$passed $failed $skipped $((SECONDS - start))" >"$2.part"
  mv "$2.part" "$2.end"
}

# broken PROGRAM LOG STATUS COUNTS: a line for each thing that is broken, as the program says it.
broken() {
  local lines
  if [[ $1 == *.py ]]; then
    # unittest has a paragraph for each: "FAIL: test_sum (sums.Sums)", a traceback, and what went
    # wrong in the first line behind it that is not indented.
    lines=$(awk '
      /^(FAIL|ERROR): / { name = $0; sub(/^[A-Z]+: /, "", name); traced = 0 }
      /^Traceback / { traced = 1; next }
      name != "" && traced && /^[^ ]/ { print "failed " name ": " $0; name = "" }' "$2")
  else
    # The last of them, before the counts; others may be of a program that it has started.
    lines=$(awk '
      /^failed / { lines = lines (lines != "" ? "\n" : "") $0; next }
      /^[0-9]+ passed, / { counted = lines }
      NF && !/^skipped / && !/run_tests.sh: line / { lines = "" }
      END { if (lines counted != "") print lines != "" ? lines : counted }' "$2")
  fi
  [[ -z $lines ]] || printf '%s\n' "$lines"
  # What was not judged must be told, too.
  [[ -n $lines && -n $4 && $3 == 1 ]] || ended "$2" "$3"
}

# ended LOG STATUS: of a program that did not come to its last line, or did not end as that says.
ended() {
  local how="status $2" last=
  if (($2 > 128)); then how="signal $(kill -l $(($2 - 128)) 2>/dev/null || echo "$2")"; fi
  # simt's last message, with its lines as one, or the last line that is neither a rule nor bash's.
  last=$(awk '
    /^simt: error/ { said = $0; next }
    /^simt:   / && said != "" { sub(/^simt: +/, ""); said = said "; " $0; next }
    /[[:alnum:]]/ && !/^skipped |^[0-9]+ passed, |run_tests.sh: line / { line = $0 }
    END { print said != "" ? said : line }' "$1")
  echo "failed the program itself, which ended with $how${last:+: $last}"
}

# count PROGRAM CASE STATUS: adds to passed, failed and skipped what the log CASE of a process says,
# and the log and its lines to those of the program.
count() {
  local program=$1 log=$2 status=$3 line p=0 f=0 s=0
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
  fi
  # A status that the counted failures do not explain is a failure of its own; so is no count at all.
  if ((f == 0 && (status != 0 || p + s == 0))); then f=1 line=""; fi
  passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
  if ((f > 0)); then broken "$program" "$log" "$status" "$line" >>"${log%.case}.lines"; fi
  grep -E '^skipped [0-9]+: ' "$log" >>"${log%.case}.lines"
  cat "$log" >>"${log%.case}"
}

# report PROGRAM LOG
report() {
  local p f s seconds
  read -r p f s seconds <"$2.end"
  passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
  printf '%-44s %4d passed %4d failed %4d skipped %4d s\n' "$1" "$p" "$f" "$s" "$seconds"
  if ((f > 0)) && [[ -n $shows_all ]]; then
    printf -- '---- output of %s\n' "$1"
    cat "$2"
    printf -- '----\n'
  elif ((f > 0)); then
    # A rung has one line, "failed sgemm/tiled, ...", however many cases find it broken.
    grep '^failed ' "$2.lines" | awk '!/^failed [^ ,]+\/[^ ,]+, / || !told[$2]++ { print "    " $0 }'
    short=1
  else
    awk '/^skipped / { number = $2; sub(/^skipped [0-9]+: /, ""); sums[$0] += number }
      END { for (reason in sums) print "    skipped " sums[reason] ": " reason }' "$2.lines" | sort
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

[[ -z $short ]] || echo "(V=1 shows all that the programs said that failed.)"
# A line that nobody could read, on a full disk say, is no success.
printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped" || exit 1
((failed == 0 && passed + skipped > 0))
