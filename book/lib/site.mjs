// Which file of the repository becomes which page of the book, and what is quoted from where.

import fs from 'node:fs'
import path from 'node:path'
import { pathHtml, relative } from './format.mjs'
import { isMark } from './tokens.mjs'

const ASSETS = new Set(['.svg', '.png'])
const SCHEME = /^(?:[a-z][a-z0-9+.-]*:|\/\/)/i

export class Site {
  constructor(root, model) {
    this.root = root
    this.pages = new Set(model.pages)
    this.sources = new Set(model.sources) // more come with the links to them
    this.folders = new Set()
    this.assets = new Set()
    this.text = new Map()
    this.parts = new Map() // 'file#heading' -> its page, where a file becomes several
  }

  read(file) {
    if (!this.text.has(file)) this.text.set(file, fs.readFileSync(path.join(this.root, file), 'utf8'))
    return this.text.get(file)
  }

  // 04_matmul/README.md -> 04_matmul/index.html; a source or a folder becomes a page as well. The front page is
  // no file of the repository: README.md stands beside it.
  outOf(file) {
    if (file === 'README.md') return 'readme.html'
    if (this.pages.has(file)) {
      const [folder, name] = [path.posix.dirname(file), path.posix.basename(file, '.md')]
      return path.posix.join(folder, name === 'README' ? 'index.html' : `${name.toLowerCase()}.html`)
    }
    const place = path.join(this.root, file)
    if (!fs.existsSync(place)) throw new Error(`no file ${file}`)
    if (fs.statSync(place).isDirectory()) {
      const readme = path.posix.join(file, 'README.md')
      if (this.pages.has(readme)) return this.outOf(readme)
      this.folders.add(file)
      return path.posix.join('files', file, 'index.html')
    }
    if (ASSETS.has(path.extname(file))) {
      this.assets.add(file)
      return file
    }
    this.sources.add(file)
    return `${path.posix.join('files', file)}.html`
  }

  // The link from the page env.out for what env.source links to.
  link(href, env) {
    if (SCHEME.test(href)) return href
    const [file, anchor] = href.split('#')
    const start = file.startsWith('/') ? '' : path.posix.dirname(env.source)
    const target = file ? path.posix.join(start, decodeURI(file).replace(/^\/|\/$/g, '')) : env.source
    try {
      const page = this.parts.get(`${target}#${anchor}`) ?? this.outOf(target)
      return (page === env.out && anchor ? '' : relative(env.out, page)) + (anchor ? `#${anchor}` : '')
    } catch (error) {
      throw new Error(`${env.source}: dead link ${href}: ${error.message}`)
    }
  }

  // How large an SVG is, so that a page does not jump when it comes: { width, height }, or nothing.
  sizeOf(href, env) {
    const file = path.posix.join(path.posix.dirname(env.source), decodeURI(href))
    const [, box] = (file.endsWith('.svg') && this.read(file).match(/<svg[^>]*viewBox="([^"]*)"/)) || []
    const [, , width, height] = box?.split(/[\s,]+/) ?? []
    return height && { width: Math.round(width), height: Math.round(height) }
  }

  // The caption of quoted code: its file and the lines where it stands there.
  quoted(file, text, env) {
    const source = file.startsWith('/') ? file.slice(1) : path.posix.join(path.posix.dirname(env.source), file)
    const first = this.lineOf(source, text)
    if (!first) throw new Error(`${env.source}: what is quoted from ${file} does not stand there; run make lessons`)
    const last = first + text.trimEnd().split('\n').length - 1
    const href = `${relative(env.out, this.outOf(source))}#L${first}`
    return `<a href="${href}"><code>${pathHtml(source)}</code>, lines ${first} to ${last}</a>`
  }

  // Where the first line of `text` stands in a source, gaps at the left apart; 0 if nowhere.
  lineOf(source, text) {
    const wanted = text.trimEnd().split('\n').map((line) => line.trim())
    const lines = this.read(source).split('\n').map((line, i) => [line.trim(), i + 1])
    const kept = lines.filter(([line]) => !isMark(line))
    const start = kept.findIndex((_, i) => wanted.every((line, k) => kept[i + k]?.[0] === line))
    return start < 0 ? 0 : kept[start][1]
  }
}

// Every dead link of the site that was built: `pages` is path -> HTML, `files` what lies beside it.
export function deadLinks(pages, files) {
  const ids = new Map()
  const idsOf = (page) => {
    if (!ids.has(page)) ids.set(page, new Set([...pages.get(page).matchAll(/\s(?:id|name)="([^"]+)"/g)].map((m) => m[1])))
    return ids.get(page)
  }
  const dead = []
  for (const [page, html] of pages) {
    for (const [, link] of html.matchAll(/\s(?:href|src)="([^"]*)"/g)) {
      if (/^(?:[a-z][a-z0-9+.-]*:|\/\/)/i.test(link)) continue
      const [file, anchor] = link.split('#')
      const target = file ? path.posix.join(path.posix.dirname(page), decodeURI(file.split('?')[0])) : page
      if (!pages.has(target) && !files.has(target)) dead.push(`${page}: dead link ${link}`)
      else if (anchor && pages.has(target) && !idsOf(target).has(decodeURI(anchor))) dead.push(`${page}: no place ${link}`)
    }
  }
  return dead
}
