// What the page's compiler does to LLVM's text, and how a program runs on files in memory. Needs no compiler.

import assert from 'node:assert/strict'
import path from 'node:path'
import { test } from 'node:test'
import { hollow } from '../compiler/compile.mjs'
import { withPlaces } from '../compiler/edit.mjs'
import { run } from '../compiler/run.mjs'
import { withPlaces as inKernels } from '../kernels/places.mjs'

const LLVM = `@threadIdx = external global i32
define void @kernel(ptr %x) #0 !dbg !4 {
entry:
  %0 = call ptr @llvm.returnaddress(i32 0)
  call void @__sanitizer_cov_trace_pc(), !dbg !6
  call void @__tsan_func_entry(ptr %0)
  call void @__tsan_read4(ptr @threadIdx), !dbg !6
  call void @__tsan_write4(ptr %x), !dbg !7
  call void @__tsan_func_exit(), !dbg !6
  ret void
}
define void @helper(ptr %x) #1 {
entry:
  %0 = call ptr @llvm.returnaddress(i32 0)
  call void @__tsan_func_entry(ptr %0)
  call void @note(ptr %x)
  call void @__tsan_func_exit()
  ret void
}
attributes #0 = { noinline sanitize_thread "x"="y" }
attributes #1 = { noinline }
!1 = !DIFile(filename: "guard.cuh", directory: "/")
!4 = distinct !DISubprogram(name: "kernel", scope: !1, file: !1, line: 3)
!5 = distinct !DILocation(line: 9, column: 1, scope: !4)
!6 = !DILocation(line: 3, scope: !4)
!7 = !DILocation(line: 4, column: 2, scope: !4, inlinedAt: !5)
`

test('every call of watched code has a place, and the place a line', () => {
  const { text, places } = withPlaces(LLVM)
  assert.deepEqual(places.split('\n'), ['', 'guard.cuh:3', 'guard.cuh:4\tguard.cuh:9', ''])
  assert.match(text, /store i32 2, ptr @simt_site, align 4\n {2}call void @__tsan_write4/)
  // The entry comes first and keeps its caller's place; no thread shares the built-in variables.
  assert.match(text, /define void @kernel[^]*?entry:\n {2}call void @__tsan_func_entry\(ptr null\)\n {2}%0 = getelementptr/)
  assert.doesNotMatch(text, /@__tsan_read4\(ptr @threadIdx\)/)
  assert.doesNotMatch(text, /llvm\.returnaddress/)
})

test('in the kernels of the page every call in a file of a chapter has its line, in any other file none', () => {
  const from = (file) => LLVM.replace('guard.cuh', path.join(import.meta.dirname, '../..', file))
  const text = inKernels(from('04_matmul/sgemm/05_tiled.cuh'))
  assert.match(text, / {2}call void @simt_at\(i32 4\)\n {2}call void @__tsan_write4/)
  assert.match(text, /^@simt_files = constant \[29 x i8\] c"04_matmul\/sgemm\/05_tiled\.cuh\\00"$/m)
  assert.equal(text.match(/call void @simt_at/g).length, LLVM.match(/ call .*!dbg/g).length)
  assert.doesNotMatch(inKernels(from('simt/include/simt/cuda.h')), /call void @simt_at/)
})

test("simt's own functions keep the place of those that call them", () => {
  const { text } = withPlaces(LLVM)
  const helper = text.slice(text.indexOf('@helper'), text.indexOf('attributes'))
  assert.match(helper, /\n {2}call void @note/)
  assert.doesNotMatch(helper, /simt_site|__tsan_func/)
})

test("functions that stand in several objects are the program's own: the engine calls none of them", () => {
  const define = (name, how, end) => `define ${how}void @${name}(ptr %x) #0 ${end}{\nentry:\n  ret void\n}\n`
  const kinds = [['f', 'linkonce_odr hidden ', 'comdat '], ['g', 'weak_odr ', 'comdat($C5) align 2 '], ['h', '', ''], ['k', 'internal ', '']]
  const { text } = withPlaces(`${kinds.map((kind) => define(...kind)).join('')}@v = linkonce_odr hidden global i32 0, comdat\n`)
  assert.deepEqual(text.match(/^define .*$/gm), ['define internal void @f(ptr %x) #0 {', 'define internal void @g(ptr %x) #0 align 2 {', 'define void @h(ptr %x) #0 {', 'define internal void @k(ptr %x) #0 {'])
  assert.match(text, /^@v = linkonce_odr hidden global i32 0, comdat$/m) // of which there is one
})

test('headers that were compiled before are hollow, the others are whole', () => {
  const files = { 'simt/include/a.h': 'a', 'simt/include/b.h': 'b', 'host/front.h': 'f' }
  const made = hollow(files, ['/simt/include/a.h', './host/front.h', '/usr/include/stddef.h'])
  assert.deepEqual(made, { 'simt/include/a.h': '', 'simt/include/b.h': 'b', 'host/front.h': '' })
  assert.equal(files['simt/include/a.h'], 'a')
})

// (module (import proc_exit) (import fd_write) (memory 1) (data "hi\n") (func _start: writes it, exits with `status`))
function program(status) {
  const name = (text) => [text.length, ...Buffer.from(text)]
  const section = (id, ...bytes) => [id, bytes.length, ...bytes]
  const from = name('wasi_snapshot_preview1')
  return new Uint8Array([
    ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, 3, 0x60, 1, 0x7f, 0, 0x60, 4, 0x7f, 0x7f, 0x7f, 0x7f, 1, 0x7f, 0x60, 0, 0),
    ...section(2, 2, ...from, ...name('proc_exit'), 0, 0, ...from, ...name('fd_write'), 0, 1),
    ...section(3, 2, 2, 2),
    ...section(5, 1, 0, 1),
    ...section(7, 3, ...name('memory'), 2, 0, ...name('_start'), 0, 2, ...name('__wasm_call_ctors'), 0, 3),
    ...section(10, 2, 17, 0, 0x41, 1, 0x41, 8, 0x41, 1, 0x41, 20, 0x10, 1, 0x1a, 0x41, status, 0x10, 0, 0x0b, 2, 0, 0x0b),
    ...section(11, 2, 0, 0x41, 0, 0x0b, 3, 0x68, 0x69, 0x0a, 0, 0x41, 8, 0x0b, 8, 0, 0, 0, 0, 3, 0, 0, 0),
  ])
}

test('a program prints, and ends with its status', () => {
  const done = run(new WebAssembly.Module(program(3)))
  assert.deepEqual([done.status, done.said, done.endless, done.crashed], [3, 'hi\n', '', ''])
})
