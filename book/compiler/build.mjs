#!/usr/bin/env node
// Builds what lets a reader write kernels in the page: node book/compiler/build.mjs OUT SCRATCH. OUT is a
// folder of the book; SCRATCH keeps what need not be made again. `make book WITH_COMPILER=1` calls it.

import { execFile, execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'

const HERE = import.meta.dirname
const ROOT = path.resolve(HERE, '../..')
const WASI = '/usr/include/wasm32-wasi'
const LIBRARIES = '/usr/lib/wasm32-wasi'
const CHAPTERS = /^0[1-6]_\w+$/ // whose exercises are in it
const packages = path.join(HERE, 'node_modules')
const LLVM = path.join(packages, '@yowasp/clang/gen/llvm.core.wasm') // clang and lld, for WASI
const RESOURCES = path.join(packages, '@yowasp/clang/gen/llvm-resources.tar')
const CLANGS_OWN = /^(__)?std|^(float|limits|inttypes|iso646|tgmath)\.h$/ // headers of C that clang brings

// Of simt's engine a page has all but what talks to a processor or to an operating system.
const NOT_OF_A_PAGE = new Set(['fiber', 'signals', 'dwarf_lines', 'dwarf_calls', 'check_orders'])
// A hook lets no other thread run; and simt's own hooks for calls and blocks are page.cpp's.
const MORE = {
  observe_block: ['-Dgive_way=go_on', '-Dpause_thread=go_on'],
  observe_hooks: ['-D__tsan_func_entry=of_another_machine', '-D__tsan_func_exit=of_another_machine_too', '-D__sanitizer_cov_trace_pc=count_block'],
  runner: ['-I', ROOT, '-DEXERCISE_SIMT'],
}
const FLAGS = [
  ...['-std=c++17', '-w', '-O2', '-fno-strict-aliasing', '-fno-threadsafe-statics', '--target=wasm32-wasi', '-fignore-exceptions'],
  ...['-isystem', path.join(HERE, 'host'), '-isystem', path.join(ROOT, 'simt/include'), '-iquote', path.join(ROOT, 'simt/src')],
  ...['-D__SANITIZE_THREAD__', '-Dno_sanitize_coverage=no_sanitize("coverage")', '-Dthread_local='],
  ...['-D__builtin_return_address(level)=reinterpret_cast<void*>(simt_site)', '-D__builtin_dwarf_cfa()=simt::page_frame()'],
  ...['-include', path.join(HERE, 'host/places.h')],
]

const [out, scratch] = process.argv.slice(2).map((name) => path.resolve(name))
const begun = Date.now()
const say = (what) => console.log(`book: the compiler: ${what} (${((Date.now() - begun) / 1000).toFixed(1)} s)`)

function under(folder, found = []) {
  for (const entry of fs.readdirSync(folder)) {
    const name = path.join(folder, entry)
    if (!fs.statSync(name).isDirectory()) found.push(name)
    else if (entry !== '__pycache__') under(name, found)
  }
  return found
}
const time = (name) => (fs.existsSync(name) ? fs.statSync(name).mtimeMs : 0)
const newest = (names) => Math.max(...names.map(time))

// simt's engine and the frame of the exercises, as one object.
async function engine() {
  const sources = fs.readdirSync(path.join(ROOT, 'simt/src')).filter((name) => name.endsWith('.cpp') && !NOT_OF_A_PAGE.has(path.parse(name).name))
  const all = [...sources.map((name) => path.join(ROOT, 'simt/src', name)), path.join(HERE, 'page.cpp'), path.join(ROOT, 'tools/exercise/runner.cpp')]
  const headers = newest([...under(path.join(ROOT, 'simt/include')), ...under(path.join(HERE, 'host')), ...under(path.join(ROOT, 'simt/src')).filter((name) => name.endsWith('.h')), import.meta.filename])
  const made = path.join(scratch, 'engine.o')
  const objects = all.map((source) => path.join(scratch, `${path.parse(source).name}.o`))
  const waiting = all.map((source, i) => [source, objects[i]]).filter(([source, object]) => time(object) < Math.max(time(source), headers))
  if (!waiting.length && fs.existsSync(made)) return made
  const work = async () => {
    for (let next; (next = waiting.pop()); ) {
      const [source, object] = next
      await promisify(execFile)('clang++', [...FLAGS, ...(MORE[path.parse(source).name] ?? []), '-c', source, '-o', object])
    }
  }
  await Promise.all([work(), work()])
  execFileSync('wasm-ld', ['-r', ...objects, '-o', made])
  return made
}

const read = (name) => new Uint8Array(fs.readFileSync(name))

// What the compiler in the page reads, by path: headers, and what stands in front of every program.
function headersOf() {
  const files = { 'uncounted.txt': read(path.join(HERE, '../kernels/uncounted.txt')) }
  const add = (folder, place) => under(folder).forEach((name) => (files[path.join(place, path.relative(folder, name))] = read(name)))
  add(path.join(HERE, 'host'), 'host')
  add(path.join(ROOT, 'simt/include'), 'simt/include')
  add(WASI, 'wasi')
  add(path.join(ROOT, 'common/kit'), 'common/kit')
  const folder = path.join(scratch, 'clang')
  fs.mkdirSync(folder, { recursive: true })
  execFileSync('tar', ['-xf', RESOURCES, '-C', folder, 'include'])
  for (const name of fs.readdirSync(path.join(folder, 'include')).filter((name) => CLANGS_OWN.test(name))) files[`usr/include/${name}`] = read(path.join(folder, 'include', name))
  for (const name of ['simt/frontend/keywords.h', 'tools/exercise/runner.hpp', 'tools/exercise/stages.hpp']) files[name] = read(path.join(ROOT, name))
  return files
}

// What Python in the page reads: simt's front end, the judge, the exercises.
function pythonFiles() {
  const names = [...under(path.join(ROOT, 'simt/frontend')), ...under(path.join(ROOT, 'tools/exercise')), path.join(ROOT, 'tools/cli.py'), path.join(HERE, 'in_page.py'), ...under(path.join(ROOT, 'simt/include'))]
  const chapters = fs.readdirSync(ROOT).filter((name) => CHAPTERS.test(name))
  for (const chapter of chapters) if (fs.existsSync(path.join(ROOT, chapter, 'exercises'))) names.push(...under(path.join(ROOT, chapter, 'exercises')))
  return Object.fromEntries(names.map((name) => [path.relative(ROOT, name), read(name)]))
}

function pack(groups) {
  const list = []
  const parts = []
  let at = 0
  for (const [kind, files] of Object.entries(groups)) {
    for (const [name, content] of Object.entries(files)) {
      list.push([`${kind}/${name}`, at, content.length])
      parts.push(content)
      at += content.length
    }
  }
  const head = Buffer.from(JSON.stringify(list))
  const size = Buffer.alloc(4)
  size.writeUInt32LE(head.length + 4)
  return Buffer.concat([size, head, ...parts])
}

function copy(from, to) {
  if (time(to) >= time(from)) return
  fs.mkdirSync(path.dirname(to), { recursive: true })
  fs.copyFileSync(from, to)
}

function look(command, words) {
  try {
    execFileSync(command, words, { input: '#include <vector>\nint main() {}\n', stdio: ['pipe', 'ignore', 'ignore'] })
  } catch {
    throw new Error(`${command} cannot compile C++ for WebAssembly: ./setup.sh --book installs what it lacks`)
  }
}

async function main() {
  if (!fs.existsSync(packages)) throw new Error('its packages are missing: npm ci --prefix book/compiler')
  look('clang++', ['--target=wasm32-wasi', '-x', 'c++', '-', '-o', '/dev/null'])
  fs.mkdirSync(scratch, { recursive: true })
  fs.mkdirSync(out, { recursive: true })
  say("compiles simt's engine, where it has changed")
  const made = await engine()

  const files = headersOf()
  const front = path.join(scratch, 'front.json')
  const sources = newest([...under(path.join(HERE, 'host')), ...under(path.join(ROOT, 'simt/include')), path.join(ROOT, 'simt/frontend/keywords.h'), path.join(HERE, 'compile.mjs'), path.join(packages, '.package-lock.json')])
  if (time(front) < sources) {
    say('compiles what stands in front of every program')
    const { precompile } = await import('./compile.mjs')
    const { compiled, macros, headers } = precompile(await WebAssembly.compile(read(LLVM)), files, ['-O0'])
    fs.writeFileSync(path.join(scratch, 'front.pch'), compiled)
    fs.writeFileSync(front, JSON.stringify({ macros, headers }))
  }
  const { macros, headers } = JSON.parse(fs.readFileSync(front))
  files['front.pch'] = read(path.join(scratch, 'front.pch'))

  say('packs it')
  const libraries = Object.fromEntries(['libc++.a', 'libc++abi.a', 'libc.a'].map((name) => [name, read(path.join(LIBRARIES, name))]))
  const builtins = execFileSync('clang++', ['--target=wasm32-wasi', '-print-libgcc-file-name'], { encoding: 'utf8' }).trim()
  const linked = { ...libraries, 'crt1.o': read(path.join(LIBRARIES, 'crt1-command.o')), 'libbuiltins.a': read(builtins), 'engine.o': read(made), 'macros.h': Buffer.from(macros), 'headers.json': Buffer.from(JSON.stringify(headers)) }
  // Written only where it differs, for the book is built anew when it is.
  const packed = pack({ compile: files, link: linked, python: pythonFiles() })
  const place = path.join(out, 'files.bin')
  if (!time(place) || !packed.equals(fs.readFileSync(place))) fs.writeFileSync(place, packed)

  copy(LLVM, path.join(out, 'llvm.wasm'))
  for (const name of ['pyodide.mjs', 'pyodide.asm.mjs', 'pyodide.asm.wasm', 'pyodide-lock.json', 'python_stdlib.zip']) copy(path.join(packages, 'pyodide', name), path.join(out, 'pyodide', name))
  copy(path.join(packages, 'binaryen/index.js'), path.join(out, 'binaryen.js'))

  const { default: esbuild } = await import('esbuild')
  const options = { bundle: true, minify: true, target: 'es2022', outdir: out, logLevel: 'error' }
  esbuild.buildSync({ ...options, entryPoints: [path.join(HERE, 'worker.mjs')], format: 'esm' })
  esbuild.buildSync({ ...options, entryPoints: [path.join(HERE, 'write.mjs')], format: 'iife' })
  const bytes = under(out).reduce((sum, name) => sum + fs.statSync(name).size, 0)
  say(`${Math.round(bytes / 1e6)} MB in ${path.relative(process.cwd(), out)}`)
}

main().catch((error) => {
  console.error(`book: the compiler: ${process.env.V ? error.stack : (error.stderr ?? error.message)}`)
  process.exit(1)
})
