#!/usr/bin/env node
// Builds the book: node book/build.mjs OUT [KERNELS.wasm]. Everything comes from files of the repository; a
// missing region, a dead link or a stale number ends the build.

import { execFileSync, spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import esbuild from 'esbuild'
import { load } from './kernels/run.mjs'
import { escape, words } from './lib/format.mjs'
import { highlight, languageOf } from './lib/highlight.mjs'
import { layout } from './lib/layout.mjs'
import { makeMarkdown, sections } from './lib/markdown.mjs'
import { Site, deadLinks } from './lib/site.mjs'
import { lineHtml } from './lib/tokens.mjs'
import { frontPage } from './pages/front.mjs'
import { ladderPages } from './pages/ladders.mjs'
import { searchScript } from './pages/search.mjs'
import { widgetInText, widgetList, widgetPages } from './pages/widgets.mjs'
import { YOURS, yoursPage } from './pages/yours.mjs'

const BOOK = import.meta.dirname
const ROOT = path.dirname(BOOK)

function fail(message) {
  console.error(`book: ${message}`)
  process.exit(1)
}

const python = (script, ...rest) =>
  execFileSync('python3', [path.join(ROOT, script), ...rest], { encoding: 'utf8', maxBuffer: 1 << 28 })

function readModel() {
  const stale = spawnSync('python3', [path.join(ROOT, 'tools/lessons.py'), '--check'], { encoding: 'utf8' })
  if (stale.status !== 0) fail(`the lessons are not up to date:\n${stale.stdout}${stale.stderr}`)
  return JSON.parse(python('book/model.py'))
}

class Book {
  // `kernels`: those of the page, compiled, or nothing where they could not be.
  constructor(model, kernels) {
    this.model = model
    this.kernels = kernels
    this.site = new Site(ROOT, model)
    this.md = makeMarkdown({
      link: (href, env) => this.site.link(href, env),
      quoted: (file, text, env) => this.site.quoted(file, text, env),
      mark: (kind, words) => (kind === 'widget' ? widgetInText(words, this) : ''),
    })
    this.lessons = model.pages.map((source) => this.parsed(source))
    this.tokens = new Map() // of sources, highlighted once
    this.pages = new Map() // path in the site -> HTML
    this.files = new Map() // path in the site -> what lies there
  }

  parsed(source) {
    const env = { source, out: this.site.outOf(source) }
    const tokens = this.md.parse(this.site.read(source), env)
    const found = sections(tokens)
    return { source, env, out: env.out, tokens, sections: found, title: found[0]?.title ?? source }
  }

  lines(source) {
    if (!this.tokens.has(source)) this.tokens.set(source, highlight(this.site.read(source), languageOf(source)))
    return this.tokens.get(source)
  }

  // The contents: what belongs to no chapter, a group for each chapter, what can be tried.
  groups() {
    const chapters = [...new Set(this.model.problems.map((problem) => problem.chapter))]
    const of = (folder) => this.lessons.filter(({ source }) => source.startsWith(`${folder}/`))
    const rest = this.lessons.filter(({ source }) => !/^\d\d_/.test(source) && source !== 'README.md')
    const ladders = (chapter) =>
      this.model.problems
        .filter((problem) => problem.chapter === chapter)
        .map((problem) => ({ out: `compare/${problem.id}/index.html`, title: `Ladder: ${words(problem.id.split('/').at(-1).replace(/^\d\d_/, ''))}` }))
    return [
      { title: 'Start', pages: [{ out: 'index.html', title: 'What this is' }, ...rest] },
      ...chapters.map((chapter) => ({
        title: this.lessons.find(({ source }) => source === `${chapter}/README.md`).title,
        folder: `${chapter}/`,
        pages: [...inOrder(of(chapter), this.site.read('README.md')), ...ladders(chapter)],
      })),
      { title: 'Try it', folder: 'widgets/', pages: [...widgetList(this), YOURS] },
    ]
  }

  // The front page leads to the first chapter, and each page of a chapter to the next.
  neighbours(out) {
    const [start, ...chapters] = this.contents.slice(0, -1)
    const chain = [start.pages[0], ...chapters.flatMap((group) => group.pages)]
    const at = chain.findIndex((page) => page.out === out)
    return at < 0 ? {} : { before: chain[at - 1], after: chain[at + 1] }
  }

  add(page) {
    this.contents ??= this.groups()
    this.pages.set(page.out, layout({ ...this.neighbours(page.out), ...page }, this.contents))
  }

  addLessons() {
    for (const lesson of this.lessons) {
      if (lesson.source === 'README.md') continue
      const text = this.md.renderer.render(lesson.tokens, this.md.options, lesson.env)
      this.add({ ...lesson, body: text + howToBegin(lesson.source) })
    }
  }

  addSources() {
    for (const source of this.site.sources) this.addSource(source)
    for (const folder of this.site.folders) this.addFolder(folder)
  }

  addSource(source) {
    const rows = this.lines(source).map((tokens, i) => `<a id="L${i + 1}" href="#L${i + 1}">${i + 1}</a>${lineHtml(tokens)}`)
    const body = `<h1 class="path">${escape(source)}</h1>\n<pre class="source" tabindex="0"><code>${rows.join('\n')}</code></pre>`
    this.add({ title: source, out: this.site.outOf(source), body, wide: true })
  }

  addFolder(folder) {
    const out = this.site.outOf(folder)
    const names = fs.readdirSync(path.join(ROOT, folder)).filter((name) => !/^(\.|__)/.test(name))
    const item = (name) => {
      const known = this.site.sources.has(`${folder}/${name}`)
      return `<li>${known ? `<a href="${this.site.link(`/${folder}/${name}`, { out })}">${name}</a>` : name}</li>`
    }
    this.add({ title: folder, out, body: `<h1 class="path">${folder}/</h1><ul>${names.map(item).join('')}</ul>` })
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
    if (this.kernels) this.files.set('kernels.js', `window.bookKernels = '${this.kernels.toString('base64')}'`)
  }

  write(out) {
    const dead = deadLinks(this.pages, this.files)
    if (dead.length) fail(dead.join('\n      '))
    fs.rmSync(out, { recursive: true, force: true })
    for (const [name, content] of [...this.pages, ...this.files]) {
      const place = path.join(out, name)
      fs.mkdirSync(path.dirname(place), { recursive: true })
      fs.writeFileSync(place, content)
    }
  }
}

// What a reader types to begin an exercise: 01_vector_add/exercises/01_guard/task.md is 01/guard.
function howToBegin(source) {
  const [, chapter, name] = source.match(/^(\d\d)_\w+\/exercises\/\d\d_(\w+)\/task\.md$/) ?? []
  if (!name) return ''
  const lines = ['start', 'check', 'hint'].map((verb) => `./exercise ${verb} ${chapter}/${name}`)
  return `<h2>Begin</h2><pre tabindex="0"><code>${lines.join('\n')}</code></pre>`
}

// A chapter's pages as they are read: the lesson and its parts, in the order in which README.md's
// table of chapters names them, then what it does not name, then the exercises.
function inOrder(lessons, readme) {
  const isExercise = ({ source }) => source.includes('/exercises/')
  const place = (lesson) => {
    const at = readme.indexOf(`(${lesson.source})`, readme.indexOf('\n## Chapters'))
    return isExercise(lesson) ? 2 * readme.length : at < 0 ? readme.length : at
  }
  const named = (lesson) => (isExercise(lesson) ? { ...lesson, title: `Exercise: ${lesson.title}` } : lesson)
  return [...lessons].sort((a, b) => place(a) - place(b)).map(named)
}

const [out, wasm] = process.argv.slice(2)
if (!out) fail('usage: node book/build.mjs OUT [KERNELS.wasm]')
try {
  const kernels = wasm && fs.existsSync(wasm) ? fs.readFileSync(wasm) : undefined
  if (kernels) await load(kernels)
  const book = new Book(readModel(), kernels)
  book.add(frontPage(book))
  book.addLessons()
  ladderPages(book)
  widgetPages(book)
  yoursPage(book)
  book.addSources()
  book.addFiles()
  book.files.set('search-data.js', searchScript(book))
  book.write(path.resolve(out))
  console.log(`book: ${book.pages.size} pages in ${out}`)
} catch (error) {
  fail(process.env.V ? error.stack : error.message)
}
