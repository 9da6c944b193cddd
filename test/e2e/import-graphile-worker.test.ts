/** What waits in graphile-worker becomes tasks: nothing is lost, and nothing is there twice. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Logger, makeWorkerUtils, runOnce } from 'graphile-worker'
import type { WorkerUtils } from 'graphile-worker'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { canRun, openSubject } from '../subject.ts'
import type { Subject } from '../subject.ts'
import { follow, run } from './command-line.ts'
import { countsOf, query, TargetDatabase } from './import-fixture.ts'
import type { Imported } from './import-fixture.ts'

const quiet = new Logger(() => () => {})

describe.skipIf(!canRun)('from graphile-worker', () => {
  let subject: Subject
  let shared: TargetDatabase
  let pgPool: pg.Pool
  let utils: WorkerUtils
  let folder = ''
  beforeAll(async () => {
    subject = await openSubject()
    shared = await TargetDatabase.create(subject)
    pgPool = new pg.Pool({ connectionString: shared.url, max: 3 })
    pgPool.on('error', () => {})
    pgPool.on('connect', (client) => client.on('error', () => {}))
    utils = await makeWorkerUtils({ pgPool, logger: quiet })
    await utils.migrate()
    folder = mkdtempSync(join(tmpdir(), 'taskstream-import-'))
  })
  afterAll(async () => {
    await utils.release()
    await pgPool.end()
    await shared[Symbol.asyncDispose]()
    await subject[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true, force: true })
  })

  const jobs = 'graphile_worker._private_jobs'
  const fill = (task: string, count: number): Promise<unknown> =>
    utils.addJobs(Array.from({ length: count }, (_, n) => ({ identifier: task, payload: { n } })))
  const waiting = async (task: string): Promise<number> =>
    Number(
      (
        await query(
          shared.url,
          `select count(*) from ${jobs} as j join graphile_worker._private_tasks as t on t.id = j.task_id where t.identifier = $1`,
          [task],
        )
      )[0]!['count'],
    )
  const numbersOf = (text: string): readonly number[] =>
    text
      .split('\n')
      .flatMap((line) => (line === '' ? [] : [(JSON.parse((JSON.parse(line) as { input: string }).input) as { n: number }).n]))

  test('payloads, times, priorities, keys and tries are kept, and what stays or is not kept is named', async () => {
    const later = new Date('2100-01-01T00:00:00Z')
    const fails = (): never => {
      throw new Error('no')
    }
    await utils.addJob('kept', { n: 9 }, { maxAttempts: 1 })
    await utils.addJob('kept', { n: 7 }, { maxAttempts: 5 })
    await runOnce({ pgPool, taskList: { kept: fails }, concurrency: 1, noHandleSignals: true, logger: quiet })
    // The library may go on before it has written that a try failed.
    const failed = `select count(*)::int as count from ${jobs} where last_error is not null and locked_at is null`
    await expect.poll(async () => (await query(shared.url, failed))[0]!['count']).toBe(2)
    // The retry is due in some seconds, as is written in the row; here it is due now.
    await query(shared.url, `update ${jobs} set run_at = now() where attempts = 1 and max_attempts = 5`)
    await utils.addJob('kept', { n: 1 }, { jobKey: 'ann' })
    await utils.addJob('kept', { n: 2 }, { runAt: later })
    await utils.addJob('kept', { n: 3 }, { priority: -5, queueName: 'serial' })
    await utils.addJob('kept', { n: 4 }, { flags: ['slow'] })
    await utils.addJob('kept', { n: 8 })
    await query(shared.url, `update ${jobs} set locked_at = now(), locked_by = 'somebody' where payload::jsonb = '{"n":8}'`)

    await shared.taskstream('topic', 'create', 'kept', '--order', 'priority', '--keyed')
    const done = await shared.import('graphile-worker', 'kept')
    expect(done).toMatchObject({ moved: 5, duplicates: 0, before: { there: 5, here: 0 }, after: { there: 0, here: 5 } })
    expect(countsOf(done.left)).toEqual({ active: 1, 'failed for good': 1 })
    expect(countsOf(done.lost)).toEqual({ 'pauses between tries': 5, 'queue name': 1, flags: 1 })

    const tasks = await shared.tasks('kept')
    expect(tasks.map(({ input }) => (JSON.parse(input!) as { n: number }).n)).toEqual([3, 7, 1, 4, 2])
    expect(tasks.map(({ priority }) => priority)).toEqual([5, 0, 0, 0, 0])
    expect(tasks.map(({ maxTries }) => maxTries)).toEqual([25, 4, 25, 25, 25])
    expect(tasks[2]!.identifier).toBe('ann')
    expect(tasks[4]!.due).toBe(later.toISOString())
  })

  test('the jobs of a named queue stay while a worker holds it', async () => {
    await utils.addJob('held', { n: 1 }, { queueName: 'held queue' })
    await shared.taskstream('topic', 'create', 'held', '--keyed')
    await query(shared.url, `update graphile_worker._private_job_queues set locked_at = now() where queue_name = 'held queue'`)
    const held = await shared.import('graphile-worker', 'held', '--key', 'queue-name')
    expect([held.moved, countsOf(held.left)]).toEqual([0, { 'in a named queue that a worker holds': 1 }])
    await query(shared.url, `update graphile_worker._private_job_queues set locked_at = null where queue_name = 'held queue'`)
    expect((await shared.import('graphile-worker', 'held', '--key', 'queue-name')).moved).toBe(1)
    expect((await shared.tasks('held')).map(({ identifier }) => identifier)).toEqual(['held queue'])
  })

  test('a job that is due when no date is stays and is named, and others of its task move', async () => {
    await fill('endless', 3)
    const set = (what: string, n: number): Promise<unknown> =>
      query(
        shared.url,
        `update ${jobs} set ${what} where (payload->>'n')::int = $1 and task_id = (select id from graphile_worker._private_tasks where identifier = 'endless')`,
        [n],
      )
    await set(`run_at = 'infinity'`, 1)
    await set(`created_at = 'infinity'`, 2)
    const { moved, left } = await shared.import('graphile-worker', 'endless', '--initialize')
    expect([moved, countsOf(left)]).toEqual([2, { 'too large, or due too late': 1 }])
    expect((await shared.tasks('endless')).map(({ input }) => (JSON.parse(input!) as { n: number }).n).toSorted()).toEqual([0, 2])
  })

  test('a job whose key has the character NUL goes by its own id, as no text here can have that', async () => {
    for (const customer of ['a', 'a\0b', 'a']) await utils.addJob('nul', { customer })
    const { moved, left } = await shared.import('graphile-worker', 'nul', '--initialize', '--key', 'input.customer')
    expect([moved, left]).toEqual([3, []])
    const tasks = await shared.tasks('nul')
    expect(tasks.map(({ identifier, externalId }) => (identifier === externalId ? 'its id' : identifier))).toEqual([
      'a',
      'its id',
      'a',
    ])
    expect(tasks.map(({ input }) => (JSON.parse(input!) as { customer: string }).customer)).toEqual(['a', 'a\0b', 'a'])
  })

  test('killed at any moment and given again, each job is a task once, also in a file of SQLite', async () => {
    const url = `sqlite:${join(folder, 'target.db')}`
    await run(['migrate', 'up', '--url', url])
    await run(['topic', 'create', 'many', '--url', url])
    await fill('many', 600)
    const args = ['import', 'graphile-worker', 'many', '--from', shared.url, '--url', url, '--portion', '10', '--yes']
    for (let kills = 0; kills < 3; kills++) {
      const before = await waiting('many')
      const command = follow(args)
      await expect.poll(() => waiting('many'), { interval: 1, timeout: 30_000 }).toBeLessThan(before)
      // The portions are small, so that it is at work on others.
      await command[Symbol.asyncDispose]()
    }
    const { out } = await run([...args, '-o', 'json'])
    expect(await waiting('many')).toBe(0)
    expect((JSON.parse(out) as Imported).after).toEqual({ there: 0, here: 600 })
    const { out: lines } = await run(['export', 'many', '--reveal', '--url', url])
    expect(numbersOf(lines).toSorted((left, right) => left - right)).toEqual(Array.from({ length: 600 }, (_, n) => n))
    expect(JSON.parse((await run([...args, '-o', 'json'])).out)).toMatchObject({ moved: 0, after: { there: 0, here: 600 } })
  })

  test('Ctrl-C ends after the running portion, and says how to go on', async () => {
    await fill('stopped', 400)
    await shared.taskstream('topic', 'create', 'stopped')
    await using command = follow(['import', 'graphile-worker', 'stopped', '--portion', '1', '--yes', '--url', shared.url])
    await expect.poll(() => waiting('stopped'), { interval: 1, timeout: 30_000 }).toBeLessThan(400)
    const { code, err } = await command.interrupt()
    expect([code, err]).toEqual([
      130,
      expect.stringMatching(/stopped after \d+ of 400; go on with: taskstream import graphile-worker stopped/),
    ])
    const rest = await waiting('stopped')
    expect(Number(/stopped after (\d+)/.exec(err)![1])).toBe(400 - rest)
    expect((await shared.import('graphile-worker', 'stopped')).moved).toBe(rest)
    expect(await shared.tasks('stopped')).toHaveLength(400)
  })
})
