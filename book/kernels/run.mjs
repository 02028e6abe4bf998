// The kernels of the page as a function: run('copy', [1, 1024, 1, 0]) launches one and says what
// simt counted. The module is loaded once, from bytes: a page from a disk may fetch nothing.

// As counts() in kernels.cu lists them.
export const COUNTS = [
  'instructions', 'instructionLanes',
  'loads', 'loadLanes', 'loadSectors', 'loadBytes',
  'stores', 'storeLanes', 'storeSectors', 'storeBytes',
  'shared', 'sharedLanes', 'wavefronts', 'fewestWavefronts', 'sharedAtomics', 'sharedAtomicLanes', 'barriers', 'races',
]
// A race: an access that stands at line `line` of `file`, and an earlier one that nothing orders before it.
function pairsOf(page) {
  const at = page.races()
  const [count, ...all] = new Uint32Array(page.memory.buffer, at, 1 + 5 * new Uint32Array(page.memory.buffer, at, 1)[0])
  const side = (place, wrote) => ({ file: names[place >> 12], line: place & 4095, wrote: wrote === 1 })
  return Array.from({ length: count }, (_, i) => {
    const [then, wrote, now, writes, times] = all.slice(5 * i)
    return { then: side(then, wrote), now: side(now, writes), times }
  })
}

const ANSWERS = ['wrong', 'right', 'refused']

let page = null
let names = [] // of the files in which a race may stand

// What the kernels need of a system they need only to die: each import says its name.
const imports = (module) => {
  const all = {}
  for (const { module: from, name } of WebAssembly.Module.imports(module)) {
    all[from] ??= {}
    all[from][name] = () => {
      throw new Error(`a kernel of the page called ${name}`)
    }
  }
  return all
}

export async function load(bytes) {
  const module = await WebAssembly.compile(bytes)
  page = (await WebAssembly.instantiate(module, imports(module))).exports
  page.__wasm_call_ctors()
  const text = new Uint8Array(page.memory.buffer, page.files())
  names = new TextDecoder().decode(text.slice(0, text.indexOf(0))).split('\n')
}

export function run(name, values) {
  const answer = ANSWERS[page[`run_${name}`](...values)]
  const at = page.counts() // may ask for memory, which is then another buffer
  const counted = new Float64Array(page.memory.buffer, at, COUNTS.length)
  return { answer, ...Object.fromEntries(COUNTS.map((count, i) => [count, counted[i]])), pairs: pairsOf(page) }
}
