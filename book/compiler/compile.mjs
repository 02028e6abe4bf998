// A program for the page: C++ (what simt's front end made of CUDA) -> LLVM's text -> an object ->
// linked with simt's engine -> threads that can wait. `llvm` is clang and its linker as a module of
// WebAssembly, `files` what build.mjs has packed, by path. Throws a Mistake with what the compiler said.

import { withPlaces } from './edit.mjs'
import { run } from './run.mjs'

export class Mistake extends Error {}

const TARGET = ['-triple', 'wasm32-unknown-wasi', '-mrelocation-model', 'static', '-mframe-pointer=none', '-ffp-contract=off', '-std=c++17']
// The same for the headers that are compiled before (build.mjs) and for a program.
export const LANGUAGE = ['-w', '-fno-threadsafe-statics', '-relaxed-aliasing', '-fcxx-exceptions', '-fexceptions', '-fignore-exceptions', '-fsanitize=thread', '-debug-info-kind=line-tables-only', '-dwarf-version=4', '-resource-dir', '/usr']
const MACROS = ['-D__SANITIZE_THREAD__', '-Dno_sanitize_coverage=no_sanitize("coverage")', '-Dthread_local=', '-D__builtin_return_address(level)=reinterpret_cast<void*>(simt_site)', '-DSIMT_ARCH=90']
const FOLDERS = ['-I', '/', '-internal-isystem', '/host', '-internal-isystem', '/simt/include', '-internal-isystem', '/wasi/c++/v1', '-internal-isystem', '/usr/include', '-internal-isystem', '/wasi']
const PRECOMPILED = 'front.pch'
// One access in the source stays one access: see INSTRUMENT in book/kernels/build.py.
const INSTRUMENT = ['-mllvm', '-tsan-instrument-read-before-write=1', '-mllvm', '-tsan-distinguish-volatile=1', '-mllvm', '-tsan-instrument-atomics=0', '-mllvm', '-tsan-handle-cxx-exceptions=0', '-fsanitize-coverage-type=3', '-fsanitize-coverage-trace-pc', '-fsanitize-coverage-no-prune', '-fsanitize-coverage-ignorelist=uncounted.txt']

export const FRONT = [...TARGET, ...LANGUAGE]

// What stands in front of every program, made once (build.mjs): its compiled form, its macros, and
// the headers it consists of.
export function precompile(llvm, files, options) {
  const made = (words) => tool(llvm, ['clang++', '-cc1', ...FRONT, ...MACROS, ...FOLDERS, ...options, ...words, '-x', 'c++-header', 'host/front.h'], files)
  const compiled = made([...INSTRUMENT, '-emit-pch', '-fno-pch-timestamp'])
  const macros = text(made(['-E', '-dM']))
  const list = text(made(['-Eonly', '-sys-header-deps', '-dependency-file', '-', '-MT', 'front']))
  const headers = list.replace(/\\\n/g, ' ').split(/\s+/).filter((name) => name && name !== 'front:')
  return { compiled, macros, headers }
}

// The text of a program without macros, comments and the headers of front.h. `files` are those where
// these headers are hollow (hollow() below): clang would read them again, for it has text from text
// alone.
export function preprocess(llvm, name, files, options, defines = []) {
  return text(tool(llvm, ['clang++', '-cc1', ...TARGET, ...LANGUAGE, '-undef', ...FOLDERS, ...options, '-imacros', 'macros.h', ...defines.map((one) => '-D' + one), '-E', '-x', 'c++', name], files))
}

export function hollow(files, headers) {
  const known = new Set(headers.map((header) => header.replace(/^\.?\//, '')))
  return Object.fromEntries(Object.entries(files).map(([name, content]) => [name, known.has(name) ? '' : content]))
}

const text = (bytes) => new TextDecoder().decode(bytes)

export function toLLVM(llvm, name, files, options = ['-O0']) {
  const made = tool(llvm, ['clang++', '-cc1', ...FRONT, ...INSTRUMENT, ...options, '-include-pch', PRECOMPILED, '-emit-llvm', '-x', 'c++-cpp-output', name], files)
  return withPlaces(text(made))
}

export function toObject(llvm, program, options = ['-O0']) {
  return tool(llvm, ['clang++', '-cc1', ...TARGET, ...options, '-disable-llvm-passes', '-emit-obj', '-x', 'ir', 'unit.ll'], { 'unit.ll': program })
}

export function link(llvm, object, engine) {
  const words = ['wasm-ld', '--strip-debug', '--initial-memory=268435456', '--export=_start', '--export=__wasm_call_ctors', '--export-if-defined=__wasm_call_dtors', '-z', 'stack-size=1048576', '--allow-undefined', 'crt1.o', 'unit.o', 'engine.o', 'libc++.a', 'libc++abi.a', 'libc.a', 'libbuiltins.a']
  return tool(llvm, words, { 'unit.o': object, ...engine })
}

// Threads wait in calls made by name from fiber_body(): neither imports nor function pointers wait,
// but for the one that starts a kernel's body.
export function letWait(binaryen, bytes) {
  const module = binaryen.readBinary(bytes)
  module.setFeatures(binaryen.Features.BulkMemory | binaryen.Features.BulkMemoryOpt | binaryen.Features.SignExt | binaryen.Features.MutableGlobals | binaryen.Features.NontrappingFPToInt)
  binaryen.setPassArgument('asyncify-imports', 'none.none')
  binaryen.setPassArgument('asyncify-ignore-indirect', '1')
  binaryen.setPassArgument('asyncify-addlist', 'simt::Worker::run_new_threads()')
  module.runPasses(['asyncify'])
  const made = module.emitBinary()
  module.dispose()
  return made
}

const bytesOf = (content) => (typeof content === 'string' ? new TextEncoder().encode(content) : content)

// What a tool makes comes by its standard output. (The package's own glue for JavaScript would take
// seconds: clang writes text a word at a time.)
function tool(llvm, words, files) {
  const all = Object.fromEntries(Object.entries(files).map(([name, content]) => [name, bytesOf(content)]))
  const { status, crashed, said } = run(llvm, { words: ['llvm', ...words, '-o', '-'], files: all, output: 'made' })
  if (status || crashed) throw new Mistake(said || crashed)
  return all.made
}
