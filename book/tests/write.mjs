// Kernels written in the page, where the book was built with its compiler: typed and clicked in Chromium. Slow, so it
// runs at night and with `make book-test WITH_COMPILER=1`; EXERCISES="01/guard 05/tree" chooses.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { after, before, test } from 'node:test'
import { BASE, OUT, browser, close, openTab, tabTo } from './browser_kit.mjs'

const ROOT = path.join(import.meta.dirname, '../..')
const WAIT = 600e3 // of a machine that does much else, too
const CHAPTERS = ['01', '02', '03', '04', '05', '06']

// What each compiler has of its own: how code is cut into basic blocks, and what is kept in registers of the host.
const OWN = new Set(['instructions', 'executions', 'active_lanes_per_instruction', 'divergent_branches', 'sites', 'thread_steps', 'block_steps'])
// What is by chance. Where threads take their places in a queue by an atomic, in which order decides which sectors and
// banks they touch, and where the larger of two values wins, how often they try; where one device waits for another one,
// it asks as often as there is time; where lanes go two ways, a compiler may give each a store of its own, or put an atomic
// behind the loop, and they go on apart.
const BY_CHANCE = {
  '02/sparse': /sector|bytes_moved|wavefront|conflict|l1tex|smsp/,
  '04/a_transposed': /^store|_st\./,
  '06/bins4096': /request|sector|bytes_moved|wavefront|l1tex|smsp/,
  '06/flag_scope': /load|_ld\.|^store|_st\./,
  '06/float_max': /atomic/,
}
function shared(counts, byChance) {
  const same = Object.entries(counts).filter(([name]) => !OWN.has(name) && !byChance?.test(name))
  return Object.fromEntries(same.map(([name, value]) => [name, value && typeof value === 'object' ? shared(value, byChance) : value]))
}

const pageOf = (id) => {
  const [chapter, name] = id.split('/')
  const folder = fs.readdirSync(OUT).find((one) => one.startsWith(`${chapter}_`))
  const exercise = fs.readdirSync(path.join(OUT, folder, 'exercises')).find((one) => one.slice(3) === name)
  return `${folder}/exercises/${exercise}/task.html`
}
const chosen = () => {
  if (process.env.EXERCISES) return process.env.EXERCISES.split(' ')
  const folders = fs.readdirSync(ROOT).filter((name) => CHAPTERS.some((chapter) => name.startsWith(`${chapter}_`)))
  return folders.flatMap((folder) => fs.readdirSync(path.join(ROOT, folder, 'exercises')).map((name) => `${folder.slice(0, 2)}/${name.slice(3)}`))
}

let tab
before(async () => {
  tab = await openTab()
  tab.page.setDefaultTimeout(WAIT)
})
after(async () => {
  await tab.close()
  await close()
})

async function write(text) {
  await tab.page.locator('.cm-content').click()
  await tab.page.keyboard.press('Control+a')
  await tab.page.keyboard.insertText(text)
}
const done = () => tab.page.evaluate(() => Number(document.querySelector('.write').dataset.done ?? 0))
async function go() {
  const before = await done()
  await tab.page.click('.go')
  await tab.page.waitForFunction((k) => Number(document.querySelector('.write').dataset.done ?? 0) > k, before)
  return { says: await tab.page.innerText('.outcome'), status: await tab.page.textContent('.status') }
}

// What the largest tab has used so far: seconds of processors, and MB at most (of Linux).
async function used() {
  const session = await browser.newBrowserCDPSession()
  const { processInfo } = await session.send('SystemInfo.getProcessInfo')
  await session.detach()
  const megabytes = ({ id }) => Number(fs.readFileSync(`/proc/${id}/status`, 'utf8').match(/VmHWM:\s+(\d+)/)[1]) / 1024
  const tabs = processInfo.filter(({ type }) => type === 'renderer').map((one) => ({ seconds: one.cpuTime, megabytes: megabytes(one) }))
  return tabs.sort((a, b) => b.megabytes - a.megabytes)[0]
}

const FREE = (kernel) => `#include <cuda_runtime.h>
#include <cstdio>
${kernel}
int main() {
  int* x;
  cudaMalloc(&x, 64 * sizeof(int));
  cudaMemset(x, 0, 64 * sizeof(int));
  k<<<1, 64>>>(x);
  std::printf("%s\\n", cudaGetErrorString(cudaDeviceSynchronize()));
  cudaFree(x);
}
`

