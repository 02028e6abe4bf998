// Between clang's front and its back: LLVM's text of a program, with every call told where it stands.
//
// WebAssembly cannot say who called. So in front of every call of instrumented code this puts a
// number into simt_site, which simt's engine takes for the code address (page.cpp). places[number]
// names the line; where the compiler has put functions into one another, also the lines of the
// calls, each after a tab.
//
// Functions that stand in several objects (inline ones, templates) become the program's own: the engine would
// else call those with hooks in them, and what it does would count as the kernel's.

export const NO_PLACE = /@llvm\.(dbg|lifetime|threadlocal|assume|experimental)/
// Hooks for what no thread shares: the built-in variables.
const BUILT_IN = /@__tsan_(?:read|write)\d+\(.*@(?:threadIdx|blockIdx|blockDim|gridDim)\b/

export function withPlaces(text) {
  const { place } = debugInfo(text)
  const places = ['']
  const lines = text.split('\n')
  // simt's own functions speak for those that call them, and keep their callers' places.
  const watched = new Set([...text.matchAll(/^attributes #(\d+) = \{.*\bsanitize_thread\b/gm)].map((m) => m[1]))
  let entry = 0 // where the function's first block begins
  let isWatched = false
  for (let i = 0; i < lines.length; ++i) {
    const line = lines[i]
    if (line.startsWith('define ')) {
      if (/^define (?:linkonce|weak)/.test(line)) lines[i] = line.replace(/^define \w+ (?:hidden )?/, 'define internal ').replace(/ comdat(?:\(\S*\))?(?= |$)/, '')
      entry = /^\S+:/.test(lines[i + 1]) ? i + 1 : i
      isWatched = watched.has(/ #(\d+)(?= |$)/.exec(line)?.[1])
    }
    const call = /^ {2}(?:%[\w.]+ = |%"[^"]*" = )?(?:tail |musttail |notail )?call /.test(line)
    if (!call || NO_PLACE.test(line)) continue
    if (line.includes('@llvm.returnaddress(')) {
      lines[i] = line.replace(/call .*/, 'getelementptr i8, ptr null, i32 0')
    } else if (line.includes('@__tsan_func_entry(')) { // before anything else: it takes its caller's place
      lines[i] = ''
      if (isWatched) lines[entry] += '\n  call void @__tsan_func_entry(ptr null)'
    } else if (!isWatched) {
      if (line.includes('@__tsan_func_exit(')) lines[i] = ''
    } else if (BUILT_IN.test(line)) {
      lines[i] = ''
    } else if (!line.includes('@__tsan_func_exit(')) {
      const found = /!dbg !(\d+)/.exec(line)
      // Every call is a place of its own, as it is an address of its own on a processor.
      places.push(found ? place(found[1]) : '')
      lines[i] = `  store i32 ${places.length - 1}, ptr @simt_site, align 4\n${line}`
    }
  }
  const known = /^@simt_site = /m.test(text)
  if (!known) lines.push('@simt_site = external global i32, align 4')
  return { text: lines.join('\n'), places: places.join('\n') + '\n' }
}

// What LLVM's metadata say of a location: "file:line", and where it was inlined.
export function debugInfo(text) {
  const nodes = new Map()
  for (const [, id, body] of text.matchAll(/^!(\d+) = (?:distinct )?(!DI(?:Location|LexicalBlock|LexicalBlockFile|Subprogram|File)\(.*\))$/gm))
    nodes.set(id, body)
  const field = (body, name) => new RegExp(`\\b${name}: (?:!(\\d+)|"((?:[^"\\\\]|\\\\.)*)"|(\\d+))`).exec(body)
  const fileOf = (scope) => {
    const node = nodes.get(scope)
    if (!node) return ''
    if (node.startsWith('!DIFile')) return field(node, 'filename')[2].replace(/^(\.\/)+/, '')
    const file = field(node, 'file')
    return fileOf(file ? file[1] : field(node, 'scope')?.[1])
  }
  const kept = new Map()
  const place = (id) => {
    if (kept.has(id)) return kept.get(id)
    const node = nodes.get(id)
    let says = ''
    if (node) {
      says = `${fileOf(field(node, 'scope')[1])}:${field(node, 'line')?.[3] ?? 0}`
      const inlined = field(node, 'inlinedAt')
      if (inlined) says += '\t' + place(inlined[1])
    }
    kept.set(id, says)
    return says
  }
  return { place }
}
