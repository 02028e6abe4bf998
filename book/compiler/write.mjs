// The editor in the page of an exercise, and on the page for programs of one's own.

import { cpp } from '@codemirror/lang-cpp'
import { HighlightStyle, syntaxHighlighting } from '@codemirror/language'
import { lintGutter, setDiagnostics } from '@codemirror/lint'
import { keymap } from '@codemirror/view'
import { tags } from '@lezer/highlight'
import { EditorView, basicSetup } from 'codemirror'

const FOLDER = new URL('.', document.currentScript.src).href
const PATIENCE = 60 // seconds for one step; then the worker is ended, and the next question starts another

// Colours are the page's, so that they follow its theme.
const colours = syntaxHighlighting(
  HighlightStyle.define([
    { tag: [tags.keyword, tags.modifier, tags.controlKeyword, tags.definitionKeyword], color: 'var(--keyword)' },
    { tag: [tags.typeName, tags.standard(tags.typeName)], color: 'var(--name)' },
    { tag: [tags.comment, tags.lineComment, tags.blockComment], color: 'var(--comment)' },
    { tag: [tags.string, tags.number, tags.bool], color: 'var(--number)' },
    { tag: tags.processingInstruction, color: 'var(--keyword)' },
  ]),
)

const looks = EditorView.theme({
  '&': { border: '1px solid var(--quiet)', borderRadius: '8px', backgroundColor: 'var(--paper)', color: 'var(--ink)', fontSize: '.875rem' },
  '&.cm-focused': { outline: '3px solid var(--focus)', outlineOffset: '2px' },
  '.cm-scroller': { fontFamily: 'ui-monospace, monospace', maxHeight: '34rem', overflow: 'auto', borderRadius: '8px' },
  '.cm-content': { caretColor: 'var(--ink)' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)' },
  '.cm-gutters': { backgroundColor: 'var(--raised)', color: 'var(--quiet)', borderRight: '1px solid var(--line)' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'color-mix(in srgb, var(--raised) 60%, transparent)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': { backgroundColor: 'color-mix(in srgb, var(--link) 30%, transparent)' },
  '.cm-matchingBracket, &.cm-focused .cm-matchingBracket': { backgroundColor: 'var(--added-word)' },
  '.cm-tooltip, .cm-panels': { backgroundColor: 'var(--raised)', color: 'var(--ink)', border: '1px solid var(--quiet)' },
})

class Compiler {
  #worker
  #asked = new Map()
  #next = 0

  // Resolves to what the worker answers; rejects with an Error that says why not.
  ask(question, onStep) {
    if (!this.#worker) {
      this.#worker = new Worker(`${FOLDER}worker.js`, { type: 'module' })
      this.#worker.onmessage = ({ data }) => this.#hear(data)
      this.#worker.onerror = (event) => this.#end(new Error(event.message || 'the compiler could not be loaded'))
    }
    const id = ++this.#next
    return new Promise((resolve, reject) => {
      this.#asked.set(id, { resolve, reject, onStep })
      this.#wait(id, 5 * PATIENCE) // the compiler may have to be loaded
      this.#worker.postMessage({ id, ...question })
    })
  }

  stop() {
    this.#end(new Error('stopped'))
  }

  #wait(id, seconds) {
    const asked = this.#asked.get(id)
    clearTimeout(asked.timer)
    asked.timer = setTimeout(() => this.#end(new Error(`no answer within ${seconds} s`)), 1000 * seconds)
  }

  #hear({ id, step, done, error }) {
    const asked = this.#asked.get(id)
    if (!asked) return
    if (step) {
      this.#wait(id, /^(loads|makes)/.test(step) ? 5 * PATIENCE : PATIENCE)
      return asked.onStep?.(step)
    }
    this.#asked.delete(id)
    clearTimeout(asked.timer)
    if (error) {
      // After a crash nothing in there is sure any more.
      asked.reject(new Error(error))
      this.#end(new Error(error))
    } else asked.resolve(done)
  }

  #end(reason) {
    this.#worker?.terminate()
    this.#worker = undefined
    for (const { reject, timer } of this.#asked.values()) {
      clearTimeout(timer)
      reject(reason)
    }
    this.#asked.clear()
  }
}

const compiler = new Compiler()
const kept = (key) => {
  try {
    return localStorage.getItem(key)
  } catch {
    return null
  }
}
const keep = (key, value) => {
  try {
    value === null ? localStorage.removeItem(key) : localStorage.setItem(key, value)
  } catch {
    // a browser may keep nothing for a page
  }
}

const element = (name, properties = {}, ...inside) => {
  const made = Object.assign(document.createElement(name), properties)
  made.append(...inside)
  return made
}
const grouped = (number) => String(Math.round(number)).replace(/\B(?=(\d{3})+$)/g, ' ')

