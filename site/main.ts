/**
 * Builds the documentation site into site/dist, and serves it on this machine: `npm run docs`, `npm run docs:serve -- --port 4173`.
 * The markdown of docs/ is copied as it stands; only the reference is made, of what stands above declarations.
 */
import { cpSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { build } from 'vitepress'
import { built, docs, pages, site } from './src/places.ts'
import { reference } from './src/reference.ts'
import { serve } from './src/serve.ts'

const { values, positionals } = parseArgs({ allowPositionals: true, options: { port: { type: 'string', default: '4173' } } })
const port = Number(values.port)
if (!Number.isInteger(port) || port < 0 || port > 65_535) throw new Error(`--port must be 0 to 65535, and is ${values.port}`)
const seconds = (since: number): string => `${((performance.now() - since) / 1_000).toFixed(1)} s`

let started = performance.now()
const made = await reference()
rmSync(pages, { recursive: true, force: true })
mkdirSync(pages)
cpSync(docs, pages, { recursive: true })
cpSync(made, join(pages, 'api'), { recursive: true })
console.log(`The reference is there after ${seconds(started)}.`)
started = performance.now()
await build(site)
console.log(`The site is in site/dist after another ${seconds(started)}.`)

if (positionals.includes('serve')) {
  const { url } = await serve(built, port)
  console.log(`It is at ${url}/ until you press Ctrl-C.`)
}
