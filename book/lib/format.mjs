// Numbers and names as the lessons print them.

export const NOTHING = '–'

// `value` with three significant digits and never an exponent, as tools/result_table.py has it.
export function significant(value, digits = 3) {
  if (value === null || value === undefined) return NOTHING
  if (value === 0) return '0'
  const decimals = Math.max(0, digits - 1 - Math.floor(Math.log10(Math.abs(value))))
  return value.toFixed(Math.min(decimals, 20))
}

export const grouped = (value) => value.toLocaleString('en')

export const escape = (text) =>
  String(text).replace(/[&<>"]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[c])

// Text in which `names` stand between backticks.
export const withNames = (text) => escape(text).replace(/`([^`]+)`/g, '<code>$1</code>')

// Text in which an option stays in one piece: '--size 256'.
export const withOptions = (text) => escape(text).replace(/--[\w-]+(?: \w+(?:\.\w+)*)?/g, '<code class="whole">$&</code>')

// A path, which may break behind a slash.
export const pathHtml = (path) => escape(path).replaceAll('/', '/<wbr>')

// 'register_tile' -> 'register tile'
export const words = (name) => name.replaceAll('_', ' ')

// With a capital at the beginning, unless that is a name with a number in it, such as fp32.
export const sentence = (text) => (/^[a-z]+\b/.test(text) ? text[0].toUpperCase() + text.slice(1) : text)

// The anchor that GitHub, and tools/markdown_links.py, give a heading.
export function slug(heading) {
  return heading
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/<[^>]+>|[`*]/g, '')
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_\- ]/gu, '')
    .replace(/\s/g, '-')
}

// The path from the page `from` to `to`, both as from the top of the site; works under any folder.
export function relative(from, to) {
  const there = to.split('/')
  const here = from.split('/').slice(0, -1)
  while (here.length && there.length > 1 && here[0] === there[0]) {
    here.shift()
    there.shift()
  }
  return '../'.repeat(here.length) + there.join('/')
}
