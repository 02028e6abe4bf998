// The compiler, simt's engine and the judge, in a worker: an endless loop or a crash there harms no
// page. Messages: {id, ask: 'check', exercise, text, seed} and {id, ask: 'run', text}; the answers
// are {id, step}, again and again, then {id, done} or {id, error}.

import { Mistake, hollow, letWait, link, preprocess, toLLVM, toObject } from './compile.mjs'
import { run } from './run.mjs'

const OPTIONS = ['-O0'] // one access in the source stays one access
const FREE_SECONDS = 30 // for a program of the reader's own
const here = (name) => new URL(name, self.location).href
const decode = (bytes) => new TextDecoder().decode(bytes)

// The files of build.mjs, one by one.
async function unpack(response) {
  const bytes = new Uint8Array(await (await response).arrayBuffer())
  const end = new DataView(bytes.buffer).getUint32(0, true)
  const list = JSON.parse(decode(bytes.subarray(4, end)))
  return list.map(([name, at, length]) => [name, bytes.subarray(end + at, end + at + length)])
}

// Not every server says what a .wasm file is.
async function compiled(name) {
  const response = await fetch(name)
  const isNamed = response.headers.get('content-type') === 'application/wasm'
  return isNamed ? WebAssembly.compileStreaming(response) : WebAssembly.compile(await response.arrayBuffer())
}

async function open(tell) {
  tell('loads the compiler, once: some 130 MB from this book')
  const [llvm, all, { default: binaryen }, { loadPyodide }] = await Promise.all([compiled(here('llvm.wasm')), unpack(fetch(here('files.bin'))), import(here('binaryen.js')), import(here('pyodide/pyodide.mjs'))])
  tell('loads Python, for the judge')
  const pyodide = await loadPyodide({ indexURL: here('pyodide/') })
  const files = {}
  const engine = {}
  for (const [name, content] of all) {
    const [kind, rest] = [name.slice(0, name.indexOf('/')), name.slice(name.indexOf('/') + 1)]
    if (kind === 'compile') files[rest] = content
    if (kind === 'link') engine[rest] = content
    if (kind === 'python') {
      const place = `/book/${rest}`
      pyodide.FS.mkdirTree(place.slice(0, place.lastIndexOf('/')))
      pyodide.FS.writeFile(place, content)
    }
  }
  const thin = hollow(files, JSON.parse(decode(engine['headers.json'])))
  thin['macros.h'] = engine['macros.h']
  delete engine['headers.json']
  delete engine['macros.h']
  pyodide.runPython("import sys; sys.path.insert(0, '/book/book/compiler')")
  return { files, thin, engine, llvm, binaryen, python: pyodide.pyimport('in_page'), pyodide }
}

let opened
const given = (tell) => (opened ??= open(tell))

// A program as WebAssembly, and its places; `sources` are files by name, of which `main` is compiled.
function compile({ files, thin, engine, llvm, binaryen, python }, main, sources, defines, tell) {
  tell('reads it')
  const text = preprocess(llvm, main, { ...thin, ...sources }, OPTIONS, defines)
  const made = JSON.parse(python.plain_cpp(text, main))
  if (made.refused) throw new Mistake(made.refused)
  tell('compiles it')
  try {
    const { text: edited, places } = toLLVM(llvm, 'unit.ii', { ...files, ...sources, 'unit.ii': made.plain }, OPTIONS)
    const object = toObject(llvm, edited, OPTIONS)
    tell('links it with simt')
    return { module: new WebAssembly.Module(letWait(binaryen, link(llvm, object, engine))), places: new TextEncoder().encode(places) }
  } catch (error) {
    if (!(error instanceof Mistake)) throw error
    throw new Mistake(python.explained(error.message, JSON.stringify(made.changed)))
  }
}

async function check({ exercise, text, seed }, tell) {
  const all = await given(tell)
  const { python, pyodide } = all
  const begun = performance.now()
  const looked = JSON.parse(python.look_at(exercise, text))
  if (looked.refused) return { trouble: looked.refused, seconds: (performance.now() - begun) / 1e3 }
  let program
  try {
    program = compile(all, 'run.cu', { 'run.cu': looked.frame, [looked.file]: text }, [`EXERCISE_FILE="${looked.file}"`], tell)
  } catch (error) {
    if (!(error instanceof Mistake)) throw error
    return { trouble: `it does not compile:\n${python.first_errors(error.message, exercise)}`, seconds: (performance.now() - begun) / 1e3 }
  }
  const compiled = performance.now()
  let most = 0
  let now = '' // which case it runs
  const runProgram = (words, environment, stdin, seconds) => {
    const asked = JSON.parse(words)
    const settings = JSON.parse(environment)
    const files = { sites: program.places }
    const bare = (name) => name.replace(/^\/+/, '')
    files[bare(asked[1])] = pyodide.FS.readFile(asked[1])
    const done = run(program.module, { words: asked, environment: settings, files, stdin: stdin.toJs(), seconds, tell: (spent) => tell(`${now}, ${Math.round(spent)} s`) })
    for (const name of [asked[2], settings.SIMT_CHECK_JSON, settings.SIMT_PROFILE_JSON]) {
      if (files[bare(name)]) pyodide.FS.writeFile(name, files[bare(name)])
    }
    most = Math.max(most, done.memory)
    return done
  }
  const verdict = JSON.parse(python.mark(exercise, seed, runProgram, (k, of, name) => tell((now = `runs case ${k} of ${of}: ${name}`))))
  const ended = performance.now()
  return { ...verdict, seconds: (ended - begun) / 1e3, compiled: (compiled - begun) / 1e3, memory: most }
}

// The line of a place, as page.cpp reads them: simt's own headers speak for those that call them.
const lineAt = (places, site) => decode(places).split('\n')[site]?.split('\t').find((line) => !line.includes('simt/include/')) ?? ''

async function runFree({ text, seconds }, tell) {
  const all = await given(tell)
  const begun = performance.now()
  let program
  try {
    program = compile(all, 'kernel.cu', { 'kernel.cu': text }, [], tell)
  } catch (error) {
    if (!(error instanceof Mistake)) throw error
    return { trouble: error.message }
  }
  const limit = seconds || FREE_SECONDS
  const runs = `runs it, for ${limit} s at most`
  tell(runs)
  const files = { sites: program.places }
  const environment = { SIMT_CHECK_JSON: 'checks', SIMT_PROFILE_JSON: 'counts', SIMT_THREADS: '1', SIMT_MEMORY: '128M', SIMT_TIMEOUT: '5' }
  const done = run(program.module, { environment, files, seconds: limit, mostPrinted: 1 << 16, tell: (spent) => tell(`${runs}: ${Math.round(spent)} s`) })
  const at = done.endless ? lineAt(program.places, done.site) : ''
  const json = (name) => (files[name] ? JSON.parse(decode(files[name])) : {})
  return { ...done, at, limit, reports: json('checks').reports ?? [], kernels: json('counts').kernels ?? [], seconds: (performance.now() - begun) / 1e3 }
}

self.onmessage = async ({ data }) => {
  const { id, ask } = data
  const tell = (step) => self.postMessage({ id, step })
  try {
    if (ask === 'open') await given(tell)
    const done = ask === 'check' ? await check(data, tell) : ask === 'run' ? await runFree(data, tell) : {}
    self.postMessage({ id, done })
  } catch (error) {
    self.postMessage({ id, error: String(error.stack ?? error) })
  }
}
