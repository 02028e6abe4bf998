// A page for each widget, and the widgets that lessons ask for by <!-- widget NAME -->.

import { WIDGETS } from '../widgets/all.mjs'
import { widgetHtml } from '../widgets/frame.mjs'
import { KERNELS } from '../widgets/kernels.mjs'
import { escape, pathHtml, relative } from '../lib/format.mjs'
import { isMark, lineHtml, textOf } from '../lib/tokens.mjs'

// `kernels`: could the kernels be compiled?
const shown = ({ kernels }) => (kernels ? [...WIDGETS, ...KERNELS] : WIDGETS)

export const widgetList = (book) => shown(book).map(({ name, title }) => ({ out: `widgets/${name}.html`, title }))

const link = (book, file, out, text) => `<a href="${book.site.link(`/${file}`, { source: file, out })}">${text}</a>`

// A line behind its number. That a barrier is left out, or an access races, shows there.
function kernelLine(tokens, number, page) {
  const kind = textOf(tokens).includes('__syncthreads()') ? ' class="barrier"' : ''
  return `<a href="${page}#L${number}">${number}</a><span${kind} data-line="${number}">${lineHtml(tokens)}</span>`
}

// The kernels of a widget: that of the chosen rung is shown, all where there is no script.
function kernels(book, { sources, inputs }, out) {
  const rungs = new Map(book.model.problems.flatMap((problem) => problem.rungs.map((rung) => [rung.path, rung])))
  const panels = sources.map((file) => {
    const rung = rungs.get(file)
    const name = inputs[0].options.find((option) => file.replace(/\.\w+$/, '').endsWith(`_${option}`))
    const lines = book.lines(file)
    const page = book.site.link(`/${file}`, { source: file, out })
    const shown = rung?.kernels.length ? rung.kernels : [[1, lines.length]]
    const numbered = lines.map((tokens, i) => (isMark(textOf(tokens)) ? null : kernelLine(tokens, i + 1, page)))
    const code = shown.map(([first, last]) => numbered.slice(first - 1, last).filter((line) => line !== null).join('\n')).join('\n\n')
    return `<figure class="code" data-kernel="${name}" data-file="${file}"><figcaption>${link(book, file, out, `<code>${pathHtml(file)}</code>`)}</figcaption><pre class="source" tabindex="0"><code>${code}</code></pre></figure>`
  })
  return `<h2>The kernel</h2>${panels.join('')}
<p>It runs in this page: simt made plain C++ of it, a compiler WebAssembly of that, and the counts are simt's.</p>`
}

// The lesson that asks for a widget, for the way back.
function lessonOf(book, { name }) {
  const asks = ({ tokens }) => tokens.some(({ type, content }) => type === 'html_block' && content.includes(`<!-- widget ${name} -->`))
  return book.lessons.find(asks)
}

export function widgetPages(book) {
  const list = widgetList(book)
  shown(book).forEach((widget, i) => {
    const { out } = list[i]
    const lesson = lessonOf(book, widget)
    const back = lesson ? `<p>Explained in <a href="${relative(out, lesson.out)}">${escape(lesson.title)}</a>.</p>` : ''
    const body = `<h1>${escape(widget.title)}</h1>\n${widgetHtml(widget)}${back}${widget.sources ? kernels(book, widget, out) : ''}`
    book.add({ ...list[i], body, before: list[i - 1], after: list[i + 1] })
  })
}

export function widgetInText(name, book) {
  const all = [...WIDGETS, ...KERNELS]
  const widget = all.find((one) => one.name === name)
  if (!widget) throw new Error(`a lesson asks for a widget "${name}"; there are ${all.map((one) => one.name).join(', ')}`)
  if (!shown(book).includes(widget)) return ''
  return `<section class="in-text" aria-label="${escape(widget.title)}"><p class="title">Try it: ${escape(widget.title)}</p>${widgetHtml(widget)}</section>`
}
