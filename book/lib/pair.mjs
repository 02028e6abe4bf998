// Two rungs side by side, as HTML: what was measured, what the step cost and gained, the code.
// Runs at build time for neighbours, and in the browser for any two. A rung's lines are those of its
// file and of the kernels in other files that it launches; `numbers` says where each stands there.

import { isChange, rows, stretches } from './diff.mjs'
import { NOTHING, escape, grouped, withOptions } from './format.mjs'
import { chooseRows, gainOf, howCounted, measuredLines, whereFrom, whyNone } from './measured.mjs'
import { lineHtml, markedHtml, textOf } from './tokens.mjs'

// A line longer than this may wrap, and then goes on by so many columns further in than it begins.
const [MAY_WRAP, FURTHER, MOST_IN] = [40, 4, 16]

const MARKS = { same: ' ', wrapped: ' ', changed: '~', removed: '−', added: '+' }
const SAID = { changed: 'changed', removed: 'removed', added: 'added' }

const asVersion = (rung) => ({ name: rung.name, own: rung.own, lines: rung.lines.map(textOf) })
const plural = (number, noun) => `${grouped(number)} ${noun}${number === 1 ? '' : 's'}`

export const titleOf = (rung) => `${rung.beyond ? 'beyond ' : ''}${rung.number} ${rung.name}`
export const changesOf = (a, b) => rows(asVersion(a), asVersion(b))

// In one line, before the code: the time, the share of the peak, and the counts that moved most.
const MOST = 4
function brief(lines) {
  const always = ['Time, ms', '% of peak'].flatMap((name) => lines.filter(({ title, by }) => title === name && by > 0))
  const counts = lines.filter(({ isCount, by }) => isCount && by > 0.005).sort((x, y) => y.by - x.by)
  const items = [...always, ...counts].slice(0, MOST)
  const item = ({ title, left, right, what, verdict }) =>
    `<div><dt>${escape(title)}</dt><dd>${left} → ${right} <span class="change ${verdict}">${escape(what)}</span></dd></div>`
  return items.length ? `<dl class="brief">${items.map(item).join('')}</dl>` : ''
}

function measured(a, b, lines, [keyA, keyB], runs) {
  const [rowA, rowB] = [a.rows[keyA], b.rows[keyB]]
  if (!lines.length) return '<p class="quiet">Neither is measured in results/.</p>'
  const cells = lines.map(({ title, left, right, what, verdict }) => {
    const change = `<td class="change ${verdict}">${escape(what)}</td>`
    return `<tr><th scope="row">${escape(title)}</th><td>${escape(left)}</td><td>${escape(right)}</td>${change}</tr>`
  })
  const [fromA, fromB] = [whereFrom(keyA, rowA, runs), whereFrom(keyB, rowB, runs)]
  const from = fromA === fromB ? fromA : `Left: ${fromA}. Right: ${fromB}`
  const notes = [whyNone(rowA), whyNone(rowB)].filter(Boolean)
  return `<div><div class="wide" tabindex="0" role="region" aria-label="Measured"><table class="measured">
<thead><tr><td></td><th scope="col">${escape(a.name)}</th><th scope="col">${escape(b.name)}</th><th scope="col">Change</th></tr></thead>
<tbody>${cells.join('\n')}</tbody></table></div>
<p class="quiet">${escape(from)}.${withOptions(howCounted([keyA, keyB], runs, rowA, rowB))}${notes.length ? ` No time: ${notes.join('; ')}.` : ''}</p></div>`
}

