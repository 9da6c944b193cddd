/** What docs/performance.md says of a kept run is what the run measured. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { pageOf } from '../../benchmarks/speed/page.ts'
import type { Run } from '../../benchmarks/speed/page.ts'

const root = join(import.meta.dirname, '../..')
const page = readFileSync(join(root, 'docs/performance.md'), 'utf8')
const kept = [...page.matchAll(/<!-- run: (\S+)(?: without (\S+))? -->\n\n(.*?)\n\n<!-- end of run -->/gs)].map(
  ([, file, without, text]) => ({
    file: file!,
    without: without?.split(','),
    text: text!,
  }),
)

test('the page of figures has a kept run', () => {
  expect(kept.length).toBeGreaterThan(0)
})

test.each(kept)('$file: its table is made of its figures', ({ file, without, text }) => {
  const run = JSON.parse(readFileSync(join(root, 'benchmarks/results', file), 'utf8')) as Run
  // `npm run format` aligns nothing in tables, and may wrap the line above.
  expect(text.replaceAll(/\s+/g, ' ')).toBe(pageOf(run, without).replaceAll(/\s+/g, ' '))
})
