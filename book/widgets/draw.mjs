// Small drawings for the widgets.

import { escape } from '../lib/format.mjs'

// cells: { at: [column, row], text, kind? }; kind is on, warm, cold or off, and never alone tells
// what the text does not. `font` is the height of letters, in pixels.
export function grid({ cells, cell = [22, 22], left = 0, labels = [], label, font = 12 }) {
  const [w, h] = cell
  const columns = Math.max(...cells.map(({ at }) => at[0])) + 1
  const rows = Math.max(...cells.map(({ at }) => at[1])) + 1
  const box = ({ at: [x, y], text, kind = '' }) =>
    `<g class="cell ${kind}"><rect x="${left + x * w + 1}" y="${y * h + 1}" width="${w - 2}" height="${h - 2}"/>` +
    `<text x="${left + x * w + w / 2}" y="${y * h + h / 2 + 4}" text-anchor="middle">${escape(text)}</text></g>`
  const names = labels.map((name, y) => `<text x="${left - 6}" y="${y * h + h / 2 + 4}" text-anchor="end">${escape(name)}</text>`)
  const width = left + columns * w
  return `<div class="wide" tabindex="0" role="region" aria-label="Drawing"><svg viewBox="0 0 ${width} ${rows * h}" width="${width}"${font === 12 ? '' : ` style="font-size:${font}px"`} role="img" aria-label="${escape(label)}">${names.join('')}${cells.map(box).join('')}</svg></div>`
}

export const range = (n) => Array.from({ length: n }, (_, i) => i)
