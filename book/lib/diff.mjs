// Two versions of a program side by side: which line stands beside which, and which words changed.
// A version is { name, own, lines }: `own` are the names in which it says its own name, and a line
// that differs in these alone counts as the same.

import { diffArrays, diffWordsWithSpace } from 'diff'

// Two lines are one line changed if they share this much of their words.
const ALIKE = 0.5

// What of each line is compared.
export function keys({ name, own, lines }) {
  const named = own.length ? new RegExp(`\\b(?:${own.join('|')})\\b`, 'g') : null
  const without = (text) => (named ? text.replace(named, (n) => n.replace(name, '\0')) : text)
  return lines.map((text) => without(text).trim().replace(/\s+/g, ' '))
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

// [{ kind, left, right }] from top to bottom; kind is same, changed, removed or added, left and
// right are indices of lines or null.
export function rows(a, b) {
  const [keysA, keysB] = [keys(a), keys(b)]
  const out = []
  let i = 0
  let j = 0
  const step = (kind, left, right) => out.push({ kind, left, right })
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
    const pairs = paired(keysA.slice(i, endI), keysB.slice(j, endJ))
    for (const [x, y] of [...pairs.map(([x, y]) => [firstI + x, firstJ + y]), [endI, endJ]]) {
      while (i < x) step('removed', i++, null)
      while (j < y) step('added', null, j++)
      if (x < endI && y < endJ) step('changed', i++, j++)
    }
  }
  return out
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

// The rows in stretches: { folded, rows }. Unchanged lines further than `near` from a change fold.
export function stretches(all, near = 3) {
  const isNear = new Array(all.length).fill(false)
  all.forEach((row, i) => {
    if (row.kind !== 'same') isNear.fill(true, Math.max(0, i - near), i + near + 1)
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
