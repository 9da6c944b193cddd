/** The README's code is a file that runs, and the demo proves what it says, as a user would run it. */
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { allMetrics, prometheusName } from '../../packages/task-telemetry/src/metrics/definitions.ts'

const root = join(import.meta.dirname, '..', '..')
const run = (...args: string[]): Promise<{ stdout: string }> =>
  promisify(execFile)(process.execPath, ['--conditions=@taskstream/source', ...args], { cwd: root, timeout: 100_000 })
const quoted = (word: string): string => `'${word.replaceAll("'", String.raw`'\''`)}'`

test('the first steps of the README are examples/first-steps.ts', async () => {
  const example = readFileSync(join(root, 'examples', 'first-steps.ts'), 'utf8')
  expect(readFileSync(join(root, 'README.md'), 'utf8')).toContain(`\`\`\`ts\n${example}\`\`\``)
  const { stdout } = await run('examples/first-steps.ts')
  expect(stdout).toBe("sending inv-1 to a@example.org\n[ 'inv-1 succeeded: sent' ]\n")
})

test('the README begins with examples/app.ts, in thirty lines, and so does its twin on PostgreSQL', () => {
  const example = readFileSync(join(root, 'examples', 'app.ts'), 'utf8')
  const onPostgres = readFileSync(join(root, 'examples', 'app-pg.ts'), 'utf8')
  expect(/```ts\n(.*?)```/s.exec(readFileSync(join(root, 'README.md'), 'utf8'))?.[1]).toBe(example)
  for (const code of [example, onPostgres]) expect(code.split('\n').filter(Boolean).length).toBeLessThanOrEqual(30)
})

test('the code of the guide to testing is examples/testing.ts, in pieces, with those of two libraries, and their tests pass', async () => {
  const guide = readFileSync(join(root, 'docs', 'guides', 'testing.md'), 'utf8')
  const libraries = ['drizzle', 'typeorm'].map((name) => `examples/testing-${name}.ts`)
  const whole = new Set(libraries.map((file) => readFileSync(join(root, file), 'utf8')))
  const all = [...guide.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code]) => code)
  const pieces = all.filter((code = '') => !whole.has(code))
  expect(all.length - pieces.length).toBe(libraries.length)
  for (const file of libraries) expect((await run('--test-reporter=tap', file)).stdout).toContain('# pass 1\n# fail 0\n')
  expect(pieces.join('\n')).toBe(readFileSync(join(root, 'examples', 'testing.ts'), 'utf8'))
  const { stdout } = await run('--test-reporter=tap', 'examples/testing.ts')
  expect(stdout).toContain(`# pass ${pieces.length - 1}\n# fail 0\n`)
})

test('the files of the guide to deploying are those of the shop', () => {
  const guide = readFileSync(join(root, 'docs', 'guides', 'deploy.md'), 'utf8')
  const files = ['Dockerfile', 'kubernetes.yaml'].map((name) => readFileSync(join(root, 'examples', 'shop', name), 'utf8'))
  const blocks = [...guide.matchAll(/^```(?:dockerfile|yaml)\n(.*?)^```$/gms)].map(([, code = '']) => code)
  expect(blocks).toHaveLength(3)
  expect(blocks.filter((code) => !files.some((file) => file.includes(code)))).toEqual([])
})

test('the code of the guide to pipelines is examples/pipeline.ts, which draws its picture, and examples/pipeline-rules.ts, whose tests pass', async () => {
  const guide = readFileSync(join(root, 'docs', 'guides', 'pipelines.md'), 'utf8')
  const example = readFileSync(join(root, 'examples', 'pipeline.ts'), 'utf8')
  const pieces = [...guide.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code = '']) => code)
  const rules = pieces.filter((code) => !example.includes(code))
  expect(pieces.length - rules.length).toBeGreaterThan(2)
  expect(rules.join('\n')).toBe(readFileSync(join(root, 'examples', 'pipeline-rules.ts'), 'utf8'))
  expect((await run('--test-reporter=tap', 'examples/pipeline-rules.ts')).stdout).toContain(
    `# pass ${rules.length - 1}\n# fail 0\n`,
  )

  const { stdout } = await run('examples/pipeline.ts')
  const picture = /^flowchart TD\n(?: .*\n)+/.exec(stdout)?.[0]
  expect(guide).toContain(`\`\`\`mermaid\n${picture}\`\`\``)
  expect(stdout).toMatch(/'MIT' +│ \d+/)
  expect(stdout).toMatch(/\d+ to be reviewed\n$/)
})

