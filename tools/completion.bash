# Tab completion of bash for this repository: source tools/completion.bash
# Of make: its verbs, chapters, rungs behind R=, A= and B=. Of ./exercise: commands and exercises.
# Of a chapter's ladders: their options.

_tutorial_make() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} key='' verbs chapter number
  COMPREPLY=()
  [[ -e simt/nvcc && -e Makefile ]] || return
  if [[ $word == = ]]; then # bash cuts words there
    key=$before word=''
  elif [[ $before == = ]]; then
    key=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  if [[ $key == [RAB] ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(_tutorial_rungs)" -- "$word")
    return
  fi
  verbs=$(sed -nE 's/^([a-z-]+):.*## .*/\1/p' Makefile)
  for chapter in [0-9][0-9]_*; do
    number=${chapter%%_*}
    verbs+=" $number run-$number test-$number profile-$number sanitize-$number"
  done
  mapfile -t COMPREPLY < <(compgen -W "$verbs CPU=1 V=1 R= A= B=" -- "$word")
}

# 04/sgemm/tiled, of each rung
_tutorial_rungs() {
  find [0-9][0-9]_* -not -path '*/exercises/*' -name '[0-9][0-9]_*.cuh' |
    sed -E 's,^([0-9]+)_[^/]*/,\1/,; s,/[0-9]+_([^/]*)\.cuh$,/\1,'
}

_tutorial_exercise() {
  local word=${COMP_WORDS[COMP_CWORD]} words
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    words=$("${COMP_WORDS[0]}" --help | sed -nE 's,^  \./exercise ([a-z]+).*,\1,p')
  else
    words=$("${COMP_WORDS[0]}" list | grep -oE '[0-9]{2}/[a-z0-9_]+')
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}

_tutorial_ladders() {
  local word=${COMP_WORDS[COMP_CWORD]} options
  options=$("${COMP_WORDS[0]}" --help | grep -oE -- '^  --[a-z-]+')
  mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
}

complete -o default -F _tutorial_make make
complete -o default -F _tutorial_exercise exercise ./exercise
complete -o default -F _tutorial_ladders ladders
