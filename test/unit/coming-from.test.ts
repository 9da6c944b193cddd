/** Guides for those who come from elsewhere, and comparisons: their code runs, their links lead somewhere, and each claim says how it is known. */
import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'

const root = join(import.meta.dirname, '..', '..')
const guides = join(root, 'docs', 'coming-from')
const comparisons = join(root, 'docs', 'comparisons')
const read = (...path: string[]): string => readFileSync(join(...path), 'utf8')
const headings = (text: string): string[] =>
  [...text.matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replaceAll(/[^\w -]/g, '')
      .replaceAll(' ', '-'),
  )

test.each(['pg-boss', 'graphile-worker', 'bullmq', 'cron'])(
  'the code of the guide from %s is in examples/coming-from',
  (name) => {
    const files = name === 'cron' ? ['cron.ts'] : [`${name}-before.ts`, `${name}.ts`]
    const examples = files.map((file) => read(root, 'examples', 'coming-from', file))
    const pieces = [...read(guides, `${name}.md`).matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code = '']) => code)
    expect(pieces.length).toBeGreaterThan(2)
    for (const code of pieces) expect(examples.some((example) => example.includes(code.trimEnd()))).toBe(true)
  },
)

test('a calendar event means the first Monday, where cron means seven days and each Monday', async () => {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--no-warnings', '--conditions=@taskstream/source', 'examples/coming-from/cron.ts'],
    { cwd: root },
  )
  expect(stdout).toBe(
    [
      'Mon *-*-1..7 09:00 Europe/Oslo Mon 2026-04-06 09:00:00 Mon 2026-05-04 09:00:00 Mon 2026-06-01 09:00:00',
      'cron:0 9 1-7 * MON Europe/Oslo Mon 2026-03-30 09:00:00 Wed 2026-04-01 09:00:00 Thu 2026-04-02 09:00:00\n',
    ].join('\n'),
  )
})

describe.each([
  ...readdirSync(guides).map((file) => [guides, file]),
  ...readdirSync(comparisons).map((file) => [comparisons, file]),
])('%s/%s', (folder, file) => {
  const text = read(folder!, file!)

  test('has no link that leads nowhere', () => {
    const wrong = [...text.matchAll(/\]\((?!https?:)([^)\s]+)\)/g)].flatMap(([, link = '']) => {
      const [path = '', anchor] = link.split('#')
      const target = path === '' ? join(folder!, file!) : join(dirname(join(folder!, file!)), path)
      if (!existsSync(target)) return [link]
      return anchor === undefined || headings(readFileSync(target, 'utf8')).includes(anchor) ? [] : [link]
    })
    expect(wrong).toEqual([])
  })

  test.runIf(folder === comparisons && file !== 'index.md')('says of each claim about a neighbour how it is known', () => {
    const [, claims = ''] = /^## What (?:it is|they are) good at\n(.*?)^## /ms.exec(text) ?? []
    const items = claims.split(/^- /m).slice(1)
    expect(items.length).toBeGreaterThan(2)
    // Praise of their pages is an opinion.
    expect(items.filter((item) => !/\((?:read|run)\b/.test(item) && !item.startsWith('Its pages'))).toEqual([])
  })
})
