// The page of an exercise: what it costs and gives, the task, the file to begin with, hints that open one by one, and
// four answers of which a reader picks one, with what the judge says of each.

import { NOTHING, escape, grouped, relative, withNames } from '../lib/format.mjs'
import { highlight, languageOf } from '../lib/highlight.mjs'
import { lineHtml } from '../lib/tokens.mjs'
import { SCRIPT, isWritable, writeHtml } from './write.mjs'

// The section of a lesson that sends the reader to this exercise; else that chapter's table of exercises.
function sectionOf(book, { id }, chapter) {
  const isSent = ({ tokens }) => tokens.some((token) => token.type === 'html_block' && token.content.startsWith(`<!-- exercise ${id} `))
  const inTable = (lesson) => ({ title }) => title === 'Exercises' && lesson.source === `${chapter}/README.md`
  const found = (wanted) => book.lessons.filter(({ source }) => source.startsWith(`${chapter}/`)).flatMap((lesson) => lesson.sections.filter(wanted(lesson)).map((section) => ({ ...lesson, section })))
  return [...found(() => isSent), ...found(inTable)][0]
}

function hints(tasks) {
  const list = tasks.flatMap(({ text, hints }, i) =>
    hints.length ? [`<p>Task ${i + 1}: ${withNames(text)}</p>${hints.map((hint, k) => `<details class="hint"><summary>Hint ${k + 1}</summary><p>${withNames(hint)}</p></details>`).join('')}`] : [],
  )
  return list.length ? `<h2 id="hints">Hints</h2><div class="hints">${list.join('')}</div>` : ''
}

const LETTERS = ['A', 'B', 'C', 'D']
const STRAY = ['out-of-bounds', 'stray write', 'misaligned', 'use-after-free', 'host-pointer']

const highlighted = (text, file) => highlight(text, languageOf(file)).map(lineHtml).join('\n')

// What was said of an answer; a line of its file stands there as code.
const said = (text, { lines }, file) =>
  withNames(text).replace(/\bat ([\w.]+):(\d+)/g, (all, name, number) => (name === file ? `at <code>${escape(lines[number - 1].trim())}</code>` : all)).replaceAll('\n', '<br>')

const sum = (numbers) => numbers.reduce((all, one) => all + one, 0)
const wrongCases = ({ wrong }) => sum(Object.values(wrong))

// In how many cases the judge named one of these mistakes.
function named(answer, kinds) {
  const cases = sum(kinds.map((kind) => answer.wrong[kind] ?? 0))
  return cases ? [`in ${cases} of ${answer.cases}`, 'bad'] : ['none', 'good']
}

const ratio = (above, below) => (answer) => {
  const count = (names) => sum(names.map((name) => answer.counts[name] ?? 0))
  return answer.counts ? [count(below) ? (count(above) / count(below)).toFixed(2) : NOTHING] : ['not counted']
}

const number = (name) => (answer) => (answer.counts ? [grouped(answer.counts[name] ?? 0)] : ['not counted'])

// What the table says of each answer: [title, answer -> [text, good or bad]]. What is the same for all of them is left
// out, but for the first rows.
function rowsOf({ answers, parts }) {
  const most = sum(parts.map(([, points]) => points))
  const others = [...new Set(answers.flatMap(({ wrong }) => Object.keys(wrong)))].filter((kind) => ![...STRAY, 'race', 'wrong result'].includes(kind))
  const rows = [
    ['Points', ({ points }) => [`${sum(points)} of ${most}`, sum(points) === most ? 'good' : 'bad']],
    ['Cases that are right', (answer) => [`${answer.cases - wrongCases(answer)} of ${answer.cases}`, wrongCases(answer) ? 'bad' : 'good']],
    ['Stray access', (answer) => named(answer, STRAY)],
    ['Race', (answer) => named(answer, ['race'])],
    ...others.map((kind) => [kind[0].toUpperCase() + kind.slice(1), (answer) => named(answer, [kind])]),
    ['Sectors a load', ratio(['global_load_sectors'], ['global_load_requests'])],
    ['Sectors a store', ratio(['global_store_sectors'], ['global_store_requests'])],
  ]
  const more = [
    ['Loads of warps', number('global_load_requests')],
    ['Stores of warps', number('global_store_requests')],
    ['Rounds, shared memory', ratio(['shared_load_wavefronts', 'shared_store_wavefronts'], ['shared_load_requests', 'shared_store_requests'])],
    ['Barriers', number('barriers')],
    ['Branches that part', number('divergent_branches')],
    ['Blocks', number('blocks')],
  ]
  const counted = answers.filter(({ counts }) => counts)
  return [...rows, ...more.filter(([, say]) => new Set(counted.map((answer) => say(answer)[0])).size > 1)]
}

function besides(pick) {
  const cell = ([text, kind]) => `<td${kind ? ` class="${kind}"` : ''}>${text}</td>`
  const rows = rowsOf(pick).map(([title, say]) => `<tr><th scope="row">${withNames(title)}</th>${pick.answers.map((answer) => cell(say(answer))).join('')}</tr>`)
  return `<details class="all-four"><summary>All four side by side</summary>
<div class="wide" tabindex="0" role="region" aria-label="All four side by side"><table class="numbers">
<thead><tr><td></td>${LETTERS.map((letter) => `<th scope="col">${letter}</th>`).join('')}</tr></thead><tbody>
${rows.join('\n')}</tbody></table></div>
<p class="quiet">Counted by simt in the case ${escape(pick.case)}, of the answers that are right there. The words are <a href="WORDS">the judge's</a>.</p></details>`
}

