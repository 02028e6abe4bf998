import { grid, range } from './draw.mjs'

const COPIES = 3 // pieces that a copy engine brings

// An mbarrier that one thread arrives at with the number of bytes to expect, and that copies then
// complete; `rounds` phases, one event a step.
export function mbarrier({ bytes, step }) {
  const events = range(3).flatMap((phase) => [
    { phase, what: `arrive, expect ${COPIES * bytes} bytes`, arrivals: 1, bytes: COPIES * bytes },
    ...range(COPIES).map((i) => ({ phase, what: `copy ${i} brings ${bytes} bytes`, arrivals: 0, bytes: -bytes })),
  ])
  let [phase, pending, expected] = [0, 1, 0]
  for (const event of events.slice(0, step)) {
    pending -= event.arrivals
    expected += event.bytes
    if (pending === 0 && expected === 0) [phase, pending] = [phase + 1, 1]
  }
  return { events, step, phase, pending, expected, passes: [0, 1].map((parity) => phase % 2 !== parity) }
}

export default {
  name: 'mbarrier',
  title: 'The phases of an mbarrier',
  about: 'A phase ends when nobody is left to arrive and no byte is left to come. Whoever waits names the parity of the phase that must have ended.',
  ask: 'What must happen, besides the arrivals, until the phase ends?',
  inputs: [
    { name: 'bytes', label: 'Bytes of a copy', options: [1024, 4096, 16384], value: 4096 },
    { name: 'step', label: 'Events so far', min: 0, max: 3 * (COPIES + 1), value: 2, step: true },
  ],
  compute: mbarrier,
  facts: (r) => [
    ['Phase', r.phase],
    ['Arrivals pending', r.pending],
    ['Bytes pending', r.expected.toLocaleString('en')],
    ['wait(parity 0)', r.passes[0] ? 'passes' : 'waits'],
    ['wait(parity 1)', r.passes[1] ? 'passes' : 'waits'],
  ],
  draw: (r) => grid({
    cells: r.events.map((event, i) => ({ at: [0, i], text: `phase ${event.phase}: ${event.what}`, kind: i === r.step - 1 ? 'warm' : i < r.step ? 'on' : 'off' })),
    cell: [316, 28], // all of it fits a phone
    font: 14,
    label: `${r.step} of ${r.events.length} events have happened`,
  }),
}
