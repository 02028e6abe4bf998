// Runs a program that was compiled for WASI with simt's engine in it: what it reads and writes are
// files in memory. Nothing here waits.

class Exit extends Error {
  constructor(status) {
    super(`exit ${status}`)
    this.status = status
  }
}
class Left extends Error {} // a fibre leaves, see page.cpp
class Endless extends Error {}

const OK = 0, BADF = 8, NOENT = 44, NOSYS = 52
const FILE = 4, FOLDER = 3, CHARACTERS = 2
const text = new TextDecoder()

// files: bytes by path; those that the program writes come back in it. Returns its exit status, what
// it printed, and whether it ended by itself: `endless` where `seconds` were over, `crashed` with a
// reason where WebAssembly stopped it.
export function run(module, { words = ['program'], environment = {}, files = {}, stdin = new Uint8Array(), seconds = 6, mostPrinted = 1 << 20 } = {}) {
  const printed = []
  let printedBytes = 0
  const begin = performance.now()
  const folders = { 3: '/', 4: '.' } // files are found by their whole paths, and by those without the first stroke
  const open = new Map()
  let next = 5
  let read = 0
  let exports

  const memory = () => new DataView(exports.memory.buffer)
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
  const variables = Object.entries(environment).map(([name, value]) => `${name}=${value}`)
  const pieces = (at, count) => Array.from({ length: count }, (_, i) => [memory().getUint32(at + 8 * i, true), memory().getUint32(at + 8 * i + 4, true)])

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
      bytes(at, 64).fill(0)
      const file = open.get(fd)
      memory().setUint8(at + 16, fd < 3 ? CHARACTERS : FILE)
      if (file?.name) memory().setBigUint64(at + 32, BigInt(files[file.name].length), true)
      return OK
    },
    path_filestat_get: () => NOENT,
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
    fd_read: (fd, at, count, done) => {
      let total = 0
      for (const [to, length] of pieces(at, count)) {
        const file = open.get(fd)
        const from = fd === 0 ? stdin : files[file.name]
        const place = fd === 0 ? read : file.at
        const piece = from.subarray(place, place + length)
        bytes(to, piece.length).set(piece)
        if (fd === 0) read += piece.length
        else file.at += piece.length
        total += piece.length
      }
      return put(done, total)
    },
    fd_write: (fd, at, count, done) => {
      let total = 0
      for (const [from, length] of pieces(at, count)) {
        const piece = bytes(from, length).slice()
        total += length
        if (fd < 3) {
          if (printedBytes < mostPrinted) printed.push(piece)
          printedBytes += length
          continue
        }
        const file = open.get(fd)
        append(files, file, piece)
      }
      return put(done, total)
    },
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
    look_at_clock: () => {
      if (performance.now() - begin > 1000 * seconds) throw new Endless()
    },
  }
  const imports = { wasi_snapshot_preview1: { ...wasi }, page }
  for (const { module: from, name } of WebAssembly.Module.imports(module)) {
    imports[from] ??= {}
    imports[from][name] ??= () => (from === 'wasi_snapshot_preview1' ? NOSYS : stop(name))
  }
  const result = { status: 0, endless: false, crashed: '' }
  try {
    exports = new WebAssembly.Instance(module, imports).exports
    exports.__wasm_call_ctors()
    exports._start()
    exports.__wasm_call_dtors?.() // what a program does at its end: simt writes what it saw
  } catch (error) {
    if (error instanceof Exit) result.status = error.status
    else if (error instanceof Endless) result.endless = true
    else result.crashed = error.message
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
