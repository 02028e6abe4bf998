// What results/ holds about a rung, or about two beside each other.

import { NOTHING, escape, grouped, significant, words } from './format.mjs'

const times = (value) => `${significant(value)}×`
const percent = (value) => (value === null || value === undefined ? NOTHING : value.toFixed(1))

// key, title, how it is printed, whether less or more of it is better ('' if neither).
export const METRICS = [
  ['median_ms', 'Time, ms', significant, 'less'],
  ['min_ms', 'Fastest, ms', significant, ''],
  ['max_ms', 'Slowest, ms', significant, ''],
  ['gbps', 'GB/s', significant, ''],
  ['gflops', 'TFLOP/s', (v) => significant(v / 1000), ''],
  ['percent_of_roof', '% of peak', percent, ''],
  ['ratio_to_peer', '× library', (v) => v.toFixed(2), ''],
  ['speedup', 'Over one core', times, ''],
  ['extra_bytes', 'Extra memory, MB', (v) => significant(v / 1e6), 'less'],
]
// By Nsight Compute, on the GPU.
const COUNTERS = [
  ['load_sectors_per_request', 'Sectors per load'],
  ['store_sectors_per_request', 'Sectors per store'],
  ['shared_load_conflict', 'Shared load conflict'],
  ['shared_store_conflict', 'Shared store conflict'],
  ['active_lanes', 'Active lanes'],
  ['divergent_branches', 'Divergent branches'],
  ['barriers', 'Barriers'],
  ['atomics', 'Atomics'],
]

// By simt, where the GPU's counters are missing; some in millions.
const COUNTED_BY_SIMT = [
  ['moved_bytes', 'Moved, MB', 1e6],
  ['load_sectors', 'Sectors per load'],
  ['store_sectors', 'Sectors per store'],
  ['conflict', 'Bank conflict'],
  ['active_lanes', 'Active lanes'],
  ['barriers', 'Barriers'],
  ['atomics', 'Atomics'],
  ['tensor_operations', 'Tensor operations, M', 1e6],
]

const isThere = (value) => value !== null && value !== undefined && value !== 0
const inUnits = (value, unit) => (isThere(value) ? value / unit : value)
const isDefault = (key) => key.split('|')[1].endsWith('/default')
const first = (keys) => keys.find(isDefault) ?? keys[0]

// A key of `rows` for each side: of one run and problem where there is one, default runs first.
export function chooseRows(a, b) {
  const both = first(Object.keys(a).filter((key) => key in b))
  return both ? [both, both] : [first(Object.keys(a)), first(Object.keys(b))]
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

export const sizesOf = (row) =>
  Object.entries(row.sizes ?? {}).map(([name, value]) => `${name} = ${grouped(value)}`).join(', ')

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

const moved = (a, b) => {
  if (!isThere(a) && !isThere(b)) return ''
  if (!isThere(a) || !isThere(b)) return ''
  return Math.abs(b / a - 1) < 0.005 ? 'the same' : times(b / a)
}

// The lines of the table of two rungs: [title, left, right, change].
export function measuredLines(rowA, rowB, sameRun) {
  const lines = []
  for (const [key, title, form, better] of METRICS) {
    const [a, b] = [rowA?.[key], rowB?.[key]]
    if (!isThere(a) && !isThere(b)) continue
    const shown = (value) => (isThere(value) ? form(value) : NOTHING)
    const what = !sameRun ? '' : key === 'median_ms' ? change(a, b) : better ? moved(a, b) : ''
    lines.push([title, shown(a), shown(b), what])
  }
  for (const { title, values: [a, b] } of countsOf(rowA, rowB)) lines.push([title, count(a), count(b), moved(a, b)])
  return lines
}

const WHO = ['counters', 'simt']
const has = (row, who) => Object.values(row?.[who] ?? {}).some(isThere)
const whoCounted = (rows) => WHO.find((who) => rows.every((row) => has(row, who))) ?? WHO.find((who) => rows.some((row) => has(row, who)))

// The counts of some rows, if possible by one who counted them all: [{ title, values }].
export function countsOf(...rows) {
  const who = whoCounted(rows)
  return (who === 'simt' ? COUNTED_BY_SIMT : COUNTERS)
    .map(([key, title, unit = 1]) => ({ title, values: rows.map((row) => inUnits(row?.[who]?.[key], unit)) }))
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
