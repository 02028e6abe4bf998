// A page for each widget, and the widgets that lessons ask for by <!-- widget NAME -->.

import { WIDGETS } from '../widgets/all.mjs'
import { widgetHtml } from '../widgets/frame.mjs'
import { KERNELS } from '../widgets/kernels.mjs'
import { escape } from '../lib/format.mjs'

// `kernels`: could the kernels be compiled?
const shown = ({ kernels }) => (kernels ? [...WIDGETS, ...KERNELS] : WIDGETS)

export const widgetList = (book) => shown(book).map(({ name, title }) => ({ out: `widgets/${name}.html`, title }))

// Where the kernels of a widget stand, and what explains them.
function origins(book, { lesson, sources }, out) {
  const link = (file, text) => `<a href="${book.site.link(`/${file}`, { source: lesson, out })}">${escape(text)}</a>`
  const title = book.lessons.find(({ source }) => source === lesson).title
  return `<p>Explained in ${link(lesson, title)}. The kernels:</p><ul>${sources.map((file) => `<li>${link(file, file)}</li>`).join('')}</ul>
<p>They run in this page: simt made plain C++ of them, a compiler WebAssembly of that, and the counts are simt's.</p>`
}

export function widgetPages(book) {
  const list = widgetList(book)
  shown(book).forEach((widget, i) => {
    const body = `<h1>${escape(widget.title)}</h1>\n${widgetHtml(widget)}${widget.sources ? origins(book, widget, list[i].out) : ''}`
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
