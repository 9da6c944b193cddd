/** `npm run bench:page` writes the tables of docs/performance.md anew, from the runs that it names. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pageOf } from './page.ts'
import type { Run } from './page.ts'

const root = join(import.meta.dirname, '../..')
const file = join(root, 'docs/performance.md')
const page = readFileSync(file, 'utf8')
const written = page.replaceAll(
  /(<!-- run: (\S+)(?: without (\S+))? -->\n\n).*?(\n*<!-- end of run -->)/gs,
  (_, begin: string, name: string, without: string | undefined, end: string) => {
    const run = JSON.parse(readFileSync(join(root, 'benchmarks/results', name), 'utf8')) as Run
    return `${begin}${pageOf(run, without?.split(','))}\n\n${end.trim()}`
  },
)
writeFileSync(file, written)
