// The glossary as links: which word has an entry, and how that begins.

import { escape, relative } from '../lib/format.mjs'
import { anchorOf, entryOf } from '../lib/markdown.mjs'
import { plain } from './search.mjs'

const MOST = 260 // characters of an explanation beside its word

// 'Bank, bank conflict' and 'Lane (of a warp)' have an entry for each of their words.
const spellings = (word) => word.replace(/\(.*?\)/g, '').split(',').map((one) => one.trim().toLowerCase())

function opening(token) {
  const text = plain([token]).replace(/^.*?\)\. /, '')
  const sentences = text.split(/(?<=[.?!]) (?=[A-Z`])/)
  let out = sentences.shift() ?? ''
  while (sentences.length && out.length + sentences[0].length < MOST) out += ` ${sentences.shift()}`
  return out
}

export class Glossary {
  constructor() {
    this.entries = new Map()
  }

  read({ tokens, out }) {
    this.out = out
    for (const token of tokens) {
      const word = token.type === 'inline' && entryOf(token.content)
      if (!word) continue
      for (const spelling of spellings(word)) this.entries.set(spelling, { word, tip: opening(token) })
    }
  }

  // The link that opens before a bold word, or nothing; `isFirst`: it opens its paragraph.
  link(text, env, isFirst) {
    const name = text.toLowerCase().replace(/\s+/g, ' ')
    const entry = [name, name.replace(/s$/, ''), name.replace(/es$/, '')].map((one) => this.entries.get(one)).find(Boolean)
    if (!entry || (env.source === 'GLOSSARY.md' && isFirst)) return ''
    const href = `${env.out === this.out ? '' : relative(env.out, this.out)}#${anchorOf(entry.word)}`
    return `<a class="term" href="${href}" data-tip="${escape(entry.tip)}">`
  }
}
