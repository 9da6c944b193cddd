/** Documents have nobody run what is not ours. */
import { readFileSync } from 'node:fs'
import { glob } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '..', '..')

test('no document, example or message has anybody run a package by its name: none is published, and the name may be somebody else’s', async () => {
  const found: string[] = []
  const patterns = [
    '*.md',
    'docs/**/*.md',
    'examples/**/*.ts',
    'packages/*/src/**/*.ts',
    'packages/*/package.json',
    'packages/*/*.md',
    '.github/**/*.md',
  ]
  for await (const path of glob(patterns, { cwd: root })) {
    const lines = readFileSync(join(root, path), 'utf8').split('\n')
    found.push(
      ...lines.filter((line) => /\bnpx\b|npm (exec|create|init)\b|(pnpm|yarn) dlx/.test(line)).map((line) => `${path}: ${line}`),
    )
  }
  expect(found).toEqual([])
})
