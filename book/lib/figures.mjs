// Figures of measured numbers as SVG, each with its table; the same at build time and in the browser.

import { scaleLinear, scaleLog } from 'd3-scale'
import { escape, significant } from './format.mjs'

const COLOURS = 6 // --series-1 to --series-6 in style.css
const DASHES = ['', '7 4', '2 3', '9 3 2 3', '1 5'] // five and six: thirty that differ

const number = (value) => (value >= 1000 ? Math.round(value).toLocaleString('en') : significant(value, 2))
const text = (x, y, words, more = '') => `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" ${more}>${escape(words)}</text>`
const line = (x1, y1, x2, y2, kind) => `<line class="${kind}" x1="${x1.toFixed(1)}" y1="${y1.toFixed(1)}" x2="${x2.toFixed(1)}" y2="${y2.toFixed(1)}"/>`

// Numbers in rows, each with a name in front.
export function table({ title, head, rows }) {
  const cells = (row) => row.map((cell, i) => (i ? `<td>${escape(cell)}</td>` : `<th scope="row">${escape(cell)}</th>`)).join('')
  return `<div class="wide" tabindex="0" role="region" aria-label="${escape(title)}"><table class="numbers">
<thead><tr>${head.map((name) => `<th scope="col">${escape(name)}</th>`).join('')}</tr></thead>
<tbody>${rows.map((row) => `<tr>${cells(row)}</tr>`).join('')}</tbody></table></div>`
}

// An SVG with its caption, and the numbers in a table that opens below.
// `narrow`: { width, height, body }, the same for a phone.
export function figure({ title, width = 720, height, body, head, rows, narrow }) {
  const svg = (kind, w, h, inside) => `<svg${kind} viewBox="0 0 ${w} ${h}" width="${w}" role="img" aria-label="${escape(title)}; the numbers are in the table below">${inside}</svg>`
  const small = narrow ? svg(' class="narrow"', narrow.width, narrow.height, narrow.body) : ''
  return `<figure class="drawn"><figcaption>${escape(title)}</figcaption>
${small}<div class="wide${small && ' not-narrow'}" tabindex="0" role="region" aria-label="Figure">${svg('', width, height, body)}</div>
<details><summary>The numbers</summary>${table({ title, head, rows })}</details></figure>`
}

// Factors begin at 1, a loss to its left; they multiply, so equal factors are equally long.
const barScale = (values, { most, factors }, range) =>
  factors ? scaleLog([Math.min(0.9, ...values), Math.max(1.1, ...values)], range) : scaleLinear([0, most ?? Math.max(...values)], range)

function barOf(row, x, zero, y, height) {
  if (!row.value) return ''
  const [left, wide] = [Math.min(zero, x(row.value)), Math.max(1, Math.abs(x(row.value) - zero))]
  return `<rect class="bar ${row.kind ?? ''}" x="${left.toFixed(1)}" y="${y}" width="${wide.toFixed(1)}" height="${height}"/>`
}

// On a phone a bar takes the whole width, its name and number stand above it.
function narrowBars(rows, how) {
  const [width, step] = [340, 36]
  const x = barScale(rows.map((row) => row.value), how, [1, width - 1])
  const zero = x(how.factors ? 1 : 0)
  const each = rows.map((row, i) => text(0, i * step + 12, row.name) + text(width, i * step + 12, row.shown, 'text-anchor="end"') + barOf(row, x, zero, i * step + 17, 10))
  const axis = how.factors ? line(zero, 0, zero, rows.length * step, 'grid') : ''
  return { width, height: rows.length * step, body: axis + each.join('') }
}

// rows: { name, value, shown, note? }; a bar for each, from 0 to `most` or the largest value.
export function bars({ title, rows, most, unit, factors = false }) {
  const [left, right, step] = [190, 110, 24]
  const width = 720
  const x = barScale(rows.map((row) => row.value), { most, factors }, [left, width - right])
  const zero = x(factors ? 1 : 0)
  const grid = (factors ? [...new Set([...ticksOf(x), 1])] : x.ticks(5)).map((tick) => line(x(tick), 6, x(tick), rows.length * step + 8, 'grid') + text(x(tick), rows.length * step + 24, number(tick), 'text-anchor="middle"'))
  const each = rows.map((row, i) => {
    const y = 10 + i * step
    return text(left - 8, y + 13, row.name, 'text-anchor="end"') + barOf(row, x, zero, y, step - 8) + text(Math.max(zero, row.value ? x(row.value) : zero) + 6, y + 13, row.shown)
  })
  return figure({
    title,
    height: rows.length * step + 32,
    body: grid.join('') + each.join(''),
    narrow: narrowBars(rows, { most, factors }),
    head: ['', unit],
    rows: rows.map((row) => [row.name, row.shown]),
  })
}

