import { grid, range } from './draw.mjs'

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

export default {
  name: 'coalescing',
  title: 'Coalescing: which sectors a warp asks for',
  about: 'Memory moves in sectors of 32 bytes. A request of a warp costs as many as its lanes touch.',
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
  draw: (r) => {
    const lanes = (sector) => r.sectorsOf.filter(([first, last]) => first <= sector && sector <= last).length
    const first = r.sectors[0]
    const shown = range(Math.min(128, r.sectors.at(-1) - first + 1)).map((i) => first + i)
    const cells = shown.map((sector, i) => ({ at: [i % 16, Math.floor(i / 16)], text: lanes(sector) || '·', kind: lanes(sector) ? 'on' : 'off' }))
    return `<p>Sectors in order of their addresses; the number says how many lanes touch one:</p>${grid({ cells, cell: [34, 26], label: `${r.sectors.length} sectors are touched` })}`
  },
}
