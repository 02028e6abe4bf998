// Lessons and other pages: Markdown -> HTML, as GitHub shows it, with links that stay on the site.

import { katex } from '@mdit/plugin-katex'
import MarkdownIt from 'markdown-it'
import { escape, slug } from './format.mjs'
import { highlight } from './highlight.mjs'
import { predictHtml } from './predict.mjs'
import { lineHtml } from './tokens.mjs'

const ALERT = /^\[!(NOTE|TIP|IMPORTANT|WARNING|CAUTION)\]\s*/
const optionsOf = (words) => Object.fromEntries([...words.matchAll(/(\w+)=(\S+)/g)].map((m) => m.slice(1)))

// Each heading gets its anchor, and with a second one of that name a number.
function anchors(state) {
  const seen = new Map()
  state.tokens.forEach((token, i) => {
    if (token.type !== 'heading_open') return
    const name = slug(state.tokens[i + 1].content)
    const count = seen.get(name) ?? 0
    seen.set(name, count + 1)
    token.attrSet('id', count ? `${name}-${count}` : name)
  })
}

// The glossary's entries open with their word, in bold: each gets an anchor.
function entries(state) {
  state.tokens.forEach((token, i) => {
    const word = token.type === 'paragraph_open' && state.env.source === 'GLOSSARY.md' && entryOf(state.tokens[i + 1].content)
    if (word) token.attrSet('id', anchorOf(word))
  })
}

