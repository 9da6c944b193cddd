/** The example of an adapter is the guide's, and passes the suite that ours pass. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '..', '..')
await import('../../examples/adapter/suite.ts')

test('the code of the guide to adapters is that of examples/adapter', () => {
  const guide = readFileSync(join(root, 'docs', 'guides', 'own-adapter.md'), 'utf8')
  const pieces = [...guide.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code]) => code)
  expect(pieces).toEqual(
    ['from-sql-js', 'suite'].map((name) => readFileSync(join(root, 'examples', 'adapter', `${name}.ts`), 'utf8')),
  )
})
