// Two rungs side by side, as HTML: what was measured, what the step cost and gained, the code.
// Runs at build time for neighbours, and in the browser for any two. A rung's lines are those of its
// file and of the kernels in other files that it launches; `numbers` says where each stands there.

import { rows, stretches, wordMarks } from './diff.mjs'
import { NOTHING, escape } from './format.mjs'
import { change, chooseRows, howCounted, measuredLines, whereFrom, whyNone } from './measured.mjs'
import { lineHtml, markedHtml } from './tokens.mjs'

const MARKS = { same: ' ', changed: '~', removed: '−', added: '+' }
const SAID = { changed: 'changed', removed: 'removed', added: 'added' }

const textOf = (tokens) => tokens.map(([text]) => text).join('')
const asVersion = (rung) => ({ name: rung.name, own: rung.own, lines: rung.lines.map(textOf) })
const plural = (number, noun) => `${number} ${noun}${number === 1 ? '' : 's'}`

export const titleOf = (rung) => `${rung.beyond ? 'beyond ' : ''}${rung.number} ${rung.name}`

function measured(a, b, runs) {
  const [keyA, keyB] = chooseRows(a.rows, b.rows)
  const [rowA, rowB] = [a.rows[keyA], b.rows[keyB]]
  const lines = measuredLines(rowA, rowB, keyA === keyB)
  if (!lines.length) return '<p class="quiet">Neither is measured in results/.</p>'
  const cells = lines.map((line) => {
    const [title, ...values] = line.map(escape)
    return `<tr><th scope="row">${title}</th>${values.map((v) => `<td>${v}</td>`).join('')}</tr>`
  })
  const [fromA, fromB] = [whereFrom(keyA, rowA, runs), whereFrom(keyB, rowB, runs)]
  const from = fromA === fromB ? fromA : `Left: ${fromA}. Right: ${fromB}`
  const notes = [whyNone(rowA), whyNone(rowB)].filter(Boolean)
  return `<div><div class="wide" tabindex="0" role="region" aria-label="Measured"><table class="measured">
<thead><tr><td></td><th scope="col">${escape(a.name)}</th><th scope="col">${escape(b.name)}</th><th scope="col">Change</th></tr></thead>
<tbody>${cells.join('\n')}</tbody></table></div>
<p class="quiet">${escape(from)}.${escape(howCounted([keyA, keyB], runs, rowA, rowB))}${notes.length ? ` No time: ${notes.join('; ')}.` : ''}</p></div>`
}

// What the step gained and what it cost, in one or two sentences.
function balance(a, b, all, linkTo) {
  const [keyA, keyB] = chooseRows(a.rows, b.rows)
  const size = (kind) => all.filter((row) => row.kind === kind).length
  const cost = [
    plural(size('changed'), 'line') + ' changed',
    `${size('added')} added`,
    `${size('removed')} removed`,
  ]
  const fresh = b.kit.filter((path) => !a.kit.includes(path))
  const kit = fresh.map((path) => `<a href="${linkTo(path)}"><code>${escape(path.split('/').slice(-2).join('/'))}</code></a>`)
  const step = keyA && keyA === keyB ? change(a.rows[keyA].median_ms, b.rows[keyB].median_ms) : NOTHING
  const said = { [NOTHING]: 'not measured in one run', 'as fast': 'no time' }[step] ?? step
  // A rung beyond the main road is no step of the one that happens to stand before it.
  const gain = b.beyond ? `Beside ${escape(a.name)}` : step.endsWith('slower') ? 'Lost' : 'Gained'
  return `<p class="balance"><strong>${gain}:</strong> ${said}.
<strong>Cost:</strong> ${cost.join(', ')}${kit.length ? `; it stands on ${kit.join(', ')}, which the other does not` : ''}.</p>`
}

// Where nearly every word is another one, marks say nothing that the line's own does not.
const isMostlyKept = (marks, text) => marks.reduce((sum, [first, end]) => sum + end - first, 0) < 0.6 * text.length

function codeRow(row, a, b) {
  const [left, right] = [row.left === null ? null : a.lines[row.left], row.right === null ? null : b.lines[row.right]]
  let [leftHtml, rightHtml] = [left && lineHtml(left), right && lineHtml(right)]
  const marks = row.kind === 'changed' && wordMarks(textOf(left), textOf(right))
  if (marks && isMostlyKept(marks.added, textOf(right))) {
    leftHtml = markedHtml(left, marks.removed, 'del')
    rightHtml = markedHtml(right, marks.added, 'ins')
  }
  const said = SAID[row.kind] ? `<i class="sr">${SAID[row.kind]}: </i>` : ''
  const inKernel = (rung, i) => i !== null && rung.kernels.some(([first, last]) => first <= i + 1 && i + 1 <= last)
  const host = inKernel(a, row.left) || inKernel(b, row.right) ? '' : ' host'
  const side = (rung, html, index, mark) =>
    html === null
      ? '<td class="n"></td><td class="none"></td>'
      : `<td class="n">${rung.numbers[index] ?? ''}</td><td class="line" data-mark="${mark}">${html === '' ? '' : said + html}</td>`
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
    const isHost = !/<tr class="same">/.test(html)
    return `<details${isHost ? ' class="host"' : ''}><summary>${plural(part.rows.length, 'unchanged line')}</summary>${html}</details>`
  })
  return `<div class="sides"><div class="heads">${heads.join('')}</div>${parts.join('\n')}</div>`
}

// `linkTo` turns a path of the repository into a link from this page; `note` is HTML.
export function pairHtml({ a, b, runs, linkTo, note = '' }) {
  const all = rows(asVersion(a), asVersion(b))
  return `<div class="about">${measured(a, b, runs)}<div>${balance(a, b, all, linkTo)}${note}</div></div>
<p class="switch"><label><input type="checkbox" id="kernels"> kernels only</label>
<span class="quiet">− removed, + added; changed words are underlined.</span></p>
${code(a, b, all)}`
}