test('a race is named at its line, a stray write too, an endless loop ends, and the next program runs', async () => {
  await tab.page.goto(`${BASE}write.html`)
  let { says } = await go()
  assert.match(says, /nothing wrong was seen/)
  assert.match(says, /0 of 16384 wrong/)
  await write(FREE('__global__ void k(int* x) {\n  x[threadIdx.x / 2] = threadIdx.x;\n}'))
  ;({ says } = await go())
  assert.match(says, /race/)
  assert.match(says, /kernel\.cu:4/)
  assert.ok(await tab.page.locator('.cm-lint-marker-error').count(), 'a mark beside the line')
  await write(FREE('__global__ void k(int* x) {\n  x[threadIdx.x + 1] = 1;\n}'))
  ;({ says } = await go())
  assert.match(says, /out-of-bounds write of 4 bytes[^]*kernel\.cu:4/)
  await write(FREE('__global__ void k(int* x) {\n  for (unsigned i = 0; x[0] == 0; ++i) x[1] += i;\n}'))
  ;({ says } = await go())
  assert.match(says, /Stopped (after 30 s|with its memory full), at\s+kernel\.cu:4\s*\. Does a loop never end/)
  await write('int main() { return 3 }')
  ;({ says } = await go())
  assert.match(says, /kernel\.cu:1:\d+: error: expected ';'/)
  await write(FREE('__global__ void k(int* x) {\n  if (threadIdx.x < 32) __syncthreads();\n  x[threadIdx.x] = 1;\n}'))
  ;({ says } = await go())
  assert.match(says, /barrier-divergence/)
  assert.deepEqual(tab.wrong, [])
})

test('by keys alone, from the front page: an exercise is written, checked and solved, and Tab leaves the editor', async () => {
  const { page } = tab
  await page.goto(`${BASE}index.html`)
  for (const [link, address] of [['Solve an exercise', '**/exercises.html'], ['01/guard', '**/01_guard/task.html']]) {
    await tabTo(page, link)
    await page.keyboard.press('Enter')
    await page.waitForURL(address)
  }
  const lines = (await page.locator('.write template').evaluate((template) => template.content.textContent)).split('\n')
  await page.locator('.cm-content').waitFor() // the editor comes behind the page
  await tabTo(page, 'The text of guard.cuh')
  const press = async (key, times = 1) => {
    for (let i = 0; i < times; ++i) await page.keyboard.press(key)
  }
  const goTo = async (text) => {
    await press('Control+Home')
    await press('ArrowDown', lines.findIndex((line) => line.includes(text)))
    await press('End')
  }
  await press('ArrowRight') // which turns no page here
  await goTo('int grid = 1;') // the lower gap first: the upper one moves it
  await press('Backspace', 2)
  await page.keyboard.type('(n + block - 1) / block;')
  await goTo('TODO 1')
  await press('Enter')
  await page.keyboard.type('const int i = blockIdx.x * blockDim.x + threadIdx.x;\nif (i < n) y[i] = x[i] + y[i];')
  await press('Control+Enter')
  await page.waitForFunction(() => Number(document.querySelector('.write').dataset.done) > 0)
  assert.match(await page.innerText('.outcome'), /^6 of 6 points/)
  await press('Tab')
  assert.ok(await page.evaluate(() => !document.activeElement.closest('.cm-editor')))
  assert.deepEqual(tab.wrong, [])
})

test('a rung of the book opens in the page for programs, and runs', async () => {
  await tab.page.goto(`${BASE}files/01_vector_add/03_cuda.cuh.html`)
  await tab.page.click('.one-file summary')
  await tab.page.click('text=change it and run it in the page')
  await tab.page.waitForURL(/write\.html\?program=/)
  const { says } = await go()
  assert.match(says, /nothing wrong was seen/)
  assert.match(says, /cuda +[\d.]+ +0 +right/)
  assert.deepEqual(tab.wrong, [])
})

test('a rung for Hopper, too: TMA brings its tiles, wgmma multiplies them', async () => {
  await tab.page.goto(`${BASE}write.html?program=standalone/04_matmul/bf16/wgmma.cu&seconds=300`)
  const { says } = await go()
  assert.match(says, /nothing wrong was seen/)
  assert.match(says, /wgmma +[\d.]+ +\d+ +right/)
  assert.deepEqual(tab.wrong, [])
})

const ids = chosen()
for (const id of ids) {
  test(`${id}: the author's solution has all points, and counts as ./exercise check does`, async () => {
    const native = JSON.parse(execFileSync(path.join(ROOT, 'book/compiler/counts.py'), [id], { encoding: 'utf8', maxBuffer: 1 << 26 }))[id]
    await tab.page.goto(BASE + pageOf(id))
    await tab.page.click('button:text-is("Begin again")') // the browser keeps what was written before
    const skeleton = await go()
    assert.doesNotMatch(skeleton.says, new RegExp(`^${native.most} of ${native.most} points`))
    await write(native.text)
    const { says, status } = await go()
    assert.match(says, new RegExp(`^${native.points} of ${native.most} points`), says)
    const counts = await tab.page.evaluate(() => JSON.parse(document.querySelector('.write').dataset.counts))
    assert.deepEqual(Object.keys(counts).sort(), Object.keys(native.counts).sort())
    for (const name of Object.keys(counts)) assert.deepEqual(shared(counts[name], BY_CHANCE[id]), shared(native.counts[name], BY_CHANCE[id]), `in the case ${name}`)
    const begun = await used()
    await go() // once more, with all loaded
    const { seconds, megabytes } = await used()
    console.log(`${id}: ${status}; again ${await tab.page.textContent('.status')}, ${(seconds - begun.seconds).toFixed(1)} s of processors; the tab took ${megabytes.toFixed(0)} MB at most`)
    assert.ok(megabytes < 1000, `${megabytes} MB`)
  })
}