// What the step gained and what it cost, in one or two sentences.
function balance(a, b, all, linkTo, common) {
  const size = (kind) => all.filter((row) => row.kind === kind).length
  const cost = [
    plural(size('changed'), 'line') + ' changed',
    `${size('added')} added`,
    `${size('removed')} removed`,
  ]
  const fresh = b.kit.filter((path) => !a.kit.includes(path))
  const kit = fresh.map((path) => `<a href="${linkTo(path)}"><code>${escape(path.split('/').slice(-2).join('/'))}</code></a>`)
  const gain = gainOf(a, b, common)
  const step = gain?.said ?? NOTHING
  const said = { [NOTHING]: 'not measured in one run', 'as fast': 'no time' }[step] ?? step
  // A rung beyond the main road is no step of the one that happens to stand before it.
  const what = b.beyond ? `Beside ${escape(a.name)}` : step.endsWith('slower') ? 'Lost' : 'Gained'
  return `<p class="balance"><strong>${what}:</strong> ${said}${gain?.elsewhere ? ` (${escape(gain.elsewhere)})` : ''}.
<strong>Cost:</strong> ${cost.join(', ')}${kit.length ? `; it stands on ${kit.join(', ')}, which the other does not` : ''}.</p>`
}

// Where nearly every word is another one, marks say nothing that the line's own does not.
export const isMostlyKept = (marks, text) => marks.reduce((sum, [first, end]) => sum + end - first, 0) < 0.6 * text.length

function isInKernel({ left, right }, a, b) {
  const isIn = (rung, i) => i !== null && rung.kernels.some(([first, last]) => first <= i + 1 && i + 1 <= last)
  return isIn(a, left) || isIn(b, right)
}

function hanging(text) {
  const begins = text.search(/\S/)
  return text.length > MAY_WRAP ? ` style="--in:${Math.min(begins + FURTHER, MOST_IN)}"` : ''
}

function codeRow(row, a, b) {
  const [left, right] = [row.left === null ? null : a.lines[row.left], row.right === null ? null : b.lines[row.right]]
  let [leftHtml, rightHtml] = [left && lineHtml(left), right && lineHtml(right)]
  const { marks } = row
  if (marks && isMostlyKept(marks.added, textOf(right))) {
    leftHtml = markedHtml(left, marks.removed, 'del')
    rightHtml = markedHtml(right, marks.added, 'ins')
  }
  const said = SAID[row.kind] ? `<i class="sr">${SAID[row.kind]}: </i>` : ''
  const host = isInKernel(row, a, b) ? '' : ' host'
  const side = (rung, html, index, mark) =>
    html === null
      ? '<td class="n"></td><td class="none"></td>'
      : `<td class="n">${rung.numbers[index] ?? ''}</td><td class="line" data-mark="${mark}"${hanging(textOf(rung.lines[index]))}>${html === '' ? '' : said + html}</td>`
  const [markA, markB] = row.kind === 'changed' ? ['−', '+'] : [MARKS[row.kind], MARKS[row.kind]]
  return `<tr class="${row.kind}${host}">${side(a, leftHtml, row.left, markA)}${side(b, rightHtml, row.right, markB)}</tr>`
}

const table = (part, a, b) =>
  `<table class="diff"><tbody>${part.rows.map((row) => codeRow(row, a, b)).join('\n')}</tbody></table>`

function code(a, b, all) {
  const heads = [a, b].map((rung) => `<div><a href="${rung.source}">${escape(rung.path)}</a></div>`)
  const parts = stretches(all).map((part) => {
    if (!part.folded) return table(part, a, b)
    const html = table(part, a, b)
    const isHost = !/<tr class="(?:same|wrapped)">/.test(html)
    return `<details${isHost ? ' class="host"' : ''}><summary>${plural(part.rows.length, 'unchanged line')}</summary>${html}</details>`
  })
  return `<div class="sides"><div class="heads">${heads.join('')}</div>${parts.join('\n')}</div>`
}

// A large step in one table: by which instructions each of the two copies, waits, multiplies and exchanges; its own and
// those of what it stands on.
const LARGE = 30 // changed lines
const DOES = [
  ['Copies by', /^(?:tensor_(?:load|store)\w*|cp_async(?!_(?:wait|commit))\w*|bulk_copy\w*|ldmatrix\w*|stmatrix\w*|(?:load|store)_matrix_sync|__pipeline_memcpy_async|cp_reduce\w+)$/],
  ['Waits by', /^(?:__sync\w+|mbarrier_\w*(?:wait|arrive|expect)\w*|\w+_wait_group\w*|(?:cp_async|griddepcontrol|cluster)_wait\w*|cluster_arrive\w*|__pipeline_wait_prior|named_barrier_\w+|grid_?sync)$/],
  ['Multiplies by', /^(?:wgmma(?!_(?:fence|commit|wait))\w*|mma_\w+|fmaf)$/],
  ['Exchanges by', /^(?:__shfl\w+|__ballot\w*|__any_sync|__all_sync|__reduce\w+|atomic[A-Z]\w*)$/],
]