test('the code of the guide to topics that is typed is examples/topics.ts, where one input that does not fit costs no other', async () => {
  const guide = readFileSync(join(root, 'docs', 'guides', 'topics.md'), 'utf8')
  const [section = ''] = /^## Typed topics\n.*?^## /ms.exec(guide) ?? []
  const pieces = [...section.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code]) => code)
  expect(pieces).toHaveLength(3)
  const example = readFileSync(join(root, 'examples', 'topics.ts'), 'utf8')
  for (const code of pieces) expect(example).toContain(code)
  const { stdout } = await run('examples/topics.ts')
  expect(stdout).toBe('EUR redundant, EUR succeeded, USD succeeded, XXX filtered, NOK failed terminated\n')
})

test('the program in the guide to programs is the one that its example starts', () => {
  const guide = readFileSync(join(root, 'docs', 'guides', 'external-handlers.md'), 'utf8')
  expect(guide).toContain(`\`\`\`js\n${readFileSync(join(root, 'examples', 'programs', 'render.js'), 'utf8')}\`\`\``)
})

test('the commands in the guide to programs do what it shows', async () => {
  const guide = readFileSync(join(root, 'docs', 'guides', 'external-handlers.md'), 'utf8')
  expect(guide).toContain(`\`\`\`sh\n${readFileSync(join(root, 'examples', 'programs', 'thumb.sh'), 'utf8')}\`\`\``)
  const [, shown = ''] = /^```console\n(.*?)^```$/ms.exec(guide) ?? []
  const folder = mkdtempSync(join(tmpdir(), 'guide-'))
  const cli = `'${process.execPath}' --no-warnings --conditions=@taskstream/source '${join(root, 'packages', 'task-cli', 'src', 'cli.ts')}'`
  const commands = [...shown.matchAll(/^\$ (.*)$/gm)].map(([, command]) => `printf '%s\\n' ${quoted(`$ ${command}`)}; ${command}`)
  try {
    const script = [`taskstream() { ${cli} "$@"; }`, 'taskstream migrate up > /dev/null', 'exec 2>&1', ...commands].join('\n')
    const { stdout } = await promisify(execFile)('sh', ['-c', script], {
      cwd: join(root, 'examples', 'programs'),
      env: { ...process.env, TASKSTREAM_URL: `sqlite:${join(folder, 'guide.db')}` },
    })
    const withoutTimes = (text: string): string => text.replaceAll(/\([\d.]+m?s\)/g, '(…)')
    expect(withoutTimes(stdout)).toBe(withoutTimes(shown))
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('the code of the guide to jobs that need others is examples/needs.ts, where a report waits for its pages', async () => {
  const guide = readFileSync(join(root, 'docs', 'guides', 'needs.md'), 'utf8')
  const pieces = [...guide.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code]) => code)
  expect(pieces).toHaveLength(4)
  const example = readFileSync(join(root, 'examples', 'needs.ts'), 'utf8')
  for (const code of pieces) expect(example).toContain(code)
  const { stdout } = await run('examples/needs.ts')
  expect(stdout).toBe('blocked\n400 words and a cover\n500 words, no cover: failed\n')
})

test('the code of the guide to limits is examples/limits.ts, where a fourth letter finds no room, and one that cannot be sent has a copy', async () => {
  const guide = readFileSync(join(root, 'docs', 'guides', 'limits.md'), 'utf8')
  const pieces = [...guide.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code]) => code)
  expect(pieces).toHaveLength(5)
  const example = readFileSync(join(root, 'examples', 'limits.ts'), 'utf8')
  for (const code of pieces) expect(example).toContain(code)
  const { stdout } = await run('examples/limits.ts')
  expect(stdout).toBe(
    "no room for dan: 3 of 3\nletters:letter { to: 'bob' } { topic: 'letters', sequence: 2 }\nletters/2 { to: 'bob' }\n",
  )
})

test('the code of the guide to coordination is examples/coordination.ts, where a node that stands by leads after the other', async () => {
  const guide = readFileSync(join(root, 'docs', 'guides', 'coordination.md'), 'utf8')
  const pieces = [...guide.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code = '']) => code)
  expect(pieces).toHaveLength(4)
  const example = readFileSync(join(root, 'examples', 'coordination.ts'), 'utf8')
  // The last piece needs a server.
  for (const code of pieces.slice(0, 3)) expect(example).toContain(code)
  const { stdout } = await run('examples/coordination.ts')
  expect(stdout).toBe('all sent\nnode-2 leads in term 2\nreport 1, in time\n')
})

test('the code of the guide to TaskLib is examples/tasklib.ts, where one task completes and one fails after its retries', async () => {
  const guide = readFileSync(join(root, 'docs', 'guides', 'tasklib.md'), 'utf8')
  const pieces = [...guide.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code]) => code)
  expect(pieces).toHaveLength(3)
  const example = readFileSync(join(root, 'examples', 'tasklib.ts'), 'utf8')
  for (const code of pieces) expect(example).toContain(code)
  const { stdout } = await run('examples/tasklib.ts')
  expect(stdout).toBe('completed Hello, ann 0\nfailed Error: no such address 2\nfailed cancelled 0\n0 failed of tenant 7\n')
})

