#!/usr/bin/env node
// Builds the book: node book/build.mjs OUT [KERNELS.wasm [COMPILER]]; COMPILER is the folder that book/compiler/build.mjs
// has made. Where no file has changed since the last build it does
// nothing; else it makes again what depends on what has.

import fs from 'node:fs'
import path from 'node:path'
import { Memory } from './lib/memory.mjs'

const ROOT = path.dirname(import.meta.dirname)
const NEVER = new Set(['.git', 'node_modules', '__pycache__', 'work'])

function fail(message) {
  console.error(`book: ${message}`)
  process.exit(1)
}

// [path, size, time] of every file that the book may depend on; what is built is none of them.
function placesUnder(folder, built, found = []) {
  for (const entry of fs.readdirSync(path.join(ROOT, folder), { withFileTypes: true })) {
    const name = path.posix.join(folder, entry.name)
    if (NEVER.has(entry.name) || path.join(ROOT, name) === built) continue
    if (entry.isDirectory()) placesUnder(name, built, found)
    else if (entry.isFile()) {
      const { size, mtimeMs } = fs.statSync(path.join(ROOT, name))
      found.push([name, size, mtimeMs])
    }
  }
  return found
}

const [given, wasm, compiler] = process.argv.slice(2)
if (!given) fail('usage: node book/build.mjs OUT [KERNELS.wasm [COMPILER]]')
const out = path.resolve(given)
const begun = Date.now()
const seconds = () => ((Date.now() - begun) / 1000).toFixed(1)
try {
  const places = placesUnder('', path.dirname(out))
  const isThere = wasm && fs.existsSync(wasm)
  const kernels = isThere ? fs.statSync(wasm).mtimeMs : 0
  const lock = fs.statSync(path.join(ROOT, 'book/node_modules/.package-lock.json')).mtimeMs
  // Beside the kernels of the page, for `make clean` removes that folder.
  const kept = wasm && path.join(path.dirname(wasm), 'book.memory')
  const memory = new Memory(kept, [process.version, lock, ...places.filter(([name]) => name.startsWith('book/lib/'))].join('\n'))
  const packed = compiler ? fs.statSync(path.join(compiler, 'files.bin')).mtimeMs : 0
  const state = [...places, kernels, packed, lock, out].join('\n')
  if (memory.state === state && fs.existsSync(path.join(out, 'index.html'))) {
    console.log(`book: nothing has changed since it was built (${memory.pages} pages in ${given})`)
  } else {
    const { makeBook } = await import('./book.mjs')
    const say = (what) => console.log(`book: ${what} (${seconds()} s)`)
    const { pages, written } = await makeBook({ out, wasm, compiler, memory, places, say })
    memory.keep(state, pages)
    console.log(`book: ${pages} pages in ${given}, ${written} files written (${seconds()} s)`)
  }
} catch (error) {
  fail(process.env.V ? error.stack : error.message)
}
