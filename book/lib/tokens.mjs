// A line of code is a list of tokens [text, class]; this makes HTML of it, words marked.

import { escape } from './format.mjs'

// A line that only names a part of its file for `make lessons`: no reader needs it.
export const isMark = (line) => /^\s*\/\/\s*(end)?region\b/.test(line)

export const textOf = (tokens) => tokens.map(([text]) => text).join('')

const span = ([text, kind]) => (kind ? `<span class="${kind}">${escape(text)}</span>` : escape(text))

export const lineHtml = (tokens) => tokens.map(span).join('')

// The same with the character ranges [first, end) of `marks` in <tag>.
export function markedHtml(tokens, marks, tag) {
  let at = 0
  let out = ''
  let open = false
  const edges = marks.flat()
  const isIn = (place) => marks.some(([first, end]) => first <= place && place < end)
  for (const [text, kind] of tokens) {
    const cuts = edges.filter((edge) => at < edge && edge < at + text.length)
    const stops = [at, ...cuts, at + text.length]
    for (let i = 0; i + 1 < stops.length; ++i) {
      const marked = isIn(stops[i])
      if (marked !== open) out += marked ? `<${tag}>` : `</${tag}>`
      open = marked
      out += span([text.slice(stops[i] - at, stops[i + 1] - at), kind])
    }
    at += text.length
  }
  return out + (open ? `</${tag}>` : '')
}
