// What the search looks through: every section of every page, and every source.

function plain(tokens) {
  const said = (t) => (t.type === 'fence' ? t.content : t.content.replace(/<!--.*?-->/gs, '').replace(/\]\([^)]*\)|[`*$[\]|]/g, ' '))
  return tokens.filter((t) => t.type === 'inline' || t.type === 'fence').map(said).join(' ').replace(/\s+/g, ' ').trim()
}

const ofLesson = (lesson) =>
  lesson.sections.map((section) => ({
    href: `${lesson.out}#${section.id}`,
    title: section.title,
    page: lesson.title,
    text: plain(section.tokens),
  }))

// The glossary's terms are paragraphs that open with the bold term.
const ofGlossary = (lesson) =>
  lesson.sections.flatMap((section) =>
    section.tokens
      .filter((t) => t.type === 'inline' && t.content.startsWith('**'))
      .map((t) => ({ href: `${lesson.out}#${section.id}`, title: t.content.match(/\*\*(.+?)\*\*/)[1], page: 'Glossary', text: plain([t]) })),
  )

const ofSource = (book) => (source) => ({
  href: book.site.outOf(source),
  title: source.split('/').at(-1),
  page: source,
  text: book.site.read(source).replace(/\s+/g, ' '),
})

export function searchScript(book) {
  const pages = book.lessons.flatMap((lesson) => (lesson.source === 'GLOSSARY.md' ? ofGlossary(lesson) : ofLesson(lesson)))
  const sources = book.model.sources.map(ofSource(book))
  return `window.bookSearch(${JSON.stringify([...pages, ...sources])})`
}
