#!/usr/bin/env node
// Shows a built book: node book/serve.mjs OUT [PORT]. The tests use the same server.

import fs from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import zlib from 'node:zlib'
import { fileURLToPath } from 'node:url'

const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.mjs': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml', '.woff2': 'font/woff2', '.wasm': 'application/wasm' }

// Serves the folder `out` under `base`; port 0 is any free one.
export function serve(out, port, base = '/') {
  const root = path.resolve(out)
  const server = http.createServer((request, response) => {
    const name = decodeURIComponent(request.url.split('?')[0])
    const file = path.join(root, name.slice(base.length - 1), name.endsWith('/') ? 'index.html' : '')
    const isThere = name.startsWith(base) && file.startsWith(root) && fs.statSync(file, { throwIfNoEntry: false })?.isFile()
    if (!isThere) return response.writeHead(404).end('no such page')
    const type = TYPES[path.extname(file)] ?? 'text/plain'
    const isPacked = /gzip/.test(request.headers['accept-encoding'] ?? '') && !/^(?:font|application)/.test(type)
    const isText = type.startsWith('text/')
    response.writeHead(200, { 'content-type': isText ? `${type}; charset=utf-8` : type, ...(isPacked ? { 'content-encoding': 'gzip' } : {}) })
    const text = fs.createReadStream(file)
    if (isPacked) text.pipe(zlib.createGzip({ level: 1 })).pipe(response)
    else text.pipe(response)
  })
  return new Promise((resolve, reject) => {
    server.on('error', reject)
    server.listen(port, '127.0.0.1', () => resolve({ server, url: `http://127.0.0.1:${server.address().port}${base}` }))
  })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [out, port = 8000] = process.argv.slice(2)
  try {
    const { url } = await serve(out, Number(port))
    console.log(`${url} (Ctrl+C ends it)`)
  } catch (error) {
    console.error(`serve: ${error.code === 'EADDRINUSE' ? `port ${port} is taken; PORT=8001 chooses another` : error.message}`)
    process.exit(1)
  }
}
