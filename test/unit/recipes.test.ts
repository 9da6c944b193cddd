/** Each recipe is a whole program, which stands on its page in blocks, and does on SQLite and on PostgreSQL what the page says. */
import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { hasPostgres, ownDatabase, ownEngines } from '../databases/own-database.ts'

const root = join(import.meta.dirname, '..', '..')
const pages = join(root, 'docs', 'recipes')
const programs = join(root, 'examples', 'recipes')
const read = (...path: string[]): string => readFileSync(join(...path), 'utf8')
const blocksOf = (page: string, language = 'ts'): string[] =>
  [...read(pages, `${page}.md`).matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, 'gms'))].map(([, code = '']) => code)

/** What each program prints. */
const printed: Readonly<Record<string, string>> = {
  outbox: `order 1 is there already: no event
order-placed 1: done
order-placed 1: seen before
order-placed 1: seen before
order-cancelled 1: done
`,
  webhooks: `ann: ann/1 ann/2 ann/3
bob: bob/1 bob/2 bob/3
cid: cid/2 cid/3
dan: none
failed after 3 tries: cid/1, Error: 500 Internal Server Error
dead letters: cid
`,
  payments: `created duplicate
receipt for order 1 to ann
reminder for order 2 to bob
the reminder of order 1: filtered, cancelled
`,
  imports: '{ imported: 19998, refused: 2 }\n19998\n',
  reports: '100 sold, 0 reported twice\n',
  saga: `trip 1: booked
trip 2: undone
trip 3: undone
flight of trip 1, hotel of trip 1, payment of trip 1
`,
  partner: '40 calls, never more than 5 at a time\nthe rate was kept\n',
  'fan-out': '3 photos of 18000 bytes; 1 not: Error: This is no picture\n6 tries\n',
  tenants: `1002 pages; the small tenant was through among the first twenty
never more than 2 mails of a tenant at a time
`,
  serverless: 'more\n{"outcome":"done"}\n300 photos, 300 thumbnails\n',
}
const inFrameworks = ['fastify', 'hono', 'nest', 'next']

const run = (program: string, env: Record<string, string>, ...flags: string[]): Promise<{ stdout: string }> =>
  promisify(execFile)(
    process.execPath,
    ['--no-warnings', '--conditions=@taskstream/source', ...flags, join(programs, `${program}.ts`)],
    { cwd: root, timeout: 100_000, env: { ...process.env, REPORT_TIMER: '*:*:*', ...env } },
  )

test('each page has a program, each program a page, and the index has them all', () => {
  const named = [...Object.keys(printed), 'ci']
  const files = (folder: string, end: string): string[] =>
    readdirSync(folder)
      .filter((name) => name.endsWith(end))
      .map((name) => name.slice(0, -end.length))
  expect(files(programs, '.ts').toSorted()).toEqual([...named, 'database'].toSorted())
  expect(files(pages, '.md').toSorted()).toEqual([...named, ...inFrameworks, 'index'].toSorted())
  const index = read(pages, 'index.md')
  for (const name of [...named, ...inFrameworks]) expect(index).toContain(`](${name}.md)`)
})

test.each([...Object.keys(printed), 'ci', 'database'])(
  '%s stands on its page as it is, in blocks of 25 lines at most',
  (name) => {
    const blocks = blocksOf(name === 'database' ? 'index' : name)
    expect(blocks.join('\n')).toBe(read(programs, `${name}.ts`))
    for (const code of blocks) expect(code.split('\n').length - 1, code).toBeLessThanOrEqual(25)
  },
)

test.each([...Object.keys(printed), 'ci', ...inFrameworks, 'index'])('what the page %s links to is there', (name) => {
  const text = read(pages, `${name}.md`)
  const links = [...text.matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)]
  for (const [, path = '', heading] of links) {
    const file = path === '' ? join(pages, `${name}.md`) : join(pages, path)
    expect(existsSync(file), file).toBe(true)
    if (heading === undefined) continue
    const headings = [...read(dirname(file), file.slice(dirname(file).length)).matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
      title
        .toLowerCase()
        .replaceAll(/[^\w -]/g, '')
        .replaceAll(' ', '-'),
    )
    expect(headings, `${file}#${heading}`).toContain(heading)
  }
})

test.each(['fan-out', 'partner', 'payments', 'saga', 'serverless', 'tenants', 'webhooks'])(
  'the page of %s shows what its program prints',
  (name) => expect(read(pages, `${name}.md`)).toContain(`\`\`\`\n${printed[name]}\`\`\``),
)

describe.each(ownEngines)('on %s', (engine) => {
  test.skipIf(engine === 'postgres' && !hasPostgres()).each(Object.entries(printed))(
    '%s prints what its page says',
    async (name, text) => {
      await using database = await ownDatabase(engine)
      expect((await run(name, { DATABASE_URL: database.url })).stdout).toBe(text)
    },
  )
})

test('the tests that need no server pass', async () => {
  expect((await run('ci', {}, '--test-reporter=tap')).stdout).toContain('# pass 2\n# fail 0\n')
})
