// A page for each widget, and the widgets that lessons ask for by <!-- widget NAME -->.

import { WIDGETS } from '../widgets/all.mjs'
import { widgetHtml } from '../widgets/frame.mjs'
import { escape } from '../lib/format.mjs'

export const widgetList = () => WIDGETS.map(({ name, title }) => ({ out: `widgets/${name}.html`, title }))

export function widgetPages(book) {
  const list = widgetList()
  WIDGETS.forEach((widget, i) => {
    const body = `<h1>${escape(widget.title)}</h1>\n${widgetHtml(widget)}`
    book.add({ ...list[i], body, before: list[i - 1], after: list[i + 1] })
  })
}

export function widgetInText(name) {
  const widget = WIDGETS.find((one) => one.name === name)
  if (!widget) throw new Error(`a lesson asks for a widget "${name}"; there are ${WIDGETS.map((one) => one.name).join(', ')}`)
  return `<section class="in-text" aria-label="${escape(widget.title)}"><p class="title">Try it: ${escape(widget.title)}</p>${widgetHtml(widget)}</section>`
}
