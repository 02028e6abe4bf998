import { grid, range } from './draw.mjs'

// The ring of chapter 05 after `step` of its 2 (ranks - 1) steps. parts[rank][slice]: whose numbers that slice has summed,
// in order; moves: what the last step sent. In step k (from 0) rank r sends slice r - k to the next rank.
export function ring({ ranks, megabytes, step }) {
  const steps = 2 * (ranks - 1)
  const done = Math.min(step, steps)
  let parts = range(ranks).map((rank) => range(ranks).map(() => [rank]))
  let moves = []
  for (let k = 0; k < done; ++k) {
    moves = range(ranks).map((rank) => ({ from: rank, to: (rank + 1) % ranks, slice: (rank - k + 2 * ranks) % ranks }))
    const next = parts.map((row) => [...row])
    for (const { from, to, slice } of moves) next[to][slice] = k < ranks - 1 ? [...parts[from][slice], ...parts[to][slice]] : parts[from][slice]
    parts = next
  }
  return { ranks, megabytes, steps, done, parts, moves, sent: done / ranks, whole: parts[0].filter((sum) => sum.length === ranks).length }
}

const arrays = (count) => String(Number(count.toFixed(3)))
const named = (sum, ranks) => (sum.length === ranks ? 'all' : sum.length > 2 ? `${sum[0]}…${sum.at(-1)}` : sum.join('+'))

export default {
  name: 'ring',
  title: 'All-reduce in a ring',
  about: 'Every rank has an array of as many slices as there are ranks. In each step it sends one slice to the next rank. First the sums grow (reduce-scatter), then the finished ones go round (all-gather).',
  ask: 'How many arrays has each rank sent in the end, with two ranks, four and eight? Can it ever be two?',
  inputs: [
    { name: 'ranks', label: 'Ranks', min: 2, max: 8, value: 4 },
    { name: 'megabytes', label: 'An array, MB', min: 1, max: 1024, value: 64 },
    { name: 'step', label: 'Steps done', min: 0, max: 14, value: 2, step: true },
  ],
  compute: ring,
  facts: (r) => [
    ['Step', `${r.done} of ${r.steps}${r.done ? `, ${r.done < r.ranks ? 'reduce-scatter' : 'all-gather'}` : ''}`],
    ['Each rank has sent, arrays', arrays(r.sent)],
    ['That is', `${arrays(r.sent * r.megabytes)} MB`],
    ['Whole slices at each rank', `${r.whole} of ${r.ranks}`],
  ],
  draw: (r) => {
    const come = new Set(r.moves.map(({ to, slice }) => `${to},${slice}`))
    const cells = r.parts.flatMap((row, rank) => row.map((sum, slice) => {
      const isNew = come.has(`${rank},${slice}`)
      return { at: [slice, rank], text: `${isNew ? '→ ' : ''}${named(sum, r.ranks)}`, kind: isNew ? 'warm' : sum.length === r.ranks ? 'on' : 'off' }
    }))
    const label = `${r.done} of ${r.steps} steps are done; each rank has ${r.whole} whole slices`
    return `<p>A row is a rank, a column a slice; a box says whose numbers it has summed. →: it has just come from the rank before.</p>${grid({ cells, cell: [64, 28], left: 60, labels: range(r.ranks).map((rank) => `rank ${rank}`), label })}`
  },
}
