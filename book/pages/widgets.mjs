// A page for each widget.

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
