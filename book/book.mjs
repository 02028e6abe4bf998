// The book as pages and files. Everything comes from files of the repository; a missing region, a dead link or a
// stale number is an error.

import { execFile, execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import esbuild from 'esbuild'
import { load } from './kernels/run.mjs'
import { escape, pathHtml, words } from './lib/format.mjs'
import { highlight, languageOf } from './lib/highlight.mjs'
import { layout, pagesOf } from './lib/layout.mjs'
import { makeMarkdown } from './lib/markdown.mjs'
import { withAnswers } from './lib/predict.mjs'
import { pagesIn, sections } from './lib/sections.mjs'
import { Site, deadLinks } from './lib/site.mjs'
import { isMark, lineHtml, textOf } from './lib/tokens.mjs'
import { exercisePage, withProgress } from './pages/exercises.mjs'
import { frontPage } from './pages/front.mjs'
import { Glossary } from './pages/glossary.mjs'
import { ladderPages } from './pages/ladders.mjs'
import { notesOfRungs, oneFile, rungLine, rungLinks, trailOf } from './pages/rungs.mjs'
import { searchScripts } from './pages/search.mjs'
import { widgetInText, widgetList, widgetPages } from './pages/widgets.mjs'
import { WRITE, writePage } from './pages/write.mjs'
import { YOURS, yoursPage } from './pages/yours.mjs'

const BOOK = import.meta.dirname
const ROOT = path.dirname(BOOK)

// What the scripts in tools/ know; asked again where something has changed but the text of a page or the book's code.
function readModel(memory, places) {
  const isText = ([name]) => name.endsWith('.md') || (name.startsWith('book/') && !/^book\/(model\.py|outcomes\.)/.test(name))
  const key = [...places].map((place) => (isText(place) ? place[0] : place.join()))
  const ask = () => execFileSync('python3', [path.join(ROOT, 'book/model.py')], { encoding: 'utf8', maxBuffer: 1 << 28 })
  return JSON.parse(memory.once('model', key.join('\n'), ask))
}

class Book {
  // `kernels`: those of the page, compiled, or nothing where they could not be; `memory` is what earlier builds made.
  // `compiler`: the files that let a reader write kernels in the page, by path; none: the book goes without.
  constructor(model, kernels, memory, compiler = new Map()) {
    this.model = model
    this.compiler = compiler
    this.memory = memory
    this.kernels = kernels
    this.site = new Site(ROOT, model)
    this.glossary = new Glossary()
    this.md = makeMarkdown({
      link: (href, env) => this.site.link(href, env),
      sizeOf: (href, env) => this.site.sizeOf(href, env),
      quoted: (file, text, env) => this.site.quoted(file, text, env),
      mark: (kind, words) => (kind === 'widget' ? widgetInText(words, this) : ''),
      term: (text, env, isFirst) => this.glossary.link(text, env, isFirst),
      below: (id, env) => rungLinks(this, `${env.source}#${id}`, env.out),
    })
    this.lessons = model.pages.flatMap((source) => this.parsed(source))
    this.glossary.read(this.lessons.find(({ source }) => source === 'GLOSSARY.md'))
    this.notes = notesOfRungs(this)
    this.model.problems.sort((a, b) => a.chapter.localeCompare(b.chapter) || this.placeOf(a) - this.placeOf(b))
    this.tokens = new Map() // of sources, highlighted once
    this.pages = new Map() // path in the site -> HTML
    this.files = new Map() // path in the site -> what lies there
  }

  // A file as the pages that it becomes: mostly one. `depth` is the level of the headings of its rungs.
  parsed(source) {
    const whole = this.site.outOf(source)
    const env = { source, out: whole }
    let lesson
    return pagesIn(withAnswers(this.md.parse(this.site.read(source), env))).map(({ id, tokens }) => {
      const out = id ? path.posix.join(path.posix.dirname(whole), `${id}.html`) : whole
      if (id === 'after') tokens.unshift(...this.md.parse('# After the problems', env))
      const found = sections(tokens)
      const heading = found[0]?.title ?? source
      lesson ??= source === 'README.md' ? 'Commands and chapters' : heading // which says more than the book's own name
      if (id) for (const section of found) this.site.parts.set(`${source}#${section.id}`, out)
      return { source, env: { source, out }, out, tokens, sections: found, depth: id && id !== 'after' ? 2 : 3, title: id === 'after' ? `${lesson}: after the problems` : id ? heading : lesson }
    })
  }

  lines(source) {
    if (!this.tokens.has(source)) this.tokens.set(source, this.highlighted(this.site.read(source), languageOf(source)))
    return this.tokens.get(source)
  }

  highlighted(text, language) {
    return this.memory.once('code', `${language}\n${text}`, () => highlight(text, language))
  }

  // Ladders stand in the order in which the lessons come to them.
  placeOf(problem) {
    const readme = this.site.read('README.md')
    const places = problem.rungs.map((rung) => this.notes.of.get(rung)).filter(Boolean).map((note) => {
      const headings = this.lessons.filter(({ source }) => source === note.source).flatMap((page) => page.sections)
      const named = readme.indexOf(`(${note.source})`, readme.indexOf('\n## Chapters'))
      return (named < 0 ? 2 * readme.length : named) * 1e4 + headings.findIndex(({ id }) => id === note.id)
    })
    return Math.min(Number.MAX_SAFE_INTEGER, ...places)
  }

  // The contents: what belongs to no chapter, a group for each chapter, what can be tried.
  groups() {
    const chapters = [...new Set(this.model.problems.map((problem) => problem.chapter))]
    const of = (folder) => this.lessons.filter(({ source }) => source.startsWith(`${folder}/`))
    const rest = ofNoChapter(this.lessons, this.site.read('README.md'))
    const ladders = (chapter) =>
      this.model.problems
        .filter((problem) => problem.chapter === chapter)
        .map((problem) => ({ out: `compare/${problem.id}/index.html`, title: `Ladder: ${words(problem.id.split('/').at(-1).replace(/^\d\d_/, ''))}` }))
    return [
      { title: 'Start', road: [{ out: 'index.html', title: 'The first page' }, ...rest.filter(isForReaders)] },
      ...chapters.map((chapter) => ({
        title: this.lessons.find(({ source }) => source === `${chapter}/README.md`).title,
        folder: `${chapter}/`,
        ...inOrder(of(chapter), this.site.read('README.md')),
        ladders: ladders(chapter),
      })),
      { title: 'Try it', folder: 'widgets/', road: [...(this.compiler.size ? [WRITE] : []), ...widgetList(this), YOURS] },
      { title: 'How it is made', road: rest.filter((page) => !isForReaders(page)) },
    ]
  }

  // The front page leads to the first chapter, and each page of a chapter's main road to the next. Its side roads,
  // exercises and ladders lead to each other, and the last of them to the next chapter.
  neighbours(out) {
    const [start, ...chapters] = this.contents.slice(0, -2)
    const road = [start.road[0], ...chapters.flatMap((group) => group.road)]
    const at = road.findIndex((page) => page.out === out)
    const group = chapters.find((one) => pagesOf(one).some((page) => page.out === out))
    const next = chapters[chapters.indexOf(group) + 1]?.road[0]
    const trail = group && group.road[0].out !== out ? [{ ...group.road[0], title: group.title }] : []
    if (at >= 0) return { before: road[at - 1], after: road[at + 1], trail, ...(group ? { beside: besideOf(group), chapterAfter: next } : {}) }
    if (!group) return {}
    const sides = [group.road.at(-1), ...group.more, ...group.exercises, ...group.ladders, ...(next ? [next] : [])]
    const k = sides.findIndex((page) => page.out === out)
    return { before: sides[k - 1], after: sides[k + 1], trail }
  }

  add(page) {
    this.pages.set(page.out, layout({ ...this.neighbours(page.out), ...page }, this.contents))
  }

  addLessons() {
    for (const lesson of this.lessons) {
      const exercise = this.model.exercises[lesson.source]
      const text = this.md.renderer.render(lesson.tokens, this.md.options, lesson.env)
      const page = lesson.source === 'exercises.md' ? withProgress(text) : text
      this.add({ ...lesson, ...(exercise ? exercisePage(this, exercise, lesson, text) : { body: page }) })
    }
  }

  addSources() {
    const rungs = new Map(this.model.problems.flatMap((problem) => problem.rungs.map((rung) => [rung.path, { problem, rung }])))
    for (const source of this.site.sources) this.addSource(source, rungs.get(source))
    for (const folder of this.site.folders) this.addFolder(folder)
  }

  // `known`: { problem, rung } where the file is a rung.
  addSource(source, known) {
    const out = this.site.outOf(source)
    const all = this.lines(source).map((tokens, i) => [textOf(tokens), `<a id="L${i + 1}" href="#L${i + 1}">${i + 1}</a>${lineHtml(tokens)}`])
    const rows = all.filter(([text]) => !isMark(text)).map(([, html]) => html)
    const body = `<h1 class="path">${pathHtml(source)}</h1>
${known ? rungLine(this, known.problem, known.rung, out) + oneFile(this, known.problem, known.rung, out) : ''}
<figure class="code"><pre class="source" tabindex="0"><code>${rows.join('\n')}</code></pre></figure>`
    const place = known && trailOf(this, known.problem)
    const about = known ? `${known.rung.name}, a rung of ${known.problem.id}: ${known.rung.idea}.` : `The file ${source}, each line with its number.`
    this.add({ title: source, out, body, about, wide: true, ...(place ? { trail: place, place: known.rung.name } : {}) })
  }

  addFolder(folder) {
    const out = this.site.outOf(folder)
    const names = fs.readdirSync(path.join(ROOT, folder)).filter((name) => !/^(\.|__)/.test(name))
    const item = (name) => {
      const known = this.site.sources.has(`${folder}/${name}`)
      return `<li>${known ? `<a href="${this.site.link(`/${folder}/${name}`, { out })}">${name}</a>` : name}</li>`
    }
    this.add({ title: folder, out, about: `What lies in the folder ${folder}.`, body: `<h1 class="path">${folder}/</h1><ul>${names.map(item).join('')}</ul>` })
  }

  addFiles() {
    for (const asset of this.site.assets) this.files.set(asset, fs.readFileSync(path.join(ROOT, asset)))
    const fonts = path.join(BOOK, 'node_modules/katex/dist/fonts')
    for (const font of fs.readdirSync(fonts).filter((name) => name.endsWith('.woff2'))) {
      this.files.set(`fonts/${font}`, fs.readFileSync(path.join(fonts, font)))
    }
    const katex = fs.readFileSync(path.join(BOOK, 'node_modules/katex/dist/katex.min.css'), 'utf8')
    const style = fs.readFileSync(path.join(BOOK, 'style.css'), 'utf8')
    this.files.set('book.css', katex.replace(/,url\([^)]*\.(?:woff|ttf)\) format\("\w+"\)/g, '') + style)
    const script = esbuild.buildSync({
      entryPoints: [path.join(BOOK, 'client/main.mjs')],
      bundle: true,
      minify: true,
      format: 'iife',
      target: 'es2022',
      write: false,
    })
    this.files.set('book.js', script.outputFiles[0].contents)
    for (const [name, content] of this.compiler) this.files.set(name, content)
    if (this.kernels) this.files.set('kernels.js', `window.bookKernels = '${this.kernels.toString('base64')}'`)
  }

  // Writes what differs from what lies there, and says how many files did.
  write(out) {
    const dead = deadLinks(this.pages, this.files)
    if (dead.length) throw new Error(dead.join('\n      '))
    const all = new Map([...this.pages, ...this.files].map(([name, content]) => [path.normalize(name), Buffer.from(content)]))
    const lying = fs.existsSync(out) ? fs.readdirSync(out, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()) : []
    for (const { parentPath, name } of lying) {
      const place = path.join(parentPath, name)
      if (!all.has(path.relative(out, place))) fs.rmSync(place)
    }
    let written = 0
    for (const [name, content] of all) {
      const place = path.join(out, name)
      if (fs.existsSync(place) && fs.readFileSync(place).equals(content)) continue
      fs.mkdirSync(path.dirname(place), { recursive: true })
      fs.writeFileSync(place, content)
      written += 1
    }
    return written
  }
}

