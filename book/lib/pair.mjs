// Two rungs side by side, as HTML: what was measured, what the step cost and gained, the code.
// Runs at build time for neighbours, and in the browser for any two. A rung's lines are those of its
// file and of the kernels in other files that it launches; `numbers` says where each stands there.

import { isChange, rows, stretches } from './diff.mjs'
import { NOTHING, escape, grouped, withOptions } from './format.mjs'
import { chooseRows, gainOf, howCounted, isOneRun, measuredLines, whereFrom, whyNoGain, whyNone } from './measured.mjs'
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

const withPlace = ({ said, elsewhere }) => `${said === 'as fast' ? 'no time' : said}${elsewhere ? ` (${escape(elsewhere)})` : ''}`

// What the step gained and what it cost, in a few sentences. `last`: the last rung of the main road, and what `b` gains
// over that, where `b` stands beside the road and `a` is another.
function balance(a, b, all, linkTo, common, last) {
  const size = (kind) => all.filter((row) => row.kind === kind).length
  const cost = [
    plural(size('changed'), 'line') + ' changed',
    `${size('added')} added`,
    `${size('removed')} removed`,
  ]
  const fresh = b.kit.filter((path) => !a.kit.includes(path))
  const kit = fresh.map((path) => `<a href="${linkTo(path)}"><code>${escape(path.split('/').slice(-2).join('/'))}</code></a>`)
  const gain = gainOf(a, b, common)
  const said = gain ? withPlace(gain) : escape(whyNoGain(a, b))
  // A rung beyond the main road is no step of the one that happens to stand before it; nor is one that does other work.
  const what = b.beyond || gain?.isOtherWork ? `Beside ${escape(a.name)}` : !gain ? 'Not compared' : gain.said.endsWith('slower') ? 'Lost' : 'Gained'
  const further = last ? ` <strong>Beside ${escape(last.name)}, the last of the main road:</strong> ${withPlace(last.gain)}.` : ''
  return `<p class="balance"><strong>${what}:</strong> ${said}.${further}
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

// A large step in one table: by which instructions each of the two copies, waits, multiplies and exchanges, its own and
// those of what it stands on; and of what else their files say, what differs. (model.py reads both.)
const LARGE = 30 // changed lines

function doings(a, b, all) {
  if (all.filter(isChange).length < LARGE) return ''
  const rowsOf = (kind) => Object.keys(a[kind]).map((title) => ({ title, said: [Object.entries(a[kind][title]), Object.entries(b[kind][title])] }))
  const differs = ({ said }) => new Set(said.map((side) => side.map(([name]) => name).sort().join())).size > 1
  const does = rowsOf('does').filter(({ said }) => said.some((side) => side.length))
  const shown = [...(does.some(differs) ? does : []), ...rowsOf('holds').filter(differs)]
  if (!shown.length) return ''
  const cell = (rung, said, other) => {
    const one = ([name, line]) => {
      const code = `<code>${escape(name)}</code>`
      const linked = line ? `<a href="${rung.source}#L${line}">${code}</a>` : code
      return other.some(([same]) => same === name) ? linked : `<strong>${linked}</strong>`
    }
    return `<td data-of="${escape(rung.name)}">${said.map(one).join(', ') || '<span class="quiet">nothing</span>'}</td>`
  }
  const lines = shown.map(({ title, said: [x, y] }) => `<tr><th scope="row">${title}</th>${cell(a, x, y)}${cell(b, y, x)}</tr>`)
  return `<div class="wide" tabindex="0" role="region" aria-label="Who does what"><table class="doings">
<thead><tr><td></td><th scope="col">${escape(a.name)}</th><th scope="col">${escape(b.name)}</th></tr></thead><tbody>${lines.join('')}</tbody></table></div>`
}

// Kernels alone are shown at first where the change is in them.
const startsWithKernels = (all, a, b) => all.some((row) => isChange(row) && isInKernel(row, a, b))

// `linkTo` turns a path of the repository into a link from this page; `note` is HTML; `common` is the run of the
// ladder's table; `last` as above.
export function pairHtml({ a, b, runs, linkTo, note = '', common, last }) {
  const all = changesOf(a, b)
  const keys = chooseRows(a.rows, b.rows, common)
  const [rowA, rowB] = [a.rows[keys[0]], b.rows[keys[1]]]
  const lines = measuredLines(rowA, rowB, isOneRun(keys[0], rowA, keys[1], rowB))
  return `${balance(a, b, all, linkTo, common, last)}
${brief(lines)}
${doings(a, b, all)}
<p class="switch"><label><input type="checkbox" id="kernels"${startsWithKernels(all, a, b) ? ' checked' : ''}> kernels only</label>
<label class="only-wide"><input type="checkbox" id="unified"> one column</label>
<span class="quiet">− removed, + added; changed words are marked.</span></p>
${code(a, b, all)}
<div class="about">${measured(a, b, lines, keys, runs)}<div>${note}</div></div>`
}
