// What every page says of a rung: its place on the ladder, and the ways to look at it.

import { escape, grouped, relative, words } from '../lib/format.mjs'
import { noteOf } from '../lib/notes.mjs'
import { KERNELS } from '../widgets/kernels.mjs'
import { WRITE } from './write.mjs'

export const folderOf = (problem) => `compare/${problem.id}`
export const nameOf = (problem) => words(problem.id.split('/').at(-1).replace(/^\d\d_/, ''))
export const labelOf = (rung) => `${rung.beyond ? 'beyond-' : ''}${rung.name}`
export const stepOut = (problem, a, b) => `${folderOf(problem)}/${labelOf(a)}..${labelOf(b)}.html`

// 'rung 5 of 14', or the place among those beside the main road.
export function placeOf(problem, rung) {
  const those = problem.rungs.filter((other) => other.beyond === rung.beyond)
  return `${rung.beyond ? 'beside the main road, ' : 'rung '}${those.indexOf(rung) + 1} of ${those.length}`
}

export function trailOf(book, problem) {
  const lesson = book.lessons.find(({ source }) => source === `${problem.chapter}/README.md`)
  return [{ out: lesson.out, title: lesson.title }, { out: `${folderOf(problem)}/index.html`, title: `Ladder: ${nameOf(problem)}` }]
}

// Which section of a lesson says what a rung is: rung -> section, and 'source#id' -> [{ problem, rung }].
export function notesOfRungs(book) {
  const notes = { of: new Map(), at: new Map() }
  for (const problem of book.model.problems) {
    const lessons = book.lessons.filter(({ source }) => source.startsWith(`${problem.chapter}/`) && !source.includes('/exercises/'))
    for (const rung of problem.rungs) {
      const note = noteOf(rung, problem.id, lessons)
      if (!note) continue
      const place = `${note.source}#${note.id}`
      notes.of.set(rung, note)
      notes.at.set(place, [...(notes.at.get(place) ?? []), { problem, rung }])
    }
  }
  return notes
}

// One line: where the rung stands, and what can be done with it from the page `out`.
export function rungLine(book, problem, rung, out, isNamed = false) {
  const to = (target, text) => `<a href="${relative(out, target)}">${text}</a>`
  const before = problem.rungs[problem.rungs.indexOf(rung) - 1]
  const widget = book.kernels && KERNELS.find(({ sources }) => sources.includes(rung.path))
  const runs = widget && widget.inputs[0].options.includes(rung.name)
  const parts = [
    `${isNamed ? `<code>${rung.name}</code>, ` : ''}${placeOf(problem, rung)}`,
    ...(before ? [to(stepOut(problem, before, rung), `side by side with <code>${before.name}</code>`)] : []),
    to(`${folderOf(problem)}/index.html#${labelOf(rung)}`, 'walk'),
    ...(runs ? [to(`widgets/${widget.name}.html?kernel=${rung.name}`, 'run it here')] : []),
    ...(book.site.outOf(rung.path) === out ? [] : [to(book.site.outOf(rung.path), rung.one_file ? 'the file, alone and with all it needs' : 'the file')]),
  ]
  return `<p class="rung-line">${parts.join(' · ')}</p>`
}

// The lines of the rungs that a section is about, as one piece.
export function rungLinks(book, place, out) {
  const those = book.notes?.at.get(place) ?? []
  const lines = those.map(({ problem, rung }) => rungLine(book, problem, rung, out, those.length > 1))
  return lines.length ? `<div class="rung-lines">${lines.join('')}</div>` : ''
}

// The rung with all that it needs, as `make standalone` writes it: to copy, and to download.
export function oneFile(book, problem, rung, out) {
  if (!rung.one_file) return ''
  const file = `standalone/${problem.id}/${rung.name}.cu`
  book.files.set(file, rung.one_file)
  return `<details class="one-file"><summary>As one file: ${grouped(rung.one_file.split('\n').length - 1)} lines that compile alone</summary>
<p>This rung, all that it uses of other files, and a <code>main</code> that checks and times it. It needs nothing of this repository:
<code>nvcc -O3 -std=c++17 -arch=native ${rung.name}.cu</code>. <a href="${relative(out, file)}" download>Download ${rung.name}.cu</a>${book.compiler.size ? `, or <a href="${relative(out, WRITE.out)}?program=${file}">change it and run it in the page</a>` : ''}.</p>
<figure class="code"><pre tabindex="0"><code>${escape(rung.one_file)}</code></pre></figure></details>`
}