// A chapter's pages: its main road, in the order in which README.md's table of chapters names it; the pages that
// it does not name; the exercises.
function inOrder(lessons, readme) {
  const isExercise = ({ source }) => source.includes('/exercises/')
  const place = ({ source }) => readme.indexOf(`(${source})`, readme.indexOf('\n## Chapters'))
  const pages = lessons.filter((lesson) => !isExercise(lesson))
  return {
    road: pages.filter((page) => place(page) >= 0).sort((a, b) => place(a) - place(b)),
    more: pages.filter((page) => place(page) < 0),
    exercises: lessons.filter(isExercise),
  }
}

// The pages of no chapter, in the order in which README.md names them; those that it does not name come last.
function ofNoChapter(lessons, readme) {
  const place = ({ source }) => {
    const at = readme.indexOf(`](${source}`)
    return source === 'README.md' ? -1 : at < 0 ? readme.length : at
  }
  return lessons.filter(({ source }) => !/^\d\d_/.test(source)).sort((a, b) => place(a) - place(b))
}
const isForReaders = ({ source }) => !source.includes('/') || source === 'results/README.md'

// What a chapter has beside its main road, in one line.
function besideOf({ road, more, exercises, ladders }) {
  const toExercises = exercises.length ? [{ out: exercises[0].out, title: `${exercises.length} exercises` }] : []
  return [...more, ...toExercises, ...ladders].filter((page) => page.out !== road[0].out)
}

