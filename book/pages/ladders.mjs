// For every problem a page of its ladder, a page for any two of its rungs, and one for each step.

import { escape, relative, significant } from '../lib/format.mjs'
import { commonKey, gainOf, whereFrom, whyNoGain } from '../lib/measured.mjs'
import { opening } from '../lib/notes.mjs'
import { pairHtml, titleOf } from '../lib/pair.mjs'
import { isMark, textOf } from '../lib/tokens.mjs'
import { KERNELS } from '../widgets/kernels.mjs'
import { figuresOf } from './drawn.mjs'
import { folderOf, labelOf as label, nameOf, placeOf, stepOut, trailOf } from './rungs.mjs'

// The page of one problem that says what a rung is, for a page at `out`.
function noteHtml(book, rung, out) {
  const note = book.notes.of.get(rung)
  if (!note) return ''
  const env = { source: note.source, out }
  const text = book.md.renderer.render(opening(note.tokens), book.md.options, env)
  const link = `<a href="${book.site.link(`#${note.id}`, env)}">the lesson, ${escape(note.title)}</a>`
  return `<div class="note">${text}<p class="quiet">From ${link}.</p></div>`
}

// A rung with all that its pages need of it, links as from `out`. `numbers` are those of its file, without what names
// a part of it.
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
  const code = lines.map((tokens, i) => i).filter((i) => !isMark(textOf(lines[i])))
  const moved = (line) => code.filter((i) => i < line).length // how many of the first `line` lines are left
  return {
    ...rung,
    one_file: undefined,
    lines: code.map((i) => lines[i]),
    numbers: code.map((i) => numbers[i]),
    kernels: kernels.map(([first, last]) => [moved(first - 1) + 1, moved(last)]),
    source: relative(out, book.site.outOf(rung.path)),
  }
}

// What is said of a run.
const factsOf = ({ device, cpu, toolkit, date, counted_with, simt_counted_at }) => ({ device, cpu, toolkit, date, counted_with, simt_counted_at })

function stepPage(book, problem, i) {
  const [a, b] = [problem.rungs[i], problem.rungs[i + 1]]
  const out = stepOut(problem, a, b)
  const linkTo = (path) => relative(out, book.site.outOf(path))
  const common = commonKey(problem.rungs)
  const road = b.beyond ? problem.rungs.findLast((rung) => !rung.beyond) : a
  const gain = road !== a && gainOf(road, b, common)
  const last = gain ? { name: road.name, gain } : null
  const given = { a: shown(book, a, out), b: shown(book, b, out), note: noteHtml(book, b, out), common, last }
  // Of the runs those that a row names, so that another one's numbers change no page.
  const keys = [...Object.keys(a.rows), ...Object.keys(b.rows)].map((key) => key.split('|').slice(0, 2).join('|'))
  const runs = Object.fromEntries([...new Set(keys)].map((key) => [key, factsOf(book.model.runs[key])]))
  const pair = book.memory.once('pair', JSON.stringify([given, runs]), () => pairHtml({ ...given, runs, linkTo }))
  const step = (k) => {
    const [from, to] = [problem.rungs[k], problem.rungs[k + 1]]
    return from && to && { out: stepOut(problem, from, to), title: `${from.name} → ${to.name}` }
  }
  const widget = book.kernels && KERNELS.find(({ sources, inputs }) => sources.includes(b.path) && inputs[0].options.includes(b.name))
  const to = (target, text) => `<a href="${relative(out, target)}">${text}</a>`
  const ways = [
    to(`${folderOf(problem)}/index.html#${label(b)}`, 'walk'),
    ...(widget ? [to(`widgets/${widget.name}.html?kernel=${b.name}`, 'run it here')] : []),
    to(`${folderOf(problem)}/pair.html?a=${label(a)}&amp;b=${label(b)}`, 'choose any two'),
  ]
  const body = `<h1>${escape(titleOf(a))} <span class="arrow">→</span> ${escape(titleOf(b))}</h1>
<p class="quiet">${escape(b.idea[0].toUpperCase() + b.idea.slice(1))}. ${ways.join(' · ')}<span class="only-wide"> · the arrow keys ← and → go from step to step</span></p>
${pair}`
  const place = { trail: trailOf(book, problem), place: placeOf(problem, b), about: `${a.name} and ${b.name} of ${nameOf(problem)} side by side: ${b.idea}.` }
  book.add({ title: `${a.name} → ${b.name}, ${nameOf(problem)}`, out, body, wide: true, ...place, before: step(i - 1), after: step(i + 1) })
}