// Lines of the reader's own file that a text names: "guard.cuh:12".
function namedLines(text, file) {
  const pattern = new RegExp(`\\b${file.replaceAll('.', '\\.')}:(\\d+)`, 'g')
  return [...text.matchAll(pattern)].map(([, line]) => Number(line))
}

function show(view, findings) {
  const { doc } = view.state
  const marks = findings.flatMap(({ line, message, severity = 'error' }) => {
    if (line < 1 || line > doc.lines) return []
    const { from, to, text } = doc.line(line)
    return [{ from: from + (text.length - text.trimStart().length), to, message, severity }]
  })
  view.dispatch(setDiagnostics(view.state, marks.sort((a, b) => a.from - b.from)))
}

// A text in which "guard.cuh:12" leads to that line of the editor.
function withLinks(text, file, view) {
  const made = element('span')
  const pattern = new RegExp(`(${file.replaceAll('.', '\\.')}:\\d+)`)
  for (const piece of text.split(pattern)) {
    const line = pattern.test(piece) && Number(piece.split(':')[1])
    if (!line) made.append(piece)
    else {
      const go = () => {
        const place = view.state.doc.line(Math.min(line, view.state.doc.lines))
        view.dispatch({ selection: { anchor: place.from }, scrollIntoView: true })
        view.focus()
      }
      made.append(element('button', { type: 'button', className: 'to-line', onclick: go }, piece))
    }
  }
  return made
}

const RATIOS = [
  ['Sectors a load', 'global', 'load_sectors', 'load_requests'],
  ['Sectors a store', 'global', 'store_sectors', 'store_requests'],
  ['Rounds a load, shared memory', 'shared', 'load_wavefronts', 'load_requests'],
  ['Rounds a store, shared memory', 'shared', 'store_wavefronts', 'store_requests'],
]
const NUMBERS = [
  ['Loads of warps', 'global', 'load_requests'],
  ['Stores of warps', 'global', 'store_requests'],
  ['Atomics of warps, global', 'atomics', 'global_requests'],
  ['Atomics of warps, shared', 'atomics', 'shared_requests'],
]

// What simt counted, as rows of a table.
function rowsOf(counts) {
  const rows = [['Blocks, threads', `${grouped(counts.blocks)}, ${grouped(counts.threads)}`]]
  for (const [title, group, name] of NUMBERS) if (counts[group]?.[name]) rows.push([title, grouped(counts[group][name])])
  for (const [title, group, above, below] of RATIOS) if (counts[group]?.[below]) rows.push([title, (counts[group][above] / counts[group][below]).toFixed(2)])
  if (counts.barriers) rows.push(['Barriers of blocks', grouped(counts.barriers)])
  return rows
}

function table(caption, rows) {
  const body = rows.map(([title, value]) => element('tr', {}, element('th', { scope: 'row' }, title), element('td', {}, value)))
  return element('table', { className: 'numbers' }, element('caption', {}, caption), element('tbody', {}, ...body))
}

function setUp(place, { key, text, file, ask, ready }) {
  const start = text
  const run = element('button', { type: 'button', className: 'go' }, ready)
  const stop = element('button', { type: 'button', hidden: true }, 'Stop')
  const fresh = element('button', { type: 'button' }, 'Begin again')
  const status = element('span', { className: 'status' })
  status.setAttribute('role', 'status')
  const outcome = element('div', { className: 'outcome' })
  const holder = element('div', { className: 'editor' })
  place.append(holder, element('p', { className: 'buttons' }, run, ' ', stop, ' ', fresh, ' ', status), outcome)
  const view = new EditorView({
    doc: kept(key) ?? start,
    parent: holder,
    extensions: [
      keymap.of([{ key: 'Mod-Enter', run: () => (go(), true) }]),
      basicSetup,
      cpp(),
      colours,
      looks,
      lintGutter(),
      EditorView.contentAttributes.of({ 'aria-label': `The text of ${file}` }),
      EditorView.updateListener.of(({ docChanged }) => docChanged && keep(key, view.state.doc.toString())),
    ],
  })
  const busy = (is) => {
    run.disabled = is
    stop.hidden = !is
  }
  async function go() {
    if (run.disabled) return
    busy(true)
    status.textContent = 'begins'
    outcome.replaceChildren()
    show(view, [])
    try {
      const done = await compiler.ask(ask(view.state.doc.toString()), (step) => (status.textContent = step))
      status.textContent = done.seconds ? `took ${done.seconds.toFixed(1)} s` : ''
      place.told(done, outcome, view)
    } catch (error) {
      status.textContent = `It ended: ${error.message.split('\n')[0]}`
    }
    busy(false)
    place.dataset.done = Number(place.dataset.done ?? 0) + 1
  }
  run.addEventListener('click', go)
  stop.addEventListener('click', () => compiler.stop())
  fresh.addEventListener('click', () => {
    view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: start } })
    keep(key, null)
    outcome.replaceChildren()
    show(view, [])
  })
  return view
}