// The word that a paragraph of the glossary explains, and where it does.
export const entryOf = (content) => content.match(/^\*\*(.+?)\*\* \(/)?.[1]
export const anchorOf = (word) => `term-${slug(word)}`

const isFigure = (inline) => inline?.children?.length === 1 && inline.children[0].type === 'image'

// Whether the paragraph that opens at tokens[i] only says, in italics, where the table or the figure above it comes from.
export function isSource(tokens, i) {
  const written = (tokens[i + 1]?.children ?? []).filter(({ type, content }) => type !== 'text' || content)
  const isBelow = tokens[i - 1]?.type === 'table_close' || (tokens[i - 1]?.type === 'paragraph_close' && isFigure(tokens[i - 2]))
  return isBelow && written[0]?.type === 'em_open' && written.findIndex(({ type }) => type === 'em_close') === written.length - 1
}

// > [!NOTE] is a note, said in words and by a border.
function alerts(state) {
  const { tokens } = state
  for (let i = 0; i + 2 < tokens.length; ++i) {
    const match = tokens[i].type === 'blockquote_open' && tokens[i + 2].content.match(ALERT)
    if (!match) continue
    const kind = match[1].toLowerCase()
    tokens[i].attrSet('class', `alert ${kind}`)
    const text = tokens[i + 2]
    const first = text.children[0]
    first.content = first.content.replace(ALERT, '')
    if (text.children[1]?.type === 'softbreak') text.children.splice(1, 1)
    const label = new state.Token('html_inline', '', 0)
    label.content = `<strong>${kind[0].toUpperCase()}${kind.slice(1)}.</strong> `
    text.children.unshift(label)
  }
}

// `site` resolves links, says where quoted code stands, and what a mark in a comment becomes:
// { link(href, env), quoted(file, text, env), mark(kind, words), below(id, env), term(text, env), sizeOf(href, env) }: below() is
// what stands below a heading, term() the link of a bold word that the glossary has; env is { source, out }.
export function makeMarkdown(site) {
  const md = new MarkdownIt({ html: true })
  md.core.ruler.push('anchors', anchors)
  md.core.ruler.push('alerts', alerts)
  md.core.ruler.push('entries', entries)

  const rules = md.renderer.rules
  const plain = (tokens, i, options, env, self) => self.renderToken(tokens, i, options)
  // A token is rendered for several pages: what the author wrote is kept beside what is shown.
  const resolve = (token, attribute, env) => {
    token.meta ??= { written: token.attrGet(attribute) }
    token.attrSet(attribute, site.link(token.meta.written, env))
  }
  rules.link_open = (tokens, i, options, env, self) => {
    resolve(tokens[i], 'href', env)
    return plain(tokens, i, options, env, self)
  }
  const image = rules.image
  rules.image = (tokens, i, options, env, self) => {
    resolve(tokens[i], 'src', env)
    tokens[i].attrSet('loading', 'lazy')
    const size = site.sizeOf?.(tokens[i].meta.written, env)
    for (const side of size ? ['width', 'height'] : []) tokens[i].attrSet(side, String(size[side]))
    return image(tokens, i, options, env, self)
  }
  // A bold word that the glossary explains leads there, unless it stands in a link already.
  const termAt = (tokens, i, env) => {
    const isLinked = tokens.slice(0, i).reduce((depth, { type }) => depth + (type === 'link_open') - (type === 'link_close'), 0)
    return tokens[i + 2]?.type === 'strong_close' && !isLinked && (site.term?.(tokens[i + 1].content, env, i === 0 || (i === 1 && !tokens[0].content)) ?? '')
  }
  rules.strong_open = (tokens, i, options, env) => (termAt(tokens, i, env) || '') + '<strong>'
  rules.strong_close = (tokens, i, options, env) => '</strong>' + (tokens[i - 2]?.type === 'strong_open' && termAt(tokens, i - 2, env) ? '</a>' : '')
  // A sign beside the heading, by which a mouse takes its address; keys have "On this page" for that.
  const address = ({ tag }, id) => (tag === 'h1' ? '' : `<a class="address" href="#${id}" tabindex="-1" aria-hidden="true"></a>`)
  rules.heading_close = (tokens, i, options, env, self) => {
    const id = tokens[i - 2].attrGet('id')
    return address(tokens[i], id) + plain(tokens, i, options, env, self) + (site.below?.(id, env) ?? '')
  }
  // A figure with the words in it stays readable on a phone: it scrolls, as tables do.
  rules.paragraph_open = (tokens, i, options, env, self) => {
    if (isFigure(tokens[i + 1])) return '<div class="wide" tabindex="0" role="region" aria-label="Figure">'
    return isSource(tokens, i) ? '<p class="from">' : plain(tokens, i, options, env, self)
  }
  rules.paragraph_close = (tokens, i, options, env, self) =>
    isFigure(tokens[i - 1]) ? '</div>\n' : plain(tokens, i, options, env, self)
  rules.table_open = (tokens, i, options, env, self) =>
    `<div class="wide" tabindex="0" role="region" aria-label="Table">${plain(tokens, i, options, env, self)}`
  // A name in the head of a column may break behind an underscore, so that many columns fit a page; so may one at the
  // beginning of a row, on a phone.
  rules.th_open = rules.td_open = (tokens, i, options, env, self) => {
    const mayBreak = tokens[i].type === 'th_open' || tokens[i - 1].type === 'tr_open'
    for (const child of tokens[i + 1].children) if (/^(text|code_inline)$/.test(child.type)) child.meta = { ...child.meta, mayBreak }
    return plain(tokens, i, options, env, self)
  }
  const breaks = (html, { meta }) => (meta?.mayBreak ? html.replace(/[_/](?=\w)/g, '$&<wbr>') : html)
  // No line ends inside a date, an option, a percentage or the sides of a tile.
  rules.text = (tokens, i) => breaks(escape(tokens[i].content), tokens[i]).replace(/(?<=\d)( ×) (?=\d)|(?<=\d) %/g, (whole) => whole.replaceAll(' ', '\u00a0')).replace(/\b\d{4}-\d\d-\d\d\b/g, '<span class="whole">$&</span>')
  rules.code_inline = (tokens, i) => `<code>${breaks(escape(tokens[i].content), tokens[i]).replace(/(^|\s)(--?\w[\w-]*)/g, '$1<span class="whole">$2</span>')}</code>`
  rules.table_close = () => '</table></div>\n'
  rules.fence = (tokens, i, options, env) => {
    const [language = '', ...words] = tokens[i].info.trim().split(/\s+/)
    const { file } = optionsOf(words.join(' '))
    const caption = file ? site.quoted(file, tokens[i].content, env) : ''
    const lines = highlight(tokens[i].content, language).map(lineHtml).join('\n')
    const code = `<pre tabindex="0"><code>${lines}</code></pre>`
    return `<figure class="code">${caption && `<figcaption>${caption}</figcaption>`}${code}</figure>\n`
  }
  rules.code_block = (tokens, i) => `<pre tabindex="0"><code>${escape(tokens[i].content)}</code></pre>\n`
  rules.predict = (tokens, i, options, env, self) => predictHtml({ ...tokens[i].meta, answer: self.render(tokens[i].meta.answer, options, env) })
  // Marks such as <!-- table ... --> are for the tools; the book draws what it can draw there.
  rules.html_block = (tokens, i, options, env) => {
    const mark = tokens[i].content.match(/^<!--\s*(\w+)\s*(.*?)\s*-->/)
    if (!mark) return tokens[i].content.replace(/<!--.*?-->/gs, '')
    return site.mark(mark[1], mark[2])
  }
  // After the rule for fences: it takes those of ```math and leaves all others to that rule.
  md.use(katex, { mathFence: true, throwOnError: true })
  return md
}
