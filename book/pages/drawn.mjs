// The figures of a ladder, drawn from results/: how far each rung is up to the peak, what each step
// gains, the roofline, the sweeps.

import { bars, lines, roofline } from '../lib/figures.mjs'
import { significant, words } from '../lib/format.mjs'
import { commonKey, gainOf, whereFrom } from '../lib/measured.mjs'

// In which unit a sweep counts whose columns do not say it, by problem and name of the sweep.
const UNITS = {
  'branch|percent': 'ms', 'branch|run': 'ms', 'branch|steps': 'cycles', 'histogram|bins': 'ms',
  'sum|size': 'GB/s', 'scan|size': 'GB/s', 'attention|n': 'TFLOP/s', 'attention_bf16|n': 'TFLOP/s', 'attention_fp16|n': 'TFLOP/s',
  'bf16_gemm|shape': 'TFLOP/s', 'attention_bf16|shape': 'TFLOP/s', 'backward_bf16|shape': 'TFLOP/s', 'decode_bf16|shape': 'µs', 'ring_attention|tokens': 'TFLOP/s',
  'all_reduce|messages': 'µs', 'all_reduce_bf16|messages': 'µs', 'device_copy|bytes_us': 'µs', 'device_exchange|bytes_us': 'µs',
  'device_copy|bytes_gbps': 'GB/s', 'device_exchange|bytes_gbps': 'GB/s', 'device_copy|blocks': 'GB/s', 'device_exchange|blocks': 'GB/s',
}
const ENDINGS = { _tflops: 'TFLOP/s', _gbps: 'GB/s', _ms: 'ms', _us: 'µs' }
const MOST_SHAPES = 30 // that fit beside each other
const POSITIONS = ['bytes', 'n', 'm']
// What is no series: sizes, and what is said beside a time.
const SIZES = ['m', 'n', 'k', 'd', 'causal', 'heads', 'batch', 'devices', 'bytes']
const isBeside = (key, value) => SIZES.includes(key) || typeof value !== 'number' || /(^|_)over_|_error$/.test(key)

// The columns of a sweep that are series of one unit: { unit, names: { column: title } }.
function seriesOf({ problem, sweep, points }) {
  const columns = [...new Set(points.flatMap(Object.keys))].filter((key) => key !== sweep)
  if (columns.includes('gbps')) return { unit: 'GB/s', names: { gbps: 'useful bytes', ...(columns.includes('moved_gbps') ? { moved_gbps: 'all bytes moved' } : {}) } }
  for (const [ending, unit] of Object.entries(ENDINGS)) {
    const found = columns.filter((key) => key.endsWith(ending))
    if (found.length > 1) return { unit, names: Object.fromEntries(found.map((key) => [key, words(key.slice(0, -ending.length))])) }
  }
  const unit = UNITS[`${problem}|${sweep}`]
  const names = columns.filter((key) => !isBeside(key, points.find((point) => key in point)[key]))
  return unit && { unit, names: Object.fromEntries(names.map((key) => [key, words(key)])) }
}

// A name for each point of a sweep over shapes, of as few sizes as tell them apart: '4,096 × 4,096 × 64', 'd 64, n 512, causal'.
function shapesOf(points) {
  const isOne = (keys) => new Set(points.map((point) => keys.map((key) => point[key]).join())).size === points.length
  let keys = SIZES.filter((key) => new Set(points.map((point) => point[key])).size > 1)
  for (const key of ['devices', 'batch', 'heads']) if (isOne(keys.filter((one) => one !== key))) keys = keys.filter((one) => one !== key)
  if (keys.every((key) => /^[mnk]$/.test(key))) {
    const sides = ['m', 'n', 'k'].filter((key) => points[0][key] !== undefined)
    return { label: sides.join(' × '), names: points.map((point) => sides.map((key) => point[key]).join(' × ')) }
  }
  const said = (point) => (key) => (key !== 'causal' ? `${key} ${point[key]}` : point.causal ? key : '')
  return { label: 'shape', names: points.map((point) => keys.map(said(point)).filter(Boolean).join(', ')) }
}

function sweepFigure(run, sweep) {
  const { points } = sweep
  const varies = (key) => new Set(points.map((p) => p[key])).size > 1
  const position = [sweep.sweep, ...POSITIONS].find(varies)
  const found = seriesOf(sweep)
  if (!found || !position || points.length < 3) return ''
  const on = points[0].devices ? `, ${points[0].devices} GPUs` : ''
  const title = `${words(sweep.problem)} by ${words(sweep.sweep)}${on}: ${[run.program, run.arguments].filter(Boolean).join(' ')}`
  // Shapes of several sides have no order: each is a name of its own.
  const sides = ['m', 'n', 'k'].filter((key) => points[0][key] !== undefined)
  if (sweep.sweep === 'shape' || (points[0][sweep.sweep] === undefined && sides.length > 1 && varies('n'))) {
    const series = Object.entries(found.names).map(([key, name]) => ({ name, points: points.map((p, i) => [i, p[key]]) }))
    const { label, names } = shapesOf(points)
    if (names.length > MOST_SHAPES) return ''
    return lines({ title, series, xLabel: label, yLabel: found.unit, categories: names })
  }
  // Where a second number was swept too (bytes_each), each of its values is a line of its own.
  const isTwice = new Set(points.map((p) => p[position])).size < points.length
  const second = isTwice && Object.keys(points[0]).find((key) => key !== position && !(key in found.names) && !/_ms$/.test(key) && new Set(points.map((p) => p[key])).size < points.length)
  const groups = second ? [...new Set(points.map((p) => p[second]))] : [null]
  const series = groups.flatMap((value) => {
    const those = second ? points.filter((p) => p[second] === value) : points
    return Object.entries(found.names).map(([key, name]) => ({ name: second ? `${words(second)} ${value}` : name, points: those.map((p) => [p[position], p[key]]) }))
  })
  return lines({ title, series, xLabel: words(position), yLabel: found.unit })
}

