// Runs a program that was compiled for WASI, a reader's with simt's engine in it or the compiler itself:
// what it reads and writes are files in memory. Nothing here waits.

class Exit extends Error {
  constructor(status) {
    super(`exit ${status}`)
    this.status = status
  }
}
class Left extends Error {} // a fibre leaves, see page.cpp
class Endless extends Error {}
const TELL = 500 // ms between two words about how long it has run

const OK = 0, BADF = 8, NOENT = 44, NOSYS = 52
const FILE = 4, FOLDER = 3, CHARACTERS = 2
const text = new TextDecoder()

// files: bytes by path; those that the program writes come back in it. output: the file that its
// standard output becomes; else that is printed. `tell` hears twice a second for how many seconds it has run. Returns its
// exit status, what it printed, and whether it ended by itself: `endless` where `seconds` were over ('time') or its
// memory was full ('memory'), and `site`, the place where it was; `crashed` with a reason where WebAssembly stopped it.
export function run(module, { words = ['program'], environment = {}, files = {}, output, stdin = new Uint8Array(), seconds = 6, mostPrinted = 1 << 20, tell } = {}) {
  const printed = []
  let printedBytes = 0
  const result = { status: 0, endless: '', crashed: '' }
  const begin = performance.now()
  let told = 0
  const folders = { 3: '/', 4: '.' } // files are found by their whole paths, and by those without the first stroke
  const open = new Map()
  let next = 5
  files.stdin = stdin
  open.set(0, { name: 'stdin', at: 0 })
  if (output) open.set(1, { name: output, at: 0 })
  if (output) files[output] = new Uint8Array()
  const inside = new Set() // folders, by path
  for (const name of Object.keys(files)) for (let end = name.length; (end = name.lastIndexOf('/', end - 1)) > 0; ) inside.add(name.slice(0, end))
  let exports

  let view
  const memory = () => {
    const { buffer } = exports.memory
    return view?.buffer === buffer ? view : (view = new DataView(buffer))
  }
  const bytes = (at, length) => new Uint8Array(exports.memory.buffer, at, length)
  const put = (at, value) => (memory().setUint32(at, value, true), OK)
  const path = (at, length) => text.decode(bytes(at, length)).replace(/^(\.?\/)+/, '')
  const strings = (list) => list.map((word) => new TextEncoder().encode(word + '\0'))
  const sizes = (list) => (count, length) => (put(count, list.length), put(length, strings(list).reduce((sum, s) => sum + s.length, 0)))
  const copy = (list) => (pointers, at) => {
    strings(list).forEach((string, i) => {
      put(pointers + 4 * i, at)
      bytes(at, string.length).set(string)
      at += string.length
    })
    return OK
  }
  const numbers = new Map() // of files: two are one if their numbers are
  const status = (at, kind, size, name) => {
    if (!numbers.has(name)) numbers.set(name, numbers.size + 1)
    bytes(at, 64).fill(0)
    memory().setBigUint64(at + 8, BigInt(numbers.get(name)), true)
    memory().setUint8(at + 16, kind)
    memory().setBigUint64(at + 32, BigInt(size), true)
    return OK
  }
  const variables = Object.entries(environment).map(([name, value]) => `${name}=${value}`)
  // Does something with each of the pieces of memory that a call names; it returns how many bytes it took.
  const forPieces = (at, count, done, take) => {
    const list = memory()
    let total = 0
    for (let i = 0; i < count; ++i) total += take(list.getUint32(at + 8 * i, true), list.getUint32(at + 8 * i + 4, true))
    return put(done, total)
  }
  const fill = (to, piece) => (bytes(to, piece.length).set(piece), piece.length)

  const wasi = {
    args_sizes_get: sizes(words),
    args_get: copy(words),
    environ_sizes_get: sizes(variables),
    environ_get: copy(variables),
    clock_time_get: (id, precision, at) => (memory().setBigUint64(at, BigInt(Math.round(performance.now() * 1e6)), true), OK),
    clock_res_get: (id, at) => (memory().setBigUint64(at, 1000n, true), OK),
    random_get: (at, length) => (bytes(at, length).fill(7), OK),
    sched_yield: () => OK,
    proc_exit: (status) => {
      throw new Exit(status)
    },
    fd_prestat_get: (fd, at) => (folders[fd] ? (put(at, 0), put(at + 4, 1)) : BADF),
    fd_prestat_dir_name: (fd, at) => (bytes(at, 1).set([folders[fd].charCodeAt(0)]), OK),
    fd_fdstat_get: (fd, at) => {
      bytes(at, 24).fill(0)
      memory().setUint8(at, fd < 3 ? CHARACTERS : fd in folders ? FOLDER : FILE)
      memory().setBigUint64(at + 8, ~0n & 0xffffffffffffffffn, true)
      memory().setBigUint64(at + 16, ~0n & 0xffffffffffffffffn, true)
      return OK
    },
    fd_fdstat_set_flags: () => OK,
    path_open: (fd, look, from, length, flags, rights, inherited, how, at) => {
      const name = path(from, length)
      if (flags & 8 || (flags & 1 && !(name in files))) files[name] = new Uint8Array()
      if (!(name in files)) return NOENT
      open.set(next, { name, at: 0 })
      return put(at, next++)
    },
    fd_close: (fd) => (open.delete(fd) ? OK : BADF),
    fd_filestat_get: (fd, at) => {
      const { name } = open.get(fd) ?? {}
      return name && fd > 2 ? status(at, FILE, files[name].length, name) : status(at, fd < 3 ? CHARACTERS : FOLDER, 0, `/${fd}`)
    },
    path_filestat_get: (fd, flags, from, length, at) => {
      const name = path(from, length).replace(/\/$/, '')
      if (name in files) return status(at, FILE, files[name].length, name)
      return name === '' || name === '.' || inside.has(name) ? status(at, FOLDER, 0, name) : NOENT
    },
    path_rename: (from, at, length, to, behind, behindLength) => {
      const name = path(at, length)
      files[path(behind, behindLength)] = files[name]
      delete files[name]
      return OK
    },
    fd_seek: (fd, offset, from, at) => {
      const file = open.get(fd)
      if (!file?.name) return BADF
      file.at = Number(offset) + (from === 0 ? 0 : from === 1 ? file.at : files[file.name].length)
      memory().setBigUint64(at, BigInt(file.at), true)
      return OK
    },
    fd_pread: (fd, at, count, offset, done) => {
      const from = files[open.get(fd).name]
      let place = Number(offset)
      return forPieces(at, count, done, (to, length) => fill(to, from.subarray(place, (place += length))))
    },
    fd_read: (fd, at, count, done) => {
      const file = open.get(fd)
      const from = files[file.name]
      return forPieces(at, count, done, (to, length) => {
        const piece = from.subarray(file.at, file.at + length)
        file.at += piece.length
        return fill(to, piece)
      })
    },
    fd_write: (fd, at, count, done) => {
      const file = open.get(fd)
      return forPieces(at, count, done, (from, length) => {
        const piece = bytes(from, length)
        if (file) append(files, file, piece)
        else {
          if (printedBytes < mostPrinted) printed.push(piece.slice())
          printedBytes += length
        }
        return length
      })
    },
  }
  const stopped = (endless, site) => {
    Object.assign(result, { endless, site })
    throw new Endless()
  }
  const page = {
    call_fiber: () => {
      try {
        exports.fiber_body()
      } catch (error) {
        if (error instanceof Left) return
        if (error instanceof Exit || error instanceof Endless) throw error
        exports.fiber_trapped(/divide/.test(error.message) ? 1 : 0, error instanceof RangeError ? 1 : 0)
      }
    },
    leave_fiber: () => {
      throw new Left()
    },
    out_of_memory: (site) => stopped('memory', site),
    look_at_clock: (site) => {
      const spent = performance.now() - begin
      if (spent > 1000 * seconds) stopped('time', site)
      if (spent < told + TELL) return
      told = spent
      tell?.(spent / 1000)
    },
  }
  const imports = { wasi_snapshot_preview1: { ...wasi }, page }
  for (const { module: from, name } of WebAssembly.Module.imports(module)) {
    imports[from] ??= {}
    imports[from][name] ??= () => (from === 'wasi_snapshot_preview1' ? NOSYS : stop(name))
  }
  try {
    exports = new WebAssembly.Instance(module, imports).exports
    exports.__wasm_call_ctors?.() // of a program; the compiler does it itself
    exports._start()
    exports.__wasm_call_dtors?.() // what a program does at its end: simt writes what it saw
  } catch (error) {
    if (error instanceof Exit) result.status = error.status
    else if (!(error instanceof Endless)) result.crashed = error.message
  }
  for (const file of open.values()) if (file.buffer) files[file.name] = files[file.name].slice()
  result.said = text.decode(joined(printed))
  result.memory = exports?.memory.buffer.byteLength ?? 0
  return result
}

// Files grow by doubling, or many small writes would copy them again and again.
function append(files, file, piece) {
  const old = files[file.name]
  const end = Math.max(old.length, file.at + piece.length)
  if (!file.buffer || file.buffer.length < end) {
    const buffer = new Uint8Array(Math.max(4096, 2 * end))
    buffer.set(old)
    file.buffer = buffer
  }
  file.buffer.set(piece, file.at)
  files[file.name] = file.buffer.subarray(0, end)
  file.at += piece.length
}

function stop(name) {
  throw new Error(`it calls ${name}, which a page does not have`)
}

function joined(parts) {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}
