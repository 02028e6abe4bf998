// What results/ holds about a rung, or about two beside each other.

import { NOTHING, escape, grouped, significant, words } from './format.mjs'

const times = (value) => `${significant(value)}×`
const percent = (value) => (value === null || value === undefined ? NOTHING : value.toFixed(1))

// key, title, how it is printed, whether less or more of it is better ('' if neither).
export const METRICS = [
  ['median_ms', 'Time, ms', significant, 'less'],
  ['min_ms', 'Fastest, ms', significant, 'less'],
  ['max_ms', 'Slowest, ms', significant, 'less'],
  ['gbps', 'GB/s', significant, 'more'],
  ['gflops', 'TFLOP/s', (v) => significant(v / 1000), 'more'],
  ['percent_of_roof', '% of peak', percent, 'more'],
  ['ratio_to_peer', '× library', (v) => v.toFixed(2), 'more'],
  ['speedup', 'Over one core', times, 'more'],
  ['extra_bytes', 'Extra memory, MB', (v) => significant(v / 1e6), 'less'],
]
// By Nsight Compute, on the GPU: key, title, unit, what is better. More sectors a load may be wider loads, more barriers
// a shared tile, more branches one thread that works for all: of these only the number is said.
const COUNTERS = [
  ['load_sectors_per_request', 'Sectors per load'],
  ['store_sectors_per_request', 'Sectors per store'],
  ['shared_load_conflict', 'Shared load conflict', 1, 'less'],
  ['shared_store_conflict', 'Shared store conflict', 1, 'less'],
  ['active_lanes', 'Active lanes', 1, 'more'],
  ['divergent_branches', 'Divergent branches'],
  ['barriers', 'Barriers'],
  ['atomics', 'Atomics'],
]

// By simt, where the GPU's counters are missing; some in millions.
const COUNTED_BY_SIMT = [
  ['moved_bytes', 'Moved, MB', 1e6, 'less'],
  ['load_sectors', 'Sectors per load'],
  ['store_sectors', 'Sectors per store'],
  ['conflict', 'Bank conflict', 1, 'less'],
  ['active_lanes', 'Active lanes', 1, 'more'],
  ['barriers', 'Barriers'],
  ['atomics', 'Atomics'],
  ['tensor_operations', 'Tensor operations, M', 1e6],
]

const isThere = (value) => value !== null && value !== undefined && value !== 0
const inUnits = (value, unit) => (isThere(value) ? value / unit : value)
const isDefault = (key) => key.split('|')[1].endsWith('/default')
const first = (keys) => keys.find(isDefault) ?? keys[0]

const volume = (row) => Object.values(row.sizes ?? {}).reduce((product, size) => product * Math.max(1, size), 1)

const runOf = (key) => key.split('|', 2).join('|')
const problemOf = (key) => words(key.split('|')[2])

// Did one run give both rows the same sizes? Their problems may differ: scales for rows, scales for blocks.
export function isOneRun(keyA, rowA, keyB, rowB) {
  if (!rowA || !rowB || runOf(keyA) !== runOf(keyB)) return false
  const shared = Object.keys(rowA.sizes ?? {}).filter((name) => name in (rowB.sizes ?? {}))
  return keyA === keyB || (shared.length > 0 && shared.every((name) => rowA.sizes[name] === rowB.sizes[name]))
}

// A key of `rows` for each side: the same where both were timed in one run, else two problems of one run and the same
// sizes. `common`, the run of the ladder's table, goes first, then default runs, then the largest sizes.
export function chooseRows(a, b, common) {
  const timed = (rows) => Object.keys(rows).filter((key) => rows[key].median_ms)
  const order = ([key]) => [key === common, isDefault(key), volume(a[key])]
  const before = (x, y) => y[0] - x[0] || y[1] - x[1] || y[2] - x[2]
  const best = (pairs) => pairs.sort((x, y) => before(order(x), order(y)))[0]
  const same = timed(a).filter((key) => b[key]?.median_ms).map((key) => [key, key])
  const others = () => timed(a).flatMap((key) => timed(b).filter((other) => isOneRun(key, a[key], other, b[other])).map((other) => [key, other]))
  const both = best(same) ?? best(others())
  const untimed = first(Object.keys(a).filter((key) => key in b))
  return both ?? (untimed ? [untimed, untimed] : [first(Object.keys(a)), first(Object.keys(b))])
}

// What the step from one rung to another gained, in the one run that timed both; null if none did.
export function gainOf(a, b, common) {
  const [key, other] = chooseRows(a.rows, b.rows, common)
  const [from, to] = [a.rows[key], b.rows[other]]
  if (!from?.median_ms || !to?.median_ms || !isOneRun(key, from, other, to)) return null
  const problems = key === other ? '' : `${problemOf(other)} beside ${problemOf(key)}, `
  const elsewhere = !problems && (!common || key === common) ? '' : `${problems}at ${sizesOf(to)}`
  const factor = from.median_ms / to.median_ms
  return { key, factor, said: change(from.median_ms, to.median_ms), elsewhere, ...(problems ? { isOtherWork: true } : {}) }
}

// Why it is not known.
export function whyNoGain(a, b) {
  const [key, other] = chooseRows(a.rows, b.rows)
  const unknown = [a, b].filter(({ rows }) => !Object.keys(rows).length)
  if (unknown.length === 2) return 'neither is measured in results/'
  if (unknown.length) return `${unknown[0].name} is not measured in results/`
  if (key !== other) return 'not measured in one run'
  return [a, b].filter(({ rows }) => !rows[key].median_ms).map(({ name, rows }) => `no time of ${name}, ${rows[key].reason || rows[key].status}`).join('; ')
}

