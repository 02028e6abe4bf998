import { grid, range } from './draw.mjs'

// Where accumulator `register` of a thread of the warpgroup lies in the 64 x n tile.
export function fragment({ thread, register }) {
  const [warp, lane] = [thread >> 5, thread & 31]
  return {
    thread,
    register,
    row: 16 * warp + (lane >> 2) + 8 * ((register >> 1) & 1),
    column: 2 * (lane & 3) + (register & 1) + 8 * (register >> 2),
  }
}

export default {
  name: 'wgmma',
  title: 'Whose accumulator is where: a fragment of wgmma',
  about: 'The 128 threads of a warpgroup hold a tile of 64 rows. Each thread has two neighbours of a row, two of the row eight below, and again eight columns on.',
  ask: 'Which thread holds the element in row 25, column 2?',
  inputs: [
    { name: 'thread', label: 'Thread of the warpgroup', min: 0, max: 127, value: 37 },
    { name: 'register', label: 'Accumulator', min: 0, max: 7, value: 2 },
  ],
  compute: fragment,
  facts: (r) => [['Row', r.row], ['Column', r.column], ['Warp', r.thread >> 5], ['Lane', r.thread & 31]],
  draw: (r) => {
    const first = 16 * (r.thread >> 5)
    const owners = new Map(range(32).flatMap((lane) => range(8).map((register) => {
      const at = fragment({ thread: 2 * first + lane, register })
      return [`${at.column},${at.row - first}`, { lane, register }]
    })))
    const cells = range(16).flatMap((y) => range(16).map((x) => {
      const { lane, register } = owners.get(`${x},${y}`)
      const isMine = lane === (r.thread & 31)
      return { at: [x, y], text: `${lane}${isMine ? `:${register}` : ''}`, kind: isMine && register === r.register ? 'warm' : isMine ? 'on' : 'off' }
    }))
    return `<p>The 16 rows of this warp, the first 16 columns; a cell names the lane that holds it, for this thread also its register:</p>${grid({ cells, cell: [40, 22], left: 56, labels: range(16).map((y) => `row ${first + y}`), label: `row ${r.row}, column ${r.column}` })}`
  },
}