// name -> the first line of the rung's own file where its kernels call it, or what calls it; or 0 where another file does.
function callsOf(rung, pattern) {
  const found = new Map()
  const add = (name, line) => pattern.test(name) && !found.get(name) && found.set(name, line)
  const others = rung.numbers.indexOf(null) // the name of another file, whose kernel follows
  rung.lines.forEach((tokens, i) => {
    if (!isInKernel({ left: i, right: null }, rung, rung)) return
    const code = textOf(tokens).replace(/\/\/.*/, '')
    const line = others < 0 || i < others ? rung.numbers[i] : 0
    for (const [name] of code.matchAll(/\w+(?=[<(])/g)) add(name, line)
    for (const [name] of code.matchAll(/\w+/g)) if (Object.hasOwn(rung.helpers, name)) rung.helpers[name].forEach((one) => add(one, line))
  })
  Object.values(rung.helpers).flat().forEach((name) => add(name, 0))
  return found
}

function doings(a, b, all) {
  if (all.filter(isChange).length < LARGE) return ''
  const sides = (pattern) => [callsOf(a, pattern), callsOf(b, pattern)]
  const lines = DOES.map(([title, pattern]) => ({ title, calls: sides(pattern) })).filter(({ calls: [x, y] }) => x.size || y.size)
  const differs = lines.some(({ calls: [x, y] }) => [...x.keys()].sort().join() !== [...y.keys()].sort().join())
  if (!differs) return ''
  const cell = (rung, calls, other) => {
    const one = ([name, line]) => {
      const code = `<code>${escape(name)}</code>`
      const shown = line ? `<a href="${rung.source}#L${line}">${code}</a>` : code
      return other.has(name) ? shown : `<strong>${shown}</strong>`
    }
    return `<td data-of="${escape(rung.name)}">${[...calls].map(one).join(', ') || '<span class="quiet">no such instruction</span>'}</td>`
  }
  const rows = lines.map(({ title, calls: [x, y] }) => `<tr><th scope="row">${title}</th>${cell(a, x, y)}${cell(b, y, x)}</tr>`)
  return `<div class="wide" tabindex="0" role="region" aria-label="Who does what"><table class="doings">
<thead><tr><td></td><th scope="col">${escape(a.name)}</th><th scope="col">${escape(b.name)}</th></tr></thead><tbody>${rows.join('')}</tbody></table></div>`
}

// Kernels alone are shown at first where the change is in them.
const startsWithKernels = (all, a, b) => all.some((row) => isChange(row) && isInKernel(row, a, b))

// `linkTo` turns a path of the repository into a link from this page; `note` is HTML; `common` is the run of the
// ladder's table.
export function pairHtml({ a, b, runs, linkTo, note = '', common }) {
  const all = changesOf(a, b)
  const keys = chooseRows(a.rows, b.rows, common)
  const lines = measuredLines(a.rows[keys[0]], b.rows[keys[1]], keys[0] === keys[1])
  return `${balance(a, b, all, linkTo, common)}
${brief(lines)}
${doings(a, b, all)}
<p class="switch"><label><input type="checkbox" id="kernels"${startsWithKernels(all, a, b) ? ' checked' : ''}> kernels only</label>
<label class="only-wide"><input type="checkbox" id="unified"> one column</label>
<span class="quiet">− removed, + added; changed words are marked.</span></p>
${code(a, b, all)}
<div class="about">${measured(a, b, lines, keys, runs)}<div>${note}</div></div>`
}