// The key that most rungs of a ladder have a row for: its table.
export function commonKey(rungs) {
  const counts = new Map()
  for (const rung of rungs) {
    for (const [key, row] of Object.entries(rung.rows)) {
      if (row.median_ms !== null) counts.set(key, (counts.get(key) ?? 0) + 1)
    }
  }
  const order = (key) => [counts.get(key), isDefault(key) ? 1 : 0]
  const better = (a, b) => order(b)[0] - order(a)[0] || order(b)[1] - order(a)[1]
  return [...counts.keys()].sort(better)[0]
}

// 'cols = 8,193, rows = 8,191'; the sides of a cube are named together: 'k = m = n = 1,024'.
export function sizesOf(row) {
  const sizes = Object.entries(row.sizes ?? {})
  const isSide = ([name]) => /^(?:[mnk]|nk)$/.test(name)
  const sides = sizes.filter(isSide)
  const isCube = sides.length > 1 && sides.every(([, value]) => value === sides[0][1])
  const shown = isCube ? [[sides.map(([name]) => name).join(' = '), sides[0][1]], ...sizes.filter((size) => !isSide(size))] : sizes
  return shown.map(([name, value]) => `${name} = ${grouped(value)}`).join(', ')
}

// 'NVIDIA H200, CUDA 13.0, 2026-11-21: vector add, n = 10,000,000'
export function whereFrom(key, row, runs) {
  if (!key) return 'not measured in results/'
  const [file, label, problem] = key.split('|')
  const run = runs[`${file}|${label}`]
  const machine = run.device?.name ?? run.cpu?.model ?? 'unknown machine'
  const toolkit = run.toolkit ? `, CUDA ${run.toolkit}` : ''
  return `${machine}${toolkit}, ${run.date.slice(0, 10)}: ${words(problem)}, ${sizesOf(row)}`
}

// 'faster' in numbers and words, never in colour alone.
export function change(before, after) {
  if (!before || !after) return NOTHING
  const ratio = before / after
  if (Math.abs(ratio - 1) < 0.005) return 'as fast'
  return ratio > 1 ? `${significant(ratio)}× faster` : `${significant(1 / ratio)}× slower`
}

// How a number changed: { what, verdict }; the verdict is a word, too, never a colour alone.
function moved(a, b, better) {
  if (!isThere(a) || !isThere(b)) return { what: '', verdict: '' }
  if (Math.abs(b / a - 1) < 0.005) return { what: 'the same', verdict: '' }
  const isMore = b > a
  const verdict = !better ? '' : isMore === (better === 'more') ? 'better' : 'worse'
  return { what: `${isMore ? '▲' : '▼'} ${times(b / a)}, ${verdict || (isMore ? 'more' : 'fewer')}`, verdict }
}

// The lines of the table of two rungs: { title, left, right, what, verdict, by: how much it moved, isCount }.
export function measuredLines(rowA, rowB, sameRun) {
  const lines = []
  const line = (title, a, b, form, better, isCount) => {
    const shown = (value) => (isThere(value) ? form(value) : NOTHING)
    const by = sameRun && isThere(a) && isThere(b) ? Math.abs(Math.log(Math.abs(b / a))) : 0
    lines.push({ title, left: shown(a), right: shown(b), by, isCount, ...(sameRun ? moved(a, b, better) : { what: '', verdict: '' }) })
  }
  for (const [key, title, form, better] of METRICS) {
    const [a, b] = [rowA?.[key], rowB?.[key]]
    if (!isThere(a) && !isThere(b)) continue
    line(title, a, b, form, better, false)
    if (key === 'median_ms' && sameRun && a && b) lines.at(-1).what = change(a, b)
  }
  for (const { title, values: [a, b], better } of countsOf(rowA, rowB)) line(title, a, b, count, better, true)
  return lines
}

const WHO = ['counters', 'simt']
const has = (row, who) => Object.values(row?.[who] ?? {}).some(isThere)
const whoCounted = (rows) => WHO.find((who) => rows.every((row) => has(row, who))) ?? WHO.find((who) => rows.some((row) => has(row, who)))

// The counts of some rows, if possible by one who counted them all: [{ title, values }].
export function countsOf(...rows) {
  const who = whoCounted(rows)
  return (who === 'simt' ? COUNTED_BY_SIMT : COUNTERS)
    .map(([key, title, unit = 1, better = '']) => ({ title, better, values: rows.map((row) => inUnits(row?.[who]?.[key], unit)) }))
    .filter(({ values }) => values.some(isThere))
}

// ' Counted with --size 256.' or ' Counted by simt, at n = 1,000,003.' The keys are those of the rows.
export function howCounted(keys, runs, ...rows) {
  if (!countsOf(...rows).length) return ''
  const of = keys.filter(Boolean).map((key) => key.split('|')).map(([file, run, problem]) => [runs[`${file}|${run}`], problem])
  if (whoCounted(rows) !== 'simt') return ` Counted with ${of.map(([run]) => run.counted_with).find(Boolean)}.`
  const sizes = of.map(([run, problem]) => run.simt_counted_at[problem]).find(Boolean)
  return ` Counted by simt, at ${Object.entries(sizes).map(([name, size]) => `${name} = ${grouped(size)}`).join(', ')}.`
}

export const count = (value) =>
  value === null || value === undefined ? NOTHING : Number.isInteger(value) ? grouped(value) : significant(value)

// Why a row has no time, for those that were skipped or were wrong.
export const whyNone = (row) => (row && row.median_ms === null ? escape(row.reason || row.status) : '')
