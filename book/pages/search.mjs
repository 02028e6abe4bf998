// What the search looks through: the glossary's entries, every section of every page, what can be run and walked; and
// apart from these, since they are long, every source.

import { anchorOf, entryOf } from '../lib/markdown.mjs'
import { isMark } from '../lib/tokens.mjs'
import { KERNELS } from '../widgets/kernels.mjs'
import { WIDGETS } from '../widgets/all.mjs'
import { folderOf, nameOf } from './rungs.mjs'

export function plain(tokens) {
  const said = (t) => (t.type === 'fence' ? t.content : t.content.replace(/<!--.*?-->/gs, '').replace(/\]\([^)]*\)|[`*$[\]|]/g, ' '))
  return tokens.filter((t) => t.type === 'inline' || t.type === 'fence').map(said).join(' ').replace(/\s+/g, ' ').trim()
}

const ofLesson = (lesson) =>
  lesson.sections.map((section) => ({
    kind: lesson.source.includes('/exercises/') ? 'exercise' : 'lesson',
    href: `${lesson.out}#${section.id}`,
    title: section.title,
    page: lesson.title,
    text: plain(section.tokens),
  }))

const ofGlossary = (lesson) =>
  lesson.tokens
    .map((t) => ({ t, word: t.type === 'inline' && entryOf(t.content) }))
    .filter(({ word }) => word)
    .map(({ t, word }) => ({ kind: 'glossary', href: `${lesson.out}#${anchorOf(word)}`, title: word, page: 'Glossary', text: plain([t]) }))

const ofWidget = ({ name, title, about }) => ({ kind: 'widget', href: `widgets/${name}.html`, title, page: 'Try it', text: about })

const ofLadder = (problem) => ({
  kind: 'ladder',
  href: `${folderOf(problem)}/index.html`,
  title: `Ladder: ${nameOf(problem)}`,
  page: 'Side by side',
  text: problem.rungs.map((rung) => `${rung.name}: ${rung.idea}`).join('; '),
})

const ofSource = (book) => (source) => ({
  kind: 'source',
  href: book.site.outOf(source),
  title: source.split('/').at(-1),
  page: source,
  text: book.site.read(source).split('\n').filter((line) => !isMark(line)).join(' ').replace(/\s+/g, ' '),
})

export function searchScripts(book) {
  const pages = book.lessons.flatMap((lesson) => (lesson.source === 'GLOSSARY.md' ? ofGlossary(lesson) : ofLesson(lesson)))
  const widgets = [...WIDGETS, ...(book.kernels ? KERNELS : [])].map(ofWidget)
  const entries = [...pages, ...widgets, ...book.model.problems.map(ofLadder)]
  book.files.set('search-data.js', `window.bookSearch.found(${JSON.stringify(entries)})`)
  book.files.set('search-sources.js', `window.bookSearch.found(${JSON.stringify(book.model.sources.map(ofSource(book)))})`)
}
