import { grid, range } from './draw.mjs'

// Lanes of a warp at a branch: `taken` of them go the first way; each way has its length.
export function divergence({ taken, first, second, order }) {
  const way = range(32).map((lane) => (order === 'together' ? lane < taken : Math.floor(((lane + 1) * taken) / 32) > Math.floor((lane * taken) / 32)))
  const warps = [taken > 0 ? first : 0, taken < 32 ? second : 0]
  const time = warps[0] + warps[1]
  const work = taken * first + (32 - taken) * second
  return { way, time, active: time ? work / time : 32, parts: warps }
}

export default {
  name: 'divergence',
  title: 'A warp at a branch',
  about: 'A warp runs one way after the other, each with the lanes that take it. The order of the lanes changes nothing within a warp.',
  ask: 'When do both ways cost nothing more than one? Does it help if the lanes that agree stand together?',
  inputs: [
    { name: 'taken', label: 'Lanes that take the first way', min: 0, max: 32, value: 8 },
    { name: 'first', label: 'Instructions of the first way', min: 1, max: 20, value: 10 },
    { name: 'second', label: 'Instructions of the second way', min: 1, max: 20, value: 5 },
    { name: 'order', label: 'They stand', options: ['together', 'spread'], value: 'together' },
  ],
  compute: divergence,
  facts: (r) => [['Instructions that the warp issues', r.time], ['Active lanes on average', r.active.toFixed(2)], ['Used', `${((100 * r.active) / 32).toFixed(1)} %`]],
  draw: (r) => {
    const rows = [['first', (lane) => r.way[lane]], ['second', (lane) => !r.way[lane]]]
    const cells = rows.flatMap(([, on], y) => range(32).map((lane) => ({ at: [lane, y], text: r.parts[y] && on(lane) ? '■' : '·', kind: r.parts[y] && on(lane) ? 'on' : 'off' })))
    const labels = rows.map(([name], y) => (r.parts[y] ? `${name} way, ${r.parts[y]}` : `${name} way, skipped`))
    return `<p>Time goes down; a column is a lane:</p>${grid({ cells, left: 130, labels, label: `the warp issues ${r.time} instructions` })}`
  },
}