// What is said of the part i of the points; where an earlier part has said the same of another case, its first line.
function fresh(says, i) {
  const [first, ...more] = says[i].split('\n')
  const mistake = (text) => text.split('\n')[0].replace(/^.*?: /, '')
  return says.slice(0, i).some((text) => mistake(text) === mistake(first)) ? first : [first, ...more].join('\n')
}

// Code with a longer line takes the whole width of the page, not half of it.
const HALF_A_PAGE = 52
const isWide = ({ code }) => code.some(([, text]) => text.split('\n').some((line) => line.length > HALF_A_PAGE))

function verdict(answer, parts) {
  const most = sum(parts.map(([, points]) => points))
  const points = `${sum(answer.points)} of ${most} points`
  if (sum(answer.points) === most) return ['good', `Right: ${points}`]
  return ['bad', wrongCases(answer) ? `Wrong: ${points}` : `Right, but not as it was asked for: ${points}`]
}

function answerHtml(answer, letter, { parts, tasks }, file) {
  const code = answer.code.map(([task, text]) => `${tasks.length > 1 ? `<p class="quiet">Task ${task}</p>` : ''}${text ? `<pre tabindex="0"><code>${highlighted(text, file)}</code></pre>` : '<p>Nothing.</p>'}`)
  const [kind, says] = verdict(answer, parts)
  const part = ([title, most], i) => `<li>${answer.points[i]} of ${most}: ${withNames(title)}${answer.says[i] ? `<br><span class="quiet">${said(fresh(answer.says, i), answer, file)}</span>` : ''}</li>`
  return `<li class="answer-card" data-letter="${letter}">
<label><input type="radio" name="pick" value="${letter}" class="needs-js"> ${letter}</label>
${code.join('')}
<details class="judged"><summary>What the judge says of ${letter}</summary>
<p class="verdict ${kind}"><strong>${says}</strong>: ${withNames(answer.title.replace(/^before: /, ''))}</p><ul>${parts.map(part).join('')}</ul></details></li>`
}

// The gap of the file, and four answers: one earns all points.
function pickHtml({ id, file, pick }, words) {
  if (!pick) return ''
  const tasks = pick.tasks.map(([number, text]) => `<li>Task ${number}: ${withNames(text)}</li>`)
  return `<h2 id="pick">Pick an answer</h2>
<p>Four answers to a part of it. One earns all points; the others are wrong, or do too much. The judge has run each of them in simt,
on ${Math.max(...pick.answers.map(({ cases }) => cases))} cases. To find the answer alone, write yours first.</p>
<ul class="quiet">${tasks.join('')}</ul>
<form class="pick" data-exercise="${id}"><fieldset><legend class="sr">Which answer earns all points?</legend>
<ul class="answers${pick.answers.some(isWide) ? ' one-column' : ''}">${pick.answers.map((answer, i) => answerHtml(answer, LETTERS[i], pick, file)).join('')}</ul></fieldset>
<p class="needs-js"><button>Judge it</button> <span role="status"></span></p>
${besides(pick).replace('WORDS', words)}
</form>`
}

// The page of all exercises, with a place above its table where a reader's own progress is chosen.
export function withProgress(text) {
  const place = `<p id="progress" class="needs-js"><label>Show here what you have passed: choose <code>work/progress.json</code> <input type="file" accept=".json"></label>
<span role="status"></span></p>`
  const at = text.indexOf('<div class="wide"')
  return text.slice(0, at) + place + text.slice(at)
}

export function exercisePage(book, exercise, lesson, text) {
  const { source, out, sections } = lesson
  const { section, out: from, title } = sectionOf(book, exercise, source.split('/')[0])
  const badges = [exercise.kind, `about ${exercise.minutes} minutes`, `${exercise.points} points`, exercise.gpu === 'any' ? 'any GPU, or none' : `written for ${exercise.gpu}, runs without a GPU`]
  const link = `<a href="${relative(out, from)}#${section.id}">${escape(title)}: ${escape(section.title)}</a>`
  const code = highlighted(exercise.skeleton, exercise.file)
  const words = book.site.link('/exercises.md#the-judges-words', { source, out })
  const commands = ['start', 'check', 'hint'].map((verb) => `./exercise ${verb} ${exercise.id}`)
  const begins = 'This is the file that <code>start</code> writes for you'
  const file = `<figure class="code"><figcaption><code>${escape(exercise.file)}</code></figcaption><pre tabindex="0"><code>${code}</code></pre></figure>`
  const [heading, rest] = [text.slice(0, text.indexOf('</h1>') + 5), text.slice(text.indexOf('</h1>') + 5)]
  const body = `${heading}
<ul class="badges">${badges.map((badge, i) => `<li${i === 2 ? ` data-exercise="${exercise.id}"` : ''}>${escape(badge)}</li>`).join('')}</ul>
<p class="quiet">Read first: ${link}</p>
${rest}
<h2 id="begin">Begin</h2>
<figure class="code"><pre tabindex="0"><code>${commands.join('\n')}</code></pre></figure>
${isWritable(book, exercise) ? `<details class="one-file"><summary>${begins}</summary>${file}</details>\n${writeHtml(exercise)}` : `<p>${begins}:</p>\n${file}`}
${hints(exercise.tasks)}
${pickHtml(exercise, words)}`
  const parts = [['begin', 'Begin'], ['write', 'Write it here'], ['hints', 'Hints'], ['pick', 'Pick an answer']].filter(([id]) => body.includes(` id="${id}"`))
  return { body, scripts: isWritable(book, exercise) ? [SCRIPT] : [], sections: [...sections, ...parts.map(([id, title]) => ({ level: 2, id, title }))] }
}