function filesUnder(folder, place) {
  const entries = fs.readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  const names = entries.map(({ parentPath, name }) => path.relative(folder, path.join(parentPath, name)))
  return new Map(names.map((name) => [path.posix.join(place, name), fs.readFileSync(path.join(folder, name))]))
}

// Makes the book in the folder `out`: { pages, written }. `say` is told what is being done.
export async function makeBook({ out, wasm, compiler, memory, places, say }) {
  // Whether the lessons are up to date is asked beside the rest.
  const lessons = promisify(execFile)('python3', [path.join(ROOT, 'tools/lessons.py'), '--check']).catch((error) => error)
  const kernels = wasm && fs.existsSync(wasm) ? fs.readFileSync(wasm) : undefined
  if (kernels) await load(kernels)
  say('reads lessons, sources and results')
  const book = new Book(readModel(memory, places), kernels, memory, compiler && filesUnder(compiler, 'compiler'))
  book.contents = book.groups()
  say(`makes ${book.lessons.length} pages of text`)
  book.add(frontPage(book))
  book.addLessons()
  say(`sets ${book.model.problems.length} ladders side by side`)
  ladderPages(book)
  widgetPages(book)
  yoursPage(book)
  if (book.compiler.size) writePage(book)
  book.addSources()
  book.addFiles()
  searchScripts(book)
  const stale = await lessons
  if (stale.code) throw new Error(`the lessons are not up to date:\n${stale.stdout}${stale.stderr}`)
  say('looks for dead links, writes what differs')
  return { pages: book.pages.size, written: book.write(out) }
}
