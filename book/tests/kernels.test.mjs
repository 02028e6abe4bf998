// The kernels of the page count what the same kernels on simt count: build/page holds them, and two
// programs of simt's. What goes by basic blocks, active lanes, depends on how a compiler cuts code
// into them: `count`, by g++, is asked for all else, and for all `count_clang`, of the page's compiler.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { COUNTS, load, run } from '../kernels/run.mjs'
import { firstValues } from '../widgets/frame.mjs'
import { KERNELS } from '../widgets/kernels.mjs'

const BUILT = process.env.KERNELS ?? path.join(import.meta.dirname, '../../build/page')
const wasm = path.join(BUILT, 'kernels.wasm')
const skip = fs.existsSync(wasm) ? false : 'the kernels of the page are not built: make book says why'
if (!skip) await load(fs.readFileSync(wasm))

const callOf = (widget, values) => [widget.name.replace('run_', ''), widget.argumentsOf(values)]
const atFirst = (widget) => widget.inputs[0].options.map((kernel) => ({ ...firstValues(widget), kernel }))

// Every kernel of a widget at its first values, and with each slider at its least, at its greatest
// and at two places between.
function slid(widget) {
  const sliders = widget.inputs.filter((input) => input.slider)
  const places = ({ min, max }) => [min, min + Math.floor((max - min) / 3), max - 1, max]
  return atFirst(widget).flatMap((first) => {
    const moved = sliders.flatMap((input) => places(input).map((value) => ({ ...first, [input.name]: value })))
    return [first, ...moved].map((values) => callOf(widget, values))
  })
}

// Every kernel with what breaks it: no barriers, or its input to write to.
function broken(widget) {
  const others = widget.inputs.slice(1).filter((input) => input.options)
  const wrong = ({ name, options, value }) => ({ [name]: options.find((option) => option !== value) })
  return atFirst(widget).flatMap((first) => others.map((input) => callOf(widget, { ...first, ...wrong(input) })))
}

const ANSWERS = ['wrong', 'right', 'refused']

function onSimt(program, all) {
  const input = all.map(([name, values]) => [name, ...values].join(' ')).join('\n')
  const lines = execFileSync(path.join(BUILT, program), { input: `${input}\n`, encoding: 'utf8', stdio: ['pipe', 'pipe', 'ignore'] }).trim().split('\n')
  return lines.map((line) => {
    const [answer, ...counted] = line.split(' ')
    return { answer: ANSWERS[answer], ...Object.fromEntries(COUNTS.map((count, i) => [count, Number(counted[i])])), lines: counted.slice(COUNTS.length).sort() }
  })
}

const withoutBlocks = ({ instructions, instructionLanes, lines, ...rest }) => rest
const linesOf = (pairs) => [...new Set(pairs.flatMap(({ then, now }) => [then, now]).map(({ file, line }) => `${path.basename(file)}:${line}`))].sort()

test('every kernel is right and counts in the page what it counts on simt', { skip }, () => {
  const all = KERNELS.flatMap(slid)
  assert.ok(all.length > 150, `${all.length} calls`)
  const [byGcc, byClang] = ['count', 'count_clang'].map((program) => onSimt(program, all))
  all.forEach(([name, values], i) => {
    const { pairs, ...got } = run(name, values)
    const call = `${name} ${values}`
    assert.notEqual(got.answer, 'wrong', call)
    assert.deepEqual([got.races, pairs], [0, []], call)
    // A refused kernel is not launched: what was counted is of the one before.
    if (got.answer === 'refused') return assert.equal(byGcc[i].answer, 'refused')
    assert.deepEqual(withoutBlocks(got), withoutBlocks(byGcc[i]), call)
    const { lines, ...wanted } = byClang[i]
    assert.deepEqual(got, wanted, `${call}, on simt by clang`)
  })
})

test('active lanes are few where a warp diverges, and all of them where it does not', { skip }, () => {
  const lanes = (kernel, percent, together = 1) => {
    const { instructions, instructionLanes } = run('branch', [kernel, 1024, percent, together])
    return instructionLanes / instructions
  }
  const [divergent, select, vote, aligned] = [0, 1, 2, 3]
  assert.ok(lanes(divergent, 2) < 3)
  assert.ok(lanes(divergent, 50) < 17)
  assert.equal(lanes(divergent, 0), 32)
  assert.equal(lanes(divergent, 50, 32), 32)
  for (const kernel of [select, vote]) assert.ok(lanes(kernel, 2) > 31)
  assert.ok(lanes(aligned, 2) > 2 * lanes(divergent, 2))
})

// simt counts pairs of places in the code, the page racing accesses; which of them come first, and
// so what is right, is nobody's to say.
test('kernels without barriers or in place race in the page where they race on simt', { skip }, () => {
  const all = KERNELS.flatMap(broken)
  const racing = []
  onSimt('count_clang', all).forEach(({ races, lines, answer, ...wanted }, i) => {
    const [name, values] = all[i]
    const { races: seen, pairs, answer: said, ...got } = run(name, values)
    assert.equal(seen > 0, races > 0, `${name} ${values}: ${seen} races, ${races} on simt`)
    assert.deepEqual(linesOf(pairs), lines, `${name} ${values}`)
    assert.deepEqual(got, wanted, `${name} ${values}`)
    if (seen) racing.push(`${name} ${values[0]}`)
  })
  assert.deepEqual(racing, ['copy 0', 'copy 1', 'copy 2', 'copy 3', 'transpose 2', 'transpose 3', 'transpose 4', 'product 2', 'sum 0', 'sum 1', 'sum 2', 'sum 3', 'sum 4'])
})
