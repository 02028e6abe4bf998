// Two versions of a program side by side: which line stands beside which, and which words changed.
// A version is { name, own, lines }: `own` are the names in which it says its own name, and a line
// that differs in these alone counts as the same.

import { diffArrays, diffWordsWithSpace } from 'diff'

// Two lines are one line changed if they share this much of their words.
const ALIKE = 0.5
// Longer stretches are written anew: what stayed of their words by chance says nothing.
const MOST_WORDS = 600

// A text without the rung's own name.
function nameless({ name, own }) {
  const named = own.length ? new RegExp(`\\b(?:${own.join('|')})\\b`, 'g') : null
  return (text) => (named ? text.replace(named, (n) => n.replace(name, '\0')) : text)
}

// What of each line is compared.
export function keys(version) {
  const without = nameless(version)
  return version.lines.map((text) => without(text).trim().replace(/\s+/g, ' '))
}

// The words of some lines in one row: [{ word, line, first, end }]. The // that opens a line is none of them.
function wordsOf(version, from, to) {
  const without = nameless(version)
  const out = []
  for (let line = from; line < to; ++line) {
    for (const { 0: word, index } of version.lines[line].matchAll(/\/\/|\w+|[^\w\s]/g)) {
      const opens = word === '//' && !version.lines[line].slice(0, index).trim()
      if (!opens) out.push({ word: without(word), line, first: index, end: index + word.length })
    }
  }
  return out
}

// What of a changed stretch only stands elsewhere, because lines were wrapped in other places:
// { left, right }, each a Map of a line to the words of it that stayed, and the lines that stayed whole.
function stayed(a, b, [fromI, endI], [fromJ, endJ]) {
  const sides = [wordsOf(a, fromI, endI), wordsOf(b, fromJ, endJ)]
  const kept = sides.map((words) => new Array(words.length).fill(0)) // the length of the run that a word is in
  if (sides.every((words) => words.length && words.length <= MOST_WORDS)) {
    let [i, j] = [0, 0]
    for (const part of diffArrays(...sides.map((words) => words.map(({ word }) => word)))) {
      if (!part.added && !part.removed) {
        kept[0].fill(part.count, i, i + part.count)
        kept[1].fill(part.count, j, j + part.count)
      }
      if (!part.added) i += part.count
      if (!part.removed) j += part.count
    }
  }
  return sides.map((words, side) => {
    const lines = new Map()
    words.forEach(({ word, line, first, end }, k) => {
      const said = lines.get(line) ?? { whole: true, named: false, kept: [] }
      // A brace or a comma alone is kept by chance.
      if (kept[side][k] >= 3) said.kept.push([first, end])
      else said.whole = false
      said.named ||= /\w/.test(word)
      lines.set(line, said)
    })
    return lines
  })
}

// How much of two lines' words is the same, from 0 to 1; two comments are always alike.
export function likeness(a, b) {
  if (a.startsWith('//') && b.startsWith('//')) return 1
  const [left, right] = [a, b].map((text) => text.match(/\w+|[^\w\s]/g) ?? [])
  if (!left.length || !right.length) return 0
  const rest = [...right]
  let common = 0
  for (const word of left) {
    const at = rest.indexOf(word)
    if (at >= 0) common += rest.splice(at, 1).length
  }
  return (2 * common) / (left.length + right.length)
}

// Pairs [i, j] of changed lines that belong together, in order; the best by what is alike.
export function paired(old, fresh) {
  const alike = old.map((a) => fresh.map((b) => likeness(a, b)))
  const best = Array.from({ length: old.length + 1 }, () => new Array(fresh.length + 1).fill(0))
  const both = (i, j) => (alike[i][j] >= ALIKE ? alike[i][j] + best[i + 1][j + 1] : 0)
  for (let i = old.length - 1; i >= 0; --i) {
    for (let j = fresh.length - 1; j >= 0; --j) {
      best[i][j] = Math.max(both(i, j), best[i + 1][j], best[i][j + 1])
    }
  }
  const pairs = []
  for (let i = 0, j = 0; i < old.length && j < fresh.length; ) {
    if (alike[i][j] >= ALIKE && best[i][j] === both(i, j)) pairs.push([i++, j++])
    else if (best[i][j] === best[i + 1][j]) ++i
    else ++j
  }
  return pairs
}

