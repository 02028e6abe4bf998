// For every problem a page of its ladder, a page for any two of its rungs, and one for each step.

import { escape, relative, significant, words } from '../lib/format.mjs'
import { change, commonKey, whereFrom } from '../lib/measured.mjs'
import { noteOf, opening } from '../lib/notes.mjs'
import { pairHtml, titleOf } from '../lib/pair.mjs'
import { figuresOf } from './drawn.mjs'

const folderOf = (problem) => `compare/${problem.id}`
const nameOf = (problem) => words(problem.id.split('/').at(-1).replace(/^\d\d_/, ''))
const stepOut = (problem, a, b) => `${folderOf(problem)}/${label(a)}..${label(b)}.html`
const label = (rung) => `${rung.beyond ? 'beyond-' : ''}${rung.name}`

// The page of one problem that says what a rung is, for a page at `out`.
function noteHtml(book, rung, problem, out) {
  const lessons = book.lessons.filter(({ source }) => source.startsWith(`${problem.chapter}/`) && !source.includes('/exercises/'))
  const note = noteOf(rung, problem.id, lessons)
  if (!note) return ''
  const elsewhere = book.site.outOf(note.source)
  const env = { source: note.source, out, elsewhere }
  const text = book.md.renderer.render(opening(note.tokens), book.md.options, env)
  const link = `<a href="${relative(out, elsewhere)}#${note.id}">the lesson, ${escape(note.title)}</a>`
  return `<div class="note">${text}<p class="quiet">From ${link}.</p></div>`
}

// A rung with all that its pages need of it, links as from `out`.
function shown(book, rung, out) {
  const lines = [...book.lines(rung.path)]
  const numbers = lines.map((_, i) => i + 1)
  const kernels = [...rung.kernels]
  // The kernels of other files that it launches follow, each under the name of its file.
  for (const [path, first, last] of rung.launched) {
    const own = book.lines(path).slice(first - 1, last)
    kernels.push([lines.length + 1, lines.length + 1 + own.length])
    lines.push([[`[${path}]`, '']], ...own)
    numbers.push(null, ...own.map((_, i) => first + i))
  }
  return { ...rung, lines, numbers, kernels, source: relative(out, book.site.outOf(rung.path)) }
}

function stepPage(book, problem, i) {
  const [a, b] = [problem.rungs[i], problem.rungs[i + 1]]
  const out = stepOut(problem, a, b)
  const linkTo = (path) => relative(out, book.site.outOf(path))
  const pair = pairHtml({
    a: shown(book, a, out),
    b: shown(book, b, out),
    runs: book.model.runs,
    linkTo,
    note: noteHtml(book, b, problem, out),
  })
  const step = (k) => {
    const [from, to] = [problem.rungs[k], problem.rungs[k + 1]]
    return from && to && { out: stepOut(problem, from, to), title: `${from.name} → ${to.name}` }
  }
  const up = `<a href="${relative(out, `${folderOf(problem)}/index.html`)}">the ladder of ${nameOf(problem)}</a>`
  const body = `<h1>${escape(titleOf(a))} <span class="arrow">→</span> ${escape(titleOf(b))}</h1>
<p class="quiet">A step of ${up}. The arrow keys ← and → go from step to step.</p>
${pair}`
  book.add({ title: `${a.name} → ${b.name}, ${nameOf(problem)}`, out, body, wide: true, before: step(i - 1), after: step(i + 1) })
}

function ladderTable(problem, runs) {
  const key = commonKey(problem.rungs)
  const row = (rung) => rung.rows[key]
  const lines = problem.rungs.map((rung, i) => {
    const before = problem.rungs[i - 1]
    const base = rung.beyond ? problem.rungs.findLast((other) => !other.beyond) : before
    const r = row(rung)
    const href = before && `${label(before)}..${label(rung)}.html`
    const cells = [
      `<th scope="row">${href ? `<a href="${href}">${escape(titleOf(rung))}</a>` : escape(titleOf(rung))}</th>`,
      `<td class="text">${escape(rung.idea)}</td>`,
      `<td>${significant(r?.median_ms)}</td>`,
      `<td>${r?.percent_of_roof?.toFixed(1) ?? '–'}</td>`,
      `<td>${base ? change(row(base)?.median_ms, r?.median_ms) : '–'}</td>`,
    ]
    return `<tr>${cells.join('')}</tr>`
  })
  const measured = problem.rungs.find(row)
  const from = key ? whereFrom(key, row(measured), runs) : 'Not measured in results/'
  return `<div class="wide rungs" tabindex="0" role="region" aria-label="The ladder"><table>
<thead><tr><th scope="col">Rung</th><th scope="col" class="text">Idea</th><th scope="col">Time, ms</th><th scope="col">% of peak</th><th scope="col">Over the rung before</th></tr></thead>
<tbody>${lines.join('\n')}</tbody></table></div><p class="quiet">${escape(from)}.${problem.rungs.some((rung) => rung.beyond) ? ' Rungs beyond the main road stand beside its last one.' : ''}</p>`
}

function ladderPage(book, problem) {
  const out = `${folderOf(problem)}/index.html`
  const body = `<h1>The ladder of ${nameOf(problem)}</h1>
<p>Each rung is the one before with one idea more. A name leads to the two side by side.
<a href="pair.html">Any two rungs side by side</a>.</p>
<div id="walk" class="needs-js"></div>
${ladderTable(problem, book.model.runs)}
${figuresOf(problem, book.model.runs)}`
  book.add({ title: `Ladder: ${nameOf(problem)}`, out, body, wide: true, scripts: [`${folderOf(problem)}/data.js`] })
}

function pairPage(book, problem) {
  const out = `${folderOf(problem)}/pair.html`
  const body = `<h1>Two rungs of ${nameOf(problem)}</h1>
<noscript><p>Choosing any two needs JavaScript; <a href="index.html">the ladder</a> has every step as a page that needs none.</p></noscript>
<div id="pair"></div>`
  book.add({ title: `Any two of ${nameOf(problem)}`, out, body, wide: true, scripts: [`${folderOf(problem)}/data.js`] })
}

// What the browser needs to show any two rungs, and to walk the ladder.
function dataScript(book, problem) {
  const out = `${folderOf(problem)}/pair.html`
  const rungs = problem.rungs.map((rung) => ({
    ...shown(book, rung, out),
    label: label(rung),
    title: titleOf(rung),
    note: noteHtml(book, rung, problem, out),
  }))
  const used = new Set(rungs.flatMap((rung) => Object.keys(rung.rows)).map((key) => key.split('|').slice(0, 2).join('|')))
  const facts = ({ device, cpu, toolkit, date, counted_with, simt_counted_at }) => ({ device, cpu, toolkit, date, counted_with, simt_counted_at })
  const runs = Object.fromEntries([...used].map((key) => [key, facts(book.model.runs[key])]))
  const links = Object.fromEntries(rungs.flatMap((rung) => rung.kit).map((path) => [path, relative(out, book.site.outOf(path))]))
  return `window.bookLadder = ${JSON.stringify({ rungs, runs, links, common: commonKey(problem.rungs) ?? null })}`
}

export function ladderPages(book) {
  for (const problem of book.model.problems) {
    ladderPage(book, problem)
    pairPage(book, problem)
    for (let i = 0; i + 1 < problem.rungs.length; ++i) stepPage(book, problem, i)
    book.files.set(`${folderOf(problem)}/data.js`, dataScript(book, problem))
  }
}
