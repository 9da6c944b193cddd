/** The programs of the guides: jobs of the one are moved, and handled by the other. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { spawn } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startRedis, withoutRedis } from '../redis.ts'
import { canRun, openSubject } from '../subject.ts'
import type { Subject } from '../subject.ts'
import { output, run } from './command-line.ts'
import { exampleArguments, runExample, TargetDatabase } from './import-fixture.ts'

describe.skipIf(!canRun)('the programs of the guides', () => {
  let subject: Subject
  beforeAll(async () => void (subject = await openSubject()))
  afterAll(() => subject[Symbol.asyncDispose]())

  /** Runs a program until it has printed all of this, and what it has printed. */
  const printed = async (name: string, env: Readonly<Record<string, string>>, lines: readonly string[]): Promise<void> => {
    await using program = output(spawn(process.execPath, exampleArguments(name), { env: { ...process.env, ...env } }))
    for (const line of lines) await program.until(new RegExp(`^${line}$`, 'm'))
  }
  const moved = ['ann: Welcome', 'eve: Your code is 1234']
  const pushed = ['dan: Welcome', 'kai: Your code is 5678']

  test.each([
    ['pg-boss', []],
    ['graphile-worker', ['--key', 'queue-name']],
  ])('jobs of %s are handled, and a delayed one waits', async (library, options) => {
    await using target = await TargetDatabase.create(subject)
    const env = { DATABASE_URL: target.url }
    await runExample(`${library}-before`, env)
    const condition = library === 'graphile-worker' ? ['--condition', 'singular-by-identifier'] : []
    await target.taskstream('topic', 'create', 'letter', '--order', 'priority', '--keyed', ...condition)
    expect(await target.import(library, 'letter', ...options)).toMatchObject({ moved: 3, after: { there: 0, here: 3 }, left: [] })
    await printed(library, env, [...moved, ...pushed])
    const delayed = (await target.tasks('letter')).filter(({ due, state }) => due?.startsWith('2100') && state === 'suspended')
    expect(delayed.map(({ input }) => (JSON.parse(input!) as { to: string }).to)).toEqual(['bob', 'ida'])
  })

  test.skipIf(withoutRedis)('jobs of bullmq are handled, and a delayed one waits', async () => {
    await using redis = await startRedis()
    const folder = mkdtempSync(join(tmpdir(), 'taskstream-coming-'))
    try {
      const file = join(folder, 'shop.db')
      const url = ['--url', `sqlite:${file}`]
      await runExample('bullmq-before', { REDIS_URL: redis.url })
      await run(['migrate', 'up', ...url])
      await run(['topic', 'create', 'mail', '--order', 'priority', '--keyed', ...url])
      const { out } = await run(['import', 'bullmq', 'mail', '--names', '--from', redis.url, '--yes', '-o', 'json', ...url])
      expect(JSON.parse(out)).toMatchObject({ moved: 3, after: { there: 0, here: 3 } })
      await printed('bullmq', { DATABASE_FILE: file }, ['ann: Welcome', 'edition 7', 'dan: Welcome', 'edition 8'])
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
})