// Round numbers on an axis: on a logarithmic one 1, 2 and 5 of each decade, or 1 where they are many.
function ticksOf(scale) {
  if (!scale.base) return scale.ticks(6)
  const [low, high] = scale.domain()
  const ticks = (leading) => {
    const found = []
    for (let size = 10 ** Math.floor(Math.log10(low)); size <= high; size *= 10) found.push(...leading.map((digit) => digit * size))
    return found.filter((tick) => low <= tick && tick <= high)
  }
  const all = ticks([1, 2, 5])
  return all.length <= 9 ? all : ticks([1])
}

const short = (value) => {
  const [unit, name] = [[1e9, ' G'], [1e6, ' M'], [1e3, ' k'], [1, '']].find(([size]) => value >= size) ?? [1, '']
  return `${Number((value / unit).toPrecision(3))}${name}`
}

// The names of many categories stand upright, so that none runs into the next one.
const areMany = (categories) => categories.length > 12
function nameBelow(x, bottom, name, isUpright) {
  const [at, turn] = isUpright ? [x + 4, -90] : [x, -40]
  const y = bottom + (isUpright ? 6 : 14)
  return text(at, y, name, `text-anchor="end" transform="rotate(${turn} ${at.toFixed(1)} ${y.toFixed(1)})"`)
}
const roomBelow = (categories) => (!categories ? 0 : areMany(categories) ? Math.ceil(7 * Math.max(...categories.map((name) => name.length))) : 70)

function axes(x, y, { width, height, xLabel, yLabel, categories }) {
  const [[left, right], [bottom, top]] = [x.range(), y.range()]
  return [
    ...ticksOf(y).map((tick) => line(left, y(tick), right, y(tick), 'grid') + text(left - 6, y(tick) + 4, short(tick), 'text-anchor="end"')),
    ...(categories ?? []).map((name, i) => line(x(i), top, x(i), bottom, 'grid') + nameBelow(x(i), bottom, name, areMany(categories))),
    ...(categories ? [] : ticksOf(x)).map((tick) => line(x(tick), top, x(tick), bottom, 'grid') + text(x(tick), bottom + 18, short(tick), 'text-anchor="middle"')),
    text((left + right) / 2, height - 6, xLabel, 'text-anchor="middle"'),
    text(left, top - 8, yLabel, 'text-anchor="start"'),
  ].join('')
}

const spansDecades = (values) => Math.max(...values) / Math.min(...values) >= 30
const scaleFor = (values, range, fromZero) =>
  spansDecades(values) ? scaleLog([Math.min(...values), Math.max(...values)], range) : scaleLinear([fromZero ? 0 : Math.min(...values), Math.max(...values)], range)

// A table whose rows were columns: the longer side goes down the page.
const turned = (head, rows) => ({ head: [head[0], ...rows.map(([name]) => name)], rows: head.slice(1).map((name, i) => [name, ...rows.map((row) => row[i + 1])]) })