// [{ kind, left, right }] from top to bottom; kind is same, changed, removed, added, or wrapped: its
// words stayed and the line breaks moved. left and right are indices of lines or null. A changed row
// has the character ranges whose words changed: marks.removed of its left line, marks.added of its right one.
export function rows(a, b) {
  const [keysA, keysB] = [keys(a), keys(b)]
  const out = []
  let i = 0
  let j = 0
  const step = (kind, left, right, marks) => out.push({ kind, left, right, ...(marks ? { marks } : {}) })
  const parts = diffArrays(keysA, keysB)
  for (let p = 0; p < parts.length; ++p) {
    if (!parts[p].added && !parts[p].removed) {
      for (let k = 0; k < parts[p].count; ++k) step('same', i++, j++)
      continue
    }
    // A changed stretch is a removed part, an added part, or one after the other in either order.
    const stretch = [parts[p]]
    if (parts[p + 1]?.added || parts[p + 1]?.removed) stretch.push(parts[++p])
    const size = (kind) => stretch.reduce((sum, part) => sum + (part[kind] ? part.count : 0), 0)
    const [endI, endJ] = [i + size('removed'), j + size('added')]
    const [firstI, firstJ] = [i, j]
    const [left, right] = stayed(a, b, [i, endI], [j, endJ])
    const isWhole = (lines, line) => Boolean(lines.get(line)?.whole && lines.get(line).named)
    const one = (kind, lines, line) => (isWhole(lines, line) ? 'wrapped' : kind)
    const pairs = paired(keysA.slice(i, endI), keysB.slice(j, endJ))
    for (const [x, y] of [...pairs.map(([x, y]) => [firstI + x, firstJ + y]), [endI, endJ]]) {
      for (; i < x; ++i) step(one('removed', left, i), i, null)
      for (; j < y; ++j) step(one('added', right, j), null, j)
      if (x === endI || y === endJ) continue
      const marks = wordMarks(a.lines[i], b.lines[j])
      marks.removed = unkept(marks.removed, left.get(i)?.kept ?? [], a.lines[i])
      marks.added = unkept(marks.added, right.get(j)?.kept ?? [], b.lines[j])
      const isWrapped = isWhole(left, i) && isWhole(right, j)
      step(isWrapped ? 'wrapped' : 'changed', i++, j++, isWrapped ? undefined : marks)
    }
  }
  return out
}

// Of some ranges of a line, those that hold a word which did not stay.
function unkept(ranges, kept, text) {
  const isKept = (at) => kept.some(([first, end]) => first <= at && at < end)
  const holdsNew = ([first, end]) => Array.from(text.slice(first, end)).some((c, k) => c.trim() && !isKept(first + k))
  return ranges.filter(holdsNew)
}

// The character ranges that were removed from `before` and added in `after`.
export function wordMarks(before, after) {
  const marks = { removed: [], added: [] }
  let [i, j] = [0, 0]
  for (const part of diffWordsWithSpace(before, after)) {
    const size = part.value.length
    if (part.removed) marks.removed.push([i, i + size])
    if (part.added) marks.added.push([j, j + size])
    if (!part.added) i += size
    if (!part.removed) j += size
  }
  return marks
}

export const isChange = ({ kind }) => kind !== 'same' && kind !== 'wrapped'

// The rows in stretches: { folded, rows }. Unchanged lines further than `near` from a change fold.
export function stretches(all, near = 3) {
  const isNear = new Array(all.length).fill(false)
  all.forEach((row, i) => {
    if (isChange(row)) isNear.fill(true, Math.max(0, i - near), i + near + 1)
  })
  const out = []
  all.forEach((row, i) => {
    if (!out.length || out.at(-1).folded === isNear[i]) out.push({ folded: !isNear[i], rows: [] })
    out.at(-1).rows.push(row)
  })
  // One or two lines take no more room than the line that says they are folded.
  for (const part of out) if (part.rows.length < 3) part.folded = false
  return out
}
