// What a build makes and the next one needs again: key -> value in one file, and the state of what was built in
// another. What one build has not asked for is forgotten.

import crypto from 'node:crypto'
import fs from 'node:fs'
import v8 from 'node:v8'

export class Memory {
  // `file` may be nothing: then each build begins anew. `code` is what all values depend on.
  constructor(file, code) {
    this.file = file
    this.code = code
    this.made = new Map()
    this.isOld = true
    try {
      // The state lies in a small file of its own, which is all that a build without changes reads.
      const { code: before, state, pages } = JSON.parse(fs.readFileSync(`${file}.json`, 'utf8'))
      if (before === code) Object.assign(this, { state, pages, isOld: false })
    } catch {
      // There is none: begin anew.
    }
  }

  // What `make` returns for these words, from an earlier build where it was made there.
  once(kind, words, make) {
    this.earlier ??= this.isOld ? new Map() : v8.deserialize(fs.readFileSync(this.file))
    const key = `${kind} ${crypto.createHash('sha1').update(words).digest('base64')}`
    if (!this.made.has(key)) this.made.set(key, this.earlier.has(key) ? this.earlier.get(key) : make())
    return this.made.get(key)
  }

  keep(state, pages) {
    if (!this.file) return
    fs.writeFileSync(this.file, v8.serialize(this.made))
    fs.writeFileSync(`${this.file}.json`, JSON.stringify({ code: this.code, state, pages }))
  }
}