function ladderTable(problem, runs) {
  const key = commonKey(problem.rungs)
  const row = (rung) => rung.rows[key]
  const hasPeak = problem.rungs.some((rung) => row(rung)?.percent_of_roof)
  const lines = problem.rungs.map((rung, i) => {
    const before = problem.rungs[i - 1]
    const base = rung.beyond ? problem.rungs.findLast((other) => !other.beyond) : before
    const r = row(rung)
    const href = before && `${label(before)}..${label(rung)}.html`
    const gain = base && gainOf(base, rung, key)
    const note = gain ? gain.elsewhere : base ? whyNoGain(base, rung) : ''
    const cells = [
      `<th scope="row">${href ? `<a href="${href}">${escape(titleOf(rung))}</a>` : escape(titleOf(rung))}</th>`,
      `<td class="text">${escape(rung.idea)}</td>`,
      `<td>${significant(r?.median_ms)}</td>`,
      ...(hasPeak ? [`<td>${r?.percent_of_roof?.toFixed(1) ?? '–'}</td>`] : []),
      `<td>${gain ? escape(gain.said) : '–'}${note ? `<br><span class="quiet">${escape(note)}</span>` : ''}</td>`,
    ]
    return `<tr id="${label(rung)}">${cells.join('')}</tr>`
  })
  const measured = problem.rungs.find(row)
  const from = key ? whereFrom(key, row(measured), runs) : 'Not measured in results/'
  return `<div class="wide rungs" tabindex="0" role="region" aria-label="The ladder"><table>
<thead><tr><th scope="col">Rung</th><th scope="col" class="text">Idea</th><th scope="col">Time, ms</th>${hasPeak ? '<th scope="col">% of peak</th>' : ''}<th scope="col">Over the rung before</th></tr></thead>
<tbody>${lines.join('\n')}</tbody></table></div><p class="quiet">${escape(from)}.${problem.rungs.some((rung) => rung.beyond) ? ' Rungs beyond the main road stand beside its last one.' : ''}</p>`
}

function ladderPage(book, problem) {
  const out = `${folderOf(problem)}/index.html`
  const body = `<h1>The ladder of ${nameOf(problem)}</h1>
<p>Each rung is the one before with one idea more. A name leads to the two side by side.
<a href="pair.html">Any two rungs side by side</a>.</p>
<div id="walk" class="needs-js"></div>
${ladderTable(problem, book.model.runs)}
${figuresOf(problem, book.model.runs, book.model.problems)}`
  book.add({ title: `Ladder: ${nameOf(problem)}`, out, body, wide: true, about: `${problem.rungs.length} ways to compute ${nameOf(problem)}, each with one idea more than the one before: measured, counted, and side by side.`, scripts: [`${folderOf(problem)}/data.js`] })
}

function pairPage(book, problem) {
  const out = `${folderOf(problem)}/pair.html`
  const body = `<h1>Two rungs of ${nameOf(problem)}</h1>
<noscript><p>Choosing any two needs JavaScript; <a href="index.html">the ladder</a> has every step as a page that needs none.</p></noscript>
<div id="pair"></div>`
  book.add({ title: `Any two of ${nameOf(problem)}`, out, body, wide: true, trail: trailOf(book, problem), place: 'any two', about: `Any two of the ${problem.rungs.length} ways to compute ${nameOf(problem)}, side by side.`, scripts: [`${folderOf(problem)}/data.js`] })
}

// What the browser needs to show any two rungs, and to walk the ladder.
function dataScript(book, problem) {
  const out = `${folderOf(problem)}/pair.html`
  const rungs = problem.rungs.map((rung) => ({
    ...shown(book, rung, out),
    label: label(rung),
    title: titleOf(rung),
    note: noteHtml(book, rung, out),
  }))
  const used = new Set(rungs.flatMap((rung) => Object.keys(rung.rows)).map((key) => key.split('|').slice(0, 2).join('|')))
  const runs = Object.fromEntries([...used].map((key) => [key, factsOf(book.model.runs[key])]))
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