test('the code of the guide to asyncjobs is examples/asyncjobs.ts, where tasks complete, are terminated and cannot be reached', async () => {
  const guide = readFileSync(join(root, 'docs', 'guides', 'asyncjobs.md'), 'utf8')
  const pieces = [...guide.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code]) => code)
  expect(pieces).toHaveLength(3)
  const example = readFileSync(join(root, 'examples', 'asyncjobs.ts'), 'utf8')
  for (const code of pieces) expect(example).toContain(code)
  const { stdout } = await run('examples/asyncjobs.ts')
  expect(stdout.split('\n').map((line) => line.replace(/ What it needs.*/, ''))).toEqual([
    'email:new complete sent to ann',
    'email:new terminated no such address',
    "report complete [ 'sent to ann' ]",
    'report unreachable',
    '3 handled',
    '',
  ])
})

test('housekeeping is done each time the clock has submitted it', async () => {
  const { stdout } = await run('examples/housekeeping.ts')
  expect(stdout).toBe('invitations: 2 forgotten\ninvitations: 0 forgotten\n')
})

describe.each([
  ['sqlite', []],
  ['postgres', ['--postgres']],
])('the demo on %s', (engine, options) => {
  test.skipIf(engine === 'postgres' && !process.env['TASKSTREAM_POSTGRES_SERVER'])(
    'audits every package once, and shows tasks recovered and completions refused',
    async () => {
      const { stdout } = await run('examples/demo.ts', '--json', ...options)
      const proof = JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '') as Record<string, number>
      expect(proof).toMatchObject({ engine, duplicates: 0, audited: proof['pushed'] })
      expect(proof['pushed']).toBeGreaterThan(100)
      expect(proof['recovered']).toBeGreaterThan(0)
      expect(proof['refused']).toBeGreaterThan(0)
    },
  )
})

test.each([
  ['exactly-once', "account: 'a', amount: 200"],
  ['shutdown', 'finished: short; returned: long, next; abandoned: none'],
  ['handlers', '{ succeeded: 4, failed: 1, retried: 0 }'],
  ['nodes', 'worker-1 living 4.2.1\ninvoices 0 of 2 busy, 0 ended, 0 failed well\nasked to be quiet: true\nstopped\n'],
  ['clock-jobs', 'counter: 3\n'],
  ['jobs', 'account 7 created duplicate\ncancelled\n'],
  ['jobs', 'true true\n'],
  ['jobs', 'letter: filtered, cancelled\n'],
  ['jobs', 'invitation to eve, mail:newsletter {"edition":7} true\n100 NOK\n'],
  ['signed', 'paid ann 10\nit was changed, or copied from another job or queue'],
  ['external-handlers', 'There is nothing to render\nreport.pdf 1\n'],
  ['retries', 'limited@2: suspended, suspended, succeeded\nbad@3: failed\n'],
  ['timers', 'Mon..Fri 09:00 Europe/Oslo → 2026-03-30T07:00:00.000Z\n'],
])('the code of a guide is in examples/%s.ts, which runs', async (name, printed) => {
  const example = readFileSync(join(root, 'examples', `${name}.ts`), 'utf8')
  const guide = readFileSync(join(root, 'docs', 'guides', name === 'shutdown' ? 'shutting-down.md' : `${name}.md`), 'utf8')
  const pieces = [...guide.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code]) => code)
  expect(pieces.length).toBeGreaterThan(0)
  for (const code of pieces) expect(example).toContain(code)
  const { stdout } = await run(`examples/${name}.ts`)
  expect(stdout).toContain(printed)
})

test('the code of the guide to telemetry is examples/telemetry.ts, which prints what the guide shows, and it names every metric', async () => {
  const guide = readFileSync(join(root, 'docs', 'guides', 'telemetry.md'), 'utf8')
  expect(guide).toContain(`\`\`\`ts\n${readFileSync(join(root, 'examples', 'telemetry.ts'), 'utf8')}\`\`\``)
  const shown = /^```\n(sending inv-1.*?)^```$/ms.exec(guide)?.[1] ?? ''
  const same = (text: string): string => text.replaceAll(/(_id: )'[\da-f]+'/g, '$1')
  expect(same((await run('--no-warnings', 'examples/telemetry.ts')).stdout)).toBe(same(shown))
  for (const metric of allMetrics) expect(guide).toContain(`| \`${metric.name}\` | \`${prometheusName(metric)}\` |`)
})
