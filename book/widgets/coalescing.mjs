import { escape } from '../lib/format.mjs'
import { range } from './draw.mjs'

const SECTOR = 32

// Lane l of a warp reads `bytes` at offset + l * stride elements.
export function coalescing({ bytes, stride, offset }) {
  const sectorsOf = range(32).map((lane) => {
    const first = (offset + lane * stride) * bytes
    return [Math.floor(first / SECTOR), Math.floor((first + bytes - 1) / SECTOR)]
  })
  const sectors = [...new Set(sectorsOf.flat())].sort((a, b) => a - b)
  const asked = new Set(range(32).map((lane) => (offset + lane * stride) * bytes)).size * bytes
  return { sectors, asked, moved: sectors.length * SECTOR, used: asked / (sectors.length * SECTOR), sectorsOf }
}

// 32 lanes above, the sectors of memory below in the order of their addresses, and which lane touches which.
export function lanesOverSectors({ sectors, sectorsOf }) {
  const [width, lane, height] = [704, 22, 114]
  const [first, count] = [sectors[0], sectors.at(-1) - sectors[0] + 1]
  const wide = Math.min(lane * 2, width / count)
  const at = (sector) => (width - wide * count) / 2 + (sector - first) * wide
  const lanes = range(32).map((l) => `<g class="cell"><rect x="${l * lane + 1}" y="1" width="${lane - 2}" height="20"/><text x="${l * lane + lane / 2}" y="15" text-anchor="middle">${l}</text></g>`)
  const threads = sectorsOf.flatMap((both, l) => [...new Set(both)].map((sector) => `<line class="thread" x1="${l * lane + lane / 2}" y1="22" x2="${(at(sector) + wide / 2).toFixed(1)}" y2="92"/>`))
  const boxes = sectors.map((sector) => `<g class="cell on"><rect x="${at(sector).toFixed(1)}" y="92" width="${Math.max(1.5, wide - (wide > 6 ? 2 : 0.5)).toFixed(1)}" height="20"/></g>`)
  const memory = `<rect class="memory" x="${at(first).toFixed(1)}" y="92" width="${(wide * count).toFixed(1)}" height="20"/>`
  const label = `The lanes of a warp touch ${sectors.length} sectors`
  return `<p>The upper row is the 32 lanes, the lower one memory. Every filled box is a sector of 32 bytes that has to move.</p>
<svg class="lanes" viewBox="0 0 ${width} ${height}" width="${width}" role="img" aria-label="${escape(label)}">${memory}${threads.join('')}${lanes.join('')}${boxes.join('')}</svg>
<p class="quiet">${count} sectors from the first to the last, ${sectors.length} of them touched</p>`
}

export default {
  name: 'coalescing',
  title: 'Coalescing: which sectors a warp asks for',
  about: 'Memory moves in sectors of 32 bytes. A request of a warp costs as many as its lanes touch.',
  ask: 'From which stride on does every lane pay for a sector of its own? And what does one element of offset cost?',
  inputs: [
    { name: 'stride', label: 'Stride, elements', min: 0, max: 64, value: 1 },
    { name: 'offset', label: 'Offset, elements', min: 0, max: 31, value: 0 },
    { name: 'bytes', label: 'Bytes of an element', options: [1, 2, 4, 8, 16], value: 4 },
  ],
  compute: coalescing,
  facts: (r) => [
    ['Sectors', r.sectors.length],
    ['Bytes asked for', r.asked],
    ['Bytes moved', r.moved],
    ['Used', `${(100 * r.used).toFixed(1)} %`],
  ],
  draw: lanesOverSectors,
}
