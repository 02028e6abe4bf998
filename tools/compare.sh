#!/usr/bin/env bash
# Shows two rungs side by side in the terminal.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: tools/compare.sh [--root DIR] A B

A and B name rungs as CHAPTER/NAME: 04/tiled, 04_matmul/05_tiled or, in a chapter with several
problems, 03/transpose/tiled. Lines that differ carry a mark between the columns (| changed,
< only in A, > only in B) and a colour on a terminal. The width is that of the terminal, or COLUMNS.
TEXT
}

fail() {
  echo "compare.sh: $*" >&2
  exit 2
}

root=$(cd "$(dirname "$0")/.." && pwd)
wanted=()
while (($#)); do
  case $1 in
    --help | -h)
      usage
      exit 0
      ;;
    --root)
      (($# > 1)) || fail "--root needs a folder"
      root=$2
      shift
      ;;
    -*) fail "unknown option $1 (--help shows the options)" ;;
    *) wanted+=("$1") ;;
  esac
  shift
done
((${#wanted[@]} == 2)) || fail "expected two rungs, as in: make compare A=04/tiled B=04/warp_tile"

cd "$root"
shopt -s nullglob
rungs=([0-9][0-9]_*/[0-9][0-9]_*.{hpp,cuh,cu} [0-9][0-9]_*/*/[0-9][0-9]_*.{hpp,cuh,cu})

# short_name 04_matmul/05_tiled.cuh -> 04/tiled
short_name() {
  local path=${1%.*}
  local chapter=${path%%/*} file=${path##*/} middle=${path#*/}
  middle=${middle%"$file"}
  echo "${chapter:0:2}/$middle${file:3}"
}

# near_names NAME: the three rungs spelled most like it, by edit distance.
near_names() {
  local rung
  for rung in "${rungs[@]}"; do short_name "$rung"; done | awk -v name="$1" '
    function smallest(a, b, c) { return a < b ? (a < c ? a : c) : (b < c ? b : c) }
    {
      for (j = 0; j <= length($0); ++j) row[j] = j
      for (i = 1; i <= length(name); ++i) {
        diagonal = row[0]
        row[0] = i
        for (j = 1; j <= length($0); ++j) {
          above = row[j]
          row[j] = smallest(row[j] + 1, row[j - 1] + 1,
                            diagonal + (substr(name, i, 1) != substr($0, j, 1)))
          diagonal = above
        }
      }
      print row[length($0)], $0
    }' | sort -k1,1n -k2 | head -3 | cut -d' ' -f2 | paste -sd' '
}

# find_rung NAME: the one file with that short name, full name or path.
find_rung() {
  local name=${1%.*} rung stem full found=()
  for rung in "${rungs[@]}"; do
    stem=${rung%.*}
    full=${stem#"${stem%%/*}"}
    # The number of the chapter and of the rung may each be left out or spelled out.
    if [[ $name == "$stem" || $name == "${rung:0:2}$full" || $name == "$(short_name "$rung")" ||
      ${name%%/*} == "${rung%%/*}" && ${rung:0:2}/${name#*/} == "$(short_name "$rung")" ]]; then
      found+=("$rung")
    fi
  done
  if ((${#found[@]} == 1)); then
    echo "${found[0]}"
  elif ((${#found[@]})); then
    fail "'$1' names several files: ${found[*]}"
  else
    fail "no rung '$1'; near: $(near_names "$1")"
  fi
}

a=$(find_rung "${wanted[0]}")
b=$(find_rung "${wanted[1]}")

width=${COLUMNS:-}
if [[ -z $width && -t 1 ]]; then
  width=$(tput cols 2>/dev/null || true)
fi
[[ $width =~ ^[0-9]+$ ]] || width=160
colour=no
[[ -t 1 && -z ${NO_COLOR:-} ]] && colour=yes

# diff says which lines belong together; awk sets them in two columns and wraps long ones, because
# `diff --side-by-side` cuts them off.
{
  printf ' %s\n' "$a" "$b"
  diff --expand-tabs --unchanged-line-format='=%L' --old-line-format='<%L' --new-line-format='>%L' \
    "$a" "$b" || true
} | awk -v width="$width" -v colour="$colour" '
  function paint(mark, text) {
    if (colour != "yes" || mark == " ") return text
    return (mark == "<" ? "\033[31m" : mark == ">" ? "\033[32m" : "\033[33m") text "\033[0m"
  }
  # How much of a text fits into one column: up to its last gap, or cut where it has none.
  function fitting(text,    end, indent) {
    if (length(text) <= half) return length(text)
    match(text, /^ */)
    indent = RLENGTH
    for (end = half; end > indent + 12; --end)
      if (substr(text, end, 1) == " ") return end
    return half
  }
  # What is left of a text, set in a little further than its first line.
  function remainder(text, taken, indent) {
    text = substr(text, taken + 1)
    return text == "" ? "" : sprintf("%" indent "s%s", "", text)
  }
  function pair(left, mark, right,    take_left, take_right, indent_left, indent_right) {
    match(left, /^ */); indent_left = RLENGTH + 4
    match(right, /^ */); indent_right = RLENGTH + 4
    do {
      take_left = fitting(left)
      take_right = fitting(right)
      print paint(mark, sprintf("%-" half "s %s %s", substr(left, 1, take_left), mark,
                                substr(right, 1, take_right)))
      left = remainder(left, take_left, indent_left)
      right = remainder(right, take_right, indent_right)
    } while (left != "" || right != "")
  }
  function flush_hunk(    i) {
    for (i = 1; i <= olds || i <= news; ++i)
      pair(i <= olds ? old[i] : "", i > olds ? ">" : i > news ? "<" : "|", i <= news ? new[i] : "")
    olds = news = 0
  }
  BEGIN { half = int((width - 3) / 2); if (half < 20) half = 20 }
  NR == 1 { title = substr($0, 2); next }
  NR == 2 {
    pair(title, " ", substr($0, 2))
    rule = sprintf("%" half "s", ""); gsub(/ /, "-", rule)
    pair(rule, " ", rule)
    next
  }
  /^</ { old[++olds] = substr($0, 2); next }
  /^>/ { new[++news] = substr($0, 2); next }
  { flush_hunk(); pair(substr($0, 2), " ", substr($0, 2)) }
  END { flush_hunk() }'
