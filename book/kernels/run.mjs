// The kernels of the page as a function: run('copy', [1, 1024, 1, 0]) launches one and says what
// simt counted. The module is loaded once, from bytes: a page from a disk may fetch nothing.

// As counts() in kernels.cu lists them.
export const COUNTS = [
  'instructions', 'instructionLanes',
  'loads', 'loadLanes', 'loadSectors', 'loadBytes',
  'stores', 'storeLanes', 'storeSectors', 'storeBytes',
  'shared', 'sharedLanes', 'wavefronts', 'fewestWavefronts', 'sharedAtomics', 'sharedAtomicLanes', 'barriers', 'races',
]
const ANSWERS = ['wrong', 'right', 'refused']

let page = null

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
}

export function run(name, values) {
  const answer = ANSWERS[page[`run_${name}`](...values)]
  const at = page.counts() // may ask for memory, which is then another buffer
  const counted = new Float64Array(page.memory.buffer, at, COUNTS.length)
  return { answer, ...Object.fromEntries(COUNTS.map((count, i) => [count, counted[i]])) }
}
