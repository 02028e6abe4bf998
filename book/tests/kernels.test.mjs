// The kernels of the page count what the same kernels on simt count: build/page holds both.

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

// Every kernel of a widget, at its first values and with each slider at its least, at its greatest
// and at two places between.
function calls(widget) {
  const sliders = widget.inputs.filter((input) => input.slider)
  const places = ({ min, max }) => [min, min + Math.floor((max - min) / 3), max - 1, max]
  return widget.inputs[0].options.flatMap((kernel) => {
    const first = { ...firstValues(widget), kernel }
    const moved = sliders.flatMap((input) => places(input).map((value) => ({ ...first, [input.name]: value })))
    return [first, ...moved].map((values) => [widget.name.replace('run_', ''), widget.argumentsOf(values)])
  })
}

const ANSWERS = ['wrong', 'right', 'refused']

function onSimt(all) {
  const input = all.map(([name, values]) => [name, ...values].join(' ')).join('\n')
  const lines = execFileSync(path.join(BUILT, 'count'), { input: `${input}\n`, encoding: 'utf8', stdio: ['pipe', 'pipe', 'ignore'] }).trim().split('\n')
  return lines.map((line) => {
    const [answer, ...counted] = line.split(' ').map(Number)
    return { answer: ANSWERS[answer], ...Object.fromEntries(COUNTS.map((count, i) => [count, counted[i]])) }
  })
}

test('every kernel is right and counts in the page what it counts on simt', { skip }, () => {
  const all = KERNELS.flatMap(calls)
  assert.ok(all.length > 150, `${all.length} calls`)
  onSimt(all).forEach((wanted, i) => {
    const [name, values] = all[i]
    const got = run(name, values)
    assert.notEqual(got.answer, 'wrong', `${name} ${values}`)
    assert.equal(got.races, 0, `${name} ${values}`)
    // A refused kernel is not launched: what was counted is of the one before.
    if (got.answer === 'refused') assert.equal(wanted.answer, 'refused')
    else assert.deepEqual(got, wanted, `${name} ${values}`)
  })
})

test('without its barriers a tree is wrong and races, in the page as on simt', { skip }, () => {
  for (const call of [['sum', [2, 2048, 0]], ['transpose', [2, 64, 64, 0]]]) {
    const [onPage, [wanted]] = [run(...call), onSimt([call])]
    assert.equal(onPage.answer, 'wrong')
    assert.equal(wanted.answer, 'wrong')
    assert.ok(onPage.races > 0 && wanted.races > 0, `${onPage.races} and ${wanted.races} races`)
  }
})