function ladderFigures(problem, runs) {
  const key = commonKey(problem.rungs)
  if (!key) return []
  const measured = problem.rungs.filter((rung) => rung.rows[key]?.median_ms)
  const row = (rung) => rung.rows[key]
  const [file, label, name] = key.split('|')
  const run = runs[`${file}|${label}`]
  const from = whereFrom(key, row(measured[0]), runs)
  const isRung = (other) => problem.rungs.some((rung) => rung.name === other.name)
  const peers = run.others.filter((other) => other.problem === name && other.kind === 'peer' && other.percent_of_roof && !isRung(other))
  const all = [...measured.map((rung) => ({ ...row(rung), kind: '' })), ...peers.map((peer) => ({ ...peer, kind: 'peer' }))].filter((r) => r.percent_of_roof && r.place === 'device')
  const out = []
  if (all.length) {
    out.push(bars({
      title: `Share of what the chip allows, libraries last. ${from}`,
      unit: '% of peak',
      most: 100,
      rows: all.map((r) => ({ name: r.name, value: Math.min(100, r.percent_of_roof), shown: `${r.percent_of_roof.toFixed(1)} %`, kind: r.kind })),
    }))
  }
  // Each against the one that stands before it, where one run timed both; no gap is bridged.
  const road = problem.rungs.filter((rung) => !rung.beyond)
  const steps = road.slice(1).flatMap((rung, i) => {
    const gain = gainOf(road[i], rung, key)
    return gain ? [{ name: rung.name, value: gain.factor, shown: `${significant(gain.factor)}×${gain.elsewhere ? ' *' : ''}`, elsewhere: gain.elsewhere }] : []
  })
  const others = [...new Set(steps.map(({ elsewhere }) => elsewhere).filter(Boolean))].map((at) => `; * ${at}`)
  if (steps.length > 1) {
    out.push(bars({ title: `What each step gains: the time before over the time after (below 1 it loses). ${from}${others.join('')}`, unit: 'times', factors: true, rows: steps }))
  }
  const device = run.device
  const rated = all.filter((r) => r.gflops && r.gbps && r.percent_of_roof)
  if (device?.peak_bandwidth_gbps && rated.length > 2) {
    // Where arithmetic is the limit, 100 % is the peak of the units that were used.
    const best = rated.reduce((a, b) => (a.gflops > b.gflops ? a : b))
    const roof = (100 * best.gflops) / best.percent_of_roof
    const isBytes = Math.abs(roof / ((best.gflops / best.gbps) * device.peak_bandwidth_gbps) - 1) < 0.02
    const peak = isBytes ? device.peak_fp32_gflops : roof
    const points = rated.map((r) => ({ name: r.name, intensity: r.gflops / r.gbps, rate: r.gflops / 1000 }))
    out.push(roofline({ title: `Roofline: every rung under the bandwidth (slope) and the ${isBytes ? 'fp32 arithmetic' : 'arithmetic'} (level). ${from}`, bandwidth: device.peak_bandwidth_gbps / 1000, peak: peak / 1000, points }))
  }
  return out
}

const problemsOf = ({ rungs }) => rungs.flatMap((rung) => [...new Set(Object.keys(rung.rows).map((key) => key.split('|')[2]))])

// `all`: every ladder. A sweep stands on the page of the ladder of which it has most rungs.
export function figuresOf(problem, runs, all) {
  const folder = problem.id.split('/').at(-1)
  const count = (ladder, name) => problemsOf(ladder).filter((one) => one === name).length
  const most = (name) => Math.max(...all.filter(({ chapter }) => chapter === problem.chapter).map((ladder) => count(ladder, name)))
  const problems = new Set(problemsOf(problem).filter((name) => count(problem, name) === most(name)))
  const sweeps = Object.entries(runs)
    .filter(([key]) => key.split('|')[1].startsWith(`${problem.chapter}/`))
    .flatMap(([, run]) => run.sweeps.filter((sweep) => problems.has(sweep.problem) || sweep.problem === folder).map((sweep) => sweepFigure(run, sweep)))
  const drawn = [...ladderFigures(problem, runs), ...sweeps].filter(Boolean)
  return drawn.length ? `<h2>Figures</h2>\n<div class="figures">${drawn.join('\n')}</div>` : ''
}
