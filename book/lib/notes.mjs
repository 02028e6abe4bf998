// Finds what the lesson says about a rung: the section that quotes its file, or has its name.

import path from 'node:path'
import { isSource } from './markdown.mjs'

// Everything that a section quotes or links, as paths of the repository.
function filesIn(section, source) {
  const found = new Set()
  const add = (href) => found.add(path.posix.join(path.posix.dirname(source), href.split('#')[0]))
  for (const token of section.tokens) {
    const file = token.type === 'fence' && token.info.match(/\bfile=(\S+)/)
    if (file) add(file[1])
    for (const child of token.children ?? []) if (child.type === 'link_open') add(child.meta?.written ?? child.attrGet('href'))
  }
  return found
}

const RUNG = /^(\d\d_\w+\/\w+)\/(?:beyond\/)?\d\d_[^/]+$/ // of a ladder

function score(section, files, rung, problem, depth) {
  const named = new RegExp(`\\b${rung.name}\\b`).test(section.title)
  const quoted = files.has(rung.path)
  if (!named && !quoted) return 0
  // A rung of the same name on another ladder: its section says nothing of this one.
  const ladders = new Set([...files].map((file) => file.match(RUNG)?.[1]).filter(Boolean))
  if (ladders.size && !ladders.has(problem)) return 0
  const near = [...files].some((file) => file.startsWith(`${problem}/`))
  return (quoted ? 3 : 0) + (named ? 3 : 0) + (near ? 1 : 0) + (section.level === depth ? 1 : 0)
}

// { source, id, title, tokens } of the best section, or null. `lessons` are { source, sections, depth }: the level of headings
// of rungs.
export function noteOf(rung, problem, lessons) {
  let best = null
  let bestScore = 2
  for (const { source, sections, depth = 3 } of lessons) {
    for (const section of sections) {
      const points = score(section, filesIn(section, source), rung, problem, depth)
      if (points > bestScore) [best, bestScore] = [{ source, ...section }, points]
    }
  }
  return best
}

// A paragraph that ends with a colon, without what stands below it in the lesson: it ends with dots.
function unled(inline) {
  const children = [...inline.children]
  const last = children.at(-1)
  if (last?.type !== 'text' || !last.content.endsWith(':')) return inline
  children[children.length - 1] = Object.assign(Object.create(last), { content: last.content.replace(/:$/, ' …') })
  return Object.assign(Object.create(inline), { children })
}

// The first paragraphs of a section, about as many as a reader takes in beside the code; no figures, no line below a table.
export function opening(tokens, most = 900) {
  const out = []
  let length = 0
  const isText = (i) => tokens[i]?.type === 'paragraph_open' && tokens[i].level === 0 && !isSource(tokens, i) && !tokens[i + 1].children.some((child) => child.type === 'image')
  for (let i = 0; i < tokens.length && length < most; ++i) {
    if (!isText(i)) continue
    length += tokens[i + 1].content.length
    const goesOn = isText(i + 3) && length < most
    out.push(tokens[i], goesOn ? tokens[i + 1] : unled(tokens[i + 1]), tokens[i + 2])
  }
  return out
}
