// node places.mjs KERNELS.ll: between clang's front and its back, in LLVM's text, every call in a file of a chapter is told
// where it stands. WebAssembly cannot say who called, so simt_at() gets the place before: the line, and 4096 times the
// number of the file, whose name stands in simt_files.

import fs from 'node:fs'
import path from 'node:path'
import { NO_PLACE, debugInfo } from '../compiler/edit.mjs'

const ROOT = path.join(import.meta.dirname, '../..')
const OF_CHAPTER = /^\d\d_/

export function withPlaces(text) {
  const { place } = debugInfo(text)
  const files = []
  // simt's headers speak for those that call them, and keep their callers' places.
  const placeOf = (id) => {
    const [file, line] = place(id).split('\t')[0].split(':')
    const name = path.isAbsolute(file) ? path.relative(ROOT, file) : file
    if (!OF_CHAPTER.test(name)) return null
    if (!files.includes(name)) files.push(name)
    return Number(line) + 4096 * files.indexOf(name)
  }
  const lines = text.split('\n').map((line) => {
    const isCall = /^ {2}(?:%[\w.]+ = )?(?:tail |musttail |notail )?call /.test(line) && !NO_PLACE.test(line)
    const found = isCall && /!dbg !(\d+)/.exec(line)
    const at = found ? placeOf(found[1]) : null
    return at === null ? line : `  call void @simt_at(i32 ${at})\n${line}`
  })
  const names = files.join('\\0A')
  lines.push('declare void @simt_at(i32)', `@simt_files = constant [${files.join('\n').length + 1} x i8] c"${names}\\00"`)
  return lines.join('\n') + '\n'
}

if (process.argv[1] === import.meta.filename) {
  const [, , file] = process.argv
  fs.writeFileSync(file, withPlaces(fs.readFileSync(file, 'utf8')))
}