// series: { name, points: [[x, y]] }; axes are logarithmic where the numbers span decades. `categories`: x counts these
// names, which have no order of their own, so the points are not joined.
export function lines({ title, series, xLabel, yLabel, categories }) {
  // The names of the series stand beside the lines: as wide as the longest, as high as all.
  const key = 45 + 7.2 * Math.max(...series.map(({ name }) => name.length))
  const [width, height] = [Math.round(560 + key), Math.max(360, 40 + series.length * 22) + roomBelow(categories)]
  const all = series.flatMap(({ points }) => points).filter(([, y]) => y > 0)
  const xs = [...new Set(all.map(([x]) => x))].sort((a, b) => a - b)
  const shift = xs[0] === 0 // a logarithmic axis has no zero
  const bottom = height - 48 - roomBelow(categories)
  const x = categories ? scaleLinear([-0.5, categories.length - 0.5], [64, 550]) : shift ? scaleLinear([0, xs.at(-1)], [64, 550]) : scaleFor(xs, [64, 550])
  const y = scaleFor(all.map(([, value]) => value), [bottom, 28], true)
  // The names stand in the order in which the lines end, the highest first.
  const lastOf = ({ points }) => points.findLast(([, value]) => value > 0)?.[1] ?? 0
  const ranks = new Map([...series].sort((one, other) => lastOf(other) - lastOf(one)).map((one, rank) => [one, rank]))
  const drawn = series.map((one, i) => {
    const { name, points } = one
    const there = points.filter(([, value]) => value > 0)
    const style = `class="line" style="stroke: var(--series-${(i % COLOURS) + 1})" stroke-dasharray="${DASHES[i % DASHES.length]}"`
    const at = 40 + ranks.get(one) * 22
    const [cx, fill] = [(at) => x(at).toFixed(1), `style="fill: var(--series-${(i % COLOURS) + 1})"`]
    if (categories) return there.map(([a, b]) => `<circle ${fill} cx="${cx(a)}" cy="${y(b).toFixed(1)}" r="${i < COLOURS ? 5 : 3}"/>`).join('') + `<circle ${fill} cx="580" cy="${at - 4}" r="${i < COLOURS ? 5 : 3}"/>${text(602, at, name)}`
    return `<polyline ${style} points="${there.map(([a, b]) => `${x(a).toFixed(1)},${y(b).toFixed(1)}`).join(' ')}"/>
<line ${style} x1="565" x2="595" y1="${at - 4}" y2="${at - 4}"/>${text(602, at, name)}`
  })
  const at = (points, wanted) => points.find(([value]) => value === wanted)?.[1]
  const head = [xLabel, ...series.map(({ name }) => name)]
  const rows = xs.map((value) => [categories ? categories[value] : value.toLocaleString('en'), ...series.map(({ points }) => significant(at(points, value)))])
  return figure({
    title,
    width,
    height,
    body: axes(x, y, { width, height, xLabel, yLabel, categories }) + drawn.join(''),
    ...(series.length > xs.length ? turned(head, rows) : { head, rows }),
  })
}

// The roofline of a chip, TB/s and TFLOP/s, and points { name, intensity, rate } under it.
export function roofline({ title, bandwidth, peak, points }) {
  const [width, height] = [720, 380]
  const ridge = peak / bandwidth
  const xs = [...points.map((p) => p.intensity), ridge]
  const x = scaleLog([Math.min(...xs) / 4, Math.max(...xs) * 4], [64, width - 30])
  const y = scaleLog([Math.min(...points.map((p) => p.rate)) / 2, peak * 1.6], [height - 48, 28])
  const roofAt = (intensity) => Math.min(peak, intensity * bandwidth)
  const corners = [x.domain()[0], ridge, x.domain()[1]].map((at) => `${x(at).toFixed(1)},${y(Math.max(roofAt(at), y.domain()[0])).toFixed(1)}`)
  // Of points close together only some can have their names beside them; the table has all.
  let free = Infinity
  const marks = [...points].sort((a, b) => a.rate - b.rate).map((p) => {
    const at = y(p.rate)
    const fits = free - at > 13
    if (fits) free = at
    return `<circle class="point" cx="${x(p.intensity).toFixed(1)}" cy="${at.toFixed(1)}" r="4"/>${fits ? text(x(p.intensity) + 9, at + 4, p.name) : ''}`
  })
  return figure({
    title,
    height,
    body: axes(x, y, { width, height, xLabel: 'operations per byte', yLabel: 'TFLOP/s' }) + `<polyline class="roof" points="${corners.join(' ')}"/>` + marks.join(''),
    head: ['', 'operations per byte', 'TFLOP/s', '% of what the roofline allows'],
    rows: points.map((p) => [p.name, significant(p.intensity), significant(p.rate), ((100 * p.rate) / roofAt(p.intensity)).toFixed(1)]),
  })
}
