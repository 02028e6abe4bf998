// Colours code at build time: text -> lines of tokens [text, class], see tokens.mjs.

import { createCssVariablesTheme, createHighlighter } from 'shiki'

const NAME = 'house'
const LANGUAGES = ['cpp', 'python', 'bash', 'json', 'make']
const BY_SUFFIX = { cu: 'cpp', cuh: 'cpp', cpp: 'cpp', hpp: 'cpp', h: 'cpp', py: 'python', sh: 'bash' }
const BY_WORD = { cuda: 'cpp', sh: 'bash', 'c++': 'cpp', makefile: 'make' }
const CLASSES = { comment: 'c', keyword: 'k', 'string-expression': 's', string: 's', constant: 'n', function: 'f' }

const highlighter = await createHighlighter({
  langs: LANGUAGES,
  themes: [createCssVariablesTheme({ name: NAME, variablePrefix: '--' })],
})

const classOf = (colour) => CLASSES[colour?.match(/--token-([\w-]+)/)?.[1]] ?? ''

// Neighbours of one class in one token, gaps with what stands before them: fewer elements.
function joined(line) {
  const out = []
  for (const { content, color } of line) {
    const kind = content.trim() ? classOf(color) : (out.at(-1)?.[1] ?? '')
    if (out.length && out.at(-1)[1] === kind) out.at(-1)[0] += content
    else out.push([content, kind])
  }
  return out
}

export function languageOf(path) {
  return BY_SUFFIX[path.split('.').at(-1)] ?? (path.endsWith('Makefile') ? 'make' : '')
}

export function highlight(text, language) {
  const lang = BY_WORD[language] ?? language
  const whole = text.replace(/\n$/, '')
  if (!LANGUAGES.includes(lang)) return whole.split('\n').map((line) => (line ? [[line, '']] : []))
  return highlighter.codeToTokensBase(whole, { lang, theme: NAME }).map(joined)
}
