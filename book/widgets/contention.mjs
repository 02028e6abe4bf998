import { grid, range } from './draw.mjs'

// Which counter each lane of a warp wants: `same` percent of them counter 0, the others any of `bins`; the draws are
// fixed, so that a slider changes one thing. `copies` private sets of counters, lanes dealt out in turn.
export function contention({ bins, same, copies }) {
  const draw = (lane) => (lane * 2654435761 + 12345) % 4294967296
  const wants = range(32).map((lane) => {
    const isSame = Math.floor(((lane + 1) * same) / 100) > Math.floor((lane * same) / 100)
    return (isSame ? 0 : Math.floor((draw(lane + 1) / 4294967296) * bins)) + bins * (lane % copies)
  })
  const queues = new Map()
  wants.forEach((word, lane) => queues.set(word, [...(queues.get(word) ?? []), lane]))
  const rounds = Math.max(...[...queues.values()].map((queue) => queue.length))
  return { wants, queues, rounds, words: queues.size, bins }
}

export default {
  name: 'contention',
  title: 'Lanes that want the same counter',
  about: 'Atomics of one warp on the same word are done one after the other; on different words side by side (banks apart, which this leaves out).',
  ask: 'All 32 lanes want one counter. How many private copies of the counters make it four rounds?',
  inputs: [
    { name: 'bins', label: 'Counters', min: 1, max: 256, value: 256 },
    { name: 'same', label: 'Percent of the lanes that want the first', min: 0, max: 100, value: 50 },
    { name: 'copies', label: 'Private copies of the counters', min: 1, max: 32, value: 1 },
  ],
  compute: contention,
  facts: (r) => [['Rounds', r.rounds], ['Different words', r.words], ['Lanes a round, on average', (32 / r.rounds).toFixed(1)]],
  draw: (r) => {
    const cells = range(r.rounds).flatMap((round) => range(32).map((lane) => {
      const isNow = r.queues.get(r.wants[lane])[round] === lane
      return { at: [lane, round], text: isNow ? r.wants[lane] % r.bins : '', kind: isNow ? 'on' : '' }
    }))
    return `<p>A column is a lane, a row a round; the number is the counter that the lane adds to:</p>${grid({ cells, cell: [26, 18], label: `${r.rounds} rounds` })}`
  },
}