const isFromDisk = location.protocol === 'file:'
function refuse(place) {
  place.append(element('p', { className: 'quiet' }, 'A page opened from a disk may start no compiler. ', element('code', {}, 'make book-serve WITH_COMPILER=1'), ' shows the book on http://127.0.0.1:8000/, and there this works.'))
}

for (const place of document.querySelectorAll('.write[data-exercise]')) {
  if (isFromDisk) {
    refuse(place)
    continue
  }
  const { exercise, file } = place.dataset
  place.told = (done, outcome, view) => {
    if (done.trouble) {
      outcome.append(element('p', { className: 'verdict bad' }, element('strong', {}, 'Not judged')), element('pre', {}, withLinks(done.trouble, file, view)))
      show(view, done.trouble.split('\n').flatMap((message) => namedLines(message, file).slice(0, 1).map((line) => ({ line, message: message.trim() }))))
      return
    }
    const sum = (name) => done.parts.reduce((all, part) => all + part[name], 0)
    const [points, most] = [sum('points'), sum('most')]
    const isAll = points === most
    outcome.append(element('p', { className: `verdict ${isAll ? 'good' : 'bad'}` }, element('strong', {}, `${points} of ${most} points`)))
    const list = element('ul')
    for (const part of done.parts) {
      const item = element('li', {}, `${part.points} of ${part.most}: ${part.title}`)
      if (part.says) item.append(element('br'), element('span', { className: 'says' }, withLinks(part.says, file, view)))
      list.append(item)
    }
    outcome.append(list)
    const [name, counts] = Object.entries(done.counts).findLast(([, counts]) => counts.global) ?? []
    if (name) outcome.append(table(`Counted in the case ${name}`, rowsOf(counts)))
    show(view, done.parts.filter((part) => part.says).flatMap(({ says }) => [...new Set(namedLines(says, file))].map((line) => ({ line, message: says }))))
    place.dataset.counts = JSON.stringify(done.counts)
  }
  const seed = 1
  setUp(place, { key: `write ${exercise}`, text: place.querySelector('template').content.textContent, file, ready: 'Check it', ask: (text) => ({ ask: 'check', exercise, text, seed }) })
}

// write.html?program=standalone/....cu begins with that file of the book; &seconds=120 gives a program as long.
const parameters = new URLSearchParams(location.search)
const asked = parameters.get('program')
const seconds = Number(parameters.get('seconds'))
async function programOf(place) {
  const isOurs = /^standalone\/[\w/-]+\.cu$/.test(asked ?? '')
  const response = isOurs && (await fetch(document.documentElement.dataset.root + asked))
  return response?.ok ? { key: `write ${asked}`, text: await response.text() } : { key: 'write', text: place.querySelector('template').content.textContent }
}

// Why a program was stopped, and what to do; nothing if it came to its end.
function howItEnded({ endless, at, limit, crashed }) {
  const where = at ? `, at ${at}` : ''
  if (endless === 'time') return `Stopped after ${limit} s${where}. Does a loop never end? Else give it less to do: the page is several times slower than simt/nvcc.`
  if (endless === 'memory') return `Stopped with its memory full${where}. Does a loop never end? Else give it smaller arrays.`
  return crashed ? `It crashed: ${crashed}` : ''
}

for (const place of document.querySelectorAll('.write[data-free]')) {
  if (isFromDisk) {
    refuse(place)
    continue
  }
  const file = 'kernel.cu'
  place.told = (done, outcome, view) => {
    if (done.trouble) {
      outcome.append(element('p', { className: 'verdict bad' }, element('strong', {}, 'It does not compile')), element('pre', {}, withLinks(done.trouble, file, view)))
      show(view, done.trouble.split('\n').filter((line) => /error/.test(line)).flatMap((message) => namedLines(message, file).slice(0, 1).map((line) => ({ line, message }))))
      return
    }
    const ended = howItEnded(done)
    const isGood = !ended && !done.reports.length && done.status === 0
    outcome.append(element('p', { className: `verdict ${isGood ? 'good' : 'bad'}` }, element('strong', {}, ended ? withLinks(ended, file, view) : done.reports.length ? `${done.reports.length} mistake${done.reports.length > 1 ? 's' : ''} named` : `Ended with status ${done.status}, nothing wrong was seen`)))
    for (const { message } of done.reports) outcome.append(element('pre', { className: 'report' }, withLinks(message, file, view)))
    const printed = done.said.split('\n').filter((line) => !line.startsWith('simt: ')).join('\n').trim() // what simt says stands above
    if (printed) outcome.append(element('p', { className: 'quiet' }, 'It printed:'), element('pre', {}, printed))
    for (const kernel of done.kernels) outcome.append(table(kernel.kernel, rowsOf(kernel)))
    show(view, done.reports.flatMap(({ message }) => [...new Set(namedLines(message, file))].map((line) => ({ line, message }))))
  }
  programOf(place).then((program) => setUp(place, { ...program, file, ready: 'Run it', ask: (text) => ({ ask: 'run', text, seconds }) }))
}
