/** What waits in pg-boss becomes tasks: nothing is lost, and nothing is there twice, wherever the command was killed. */
import { PgBoss } from 'pg-boss'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { canRun, openSubject } from '../subject.ts'
import type { Subject } from '../subject.ts'
import { follow } from './command-line.ts'
import { countsOf, query, TargetDatabase } from './import-fixture.ts'

describe.skipIf(!canRun)('from pg-boss', () => {
  let subject: Subject
  let shared: TargetDatabase
  let boss: PgBoss
  beforeAll(async () => {
    subject = await openSubject()
    shared = await TargetDatabase.create(subject)
    boss = new PgBoss({ connectionString: shared.url, supervise: false, schedule: false, max: 2 })
    boss.on('error', () => {})
    await boss.start()
  })
  afterAll(async () => {
    await boss.stop({ graceful: false })
    await shared[Symbol.asyncDispose]()
    await subject[Symbol.asyncDispose]()
  })

  const fill = async (queue: string, count: number): Promise<readonly string[]> => {
    await boss.createQueue(queue)
    const ids = await boss.insert(
      queue,
      Array.from({ length: count }, (_, n) => ({ data: { n } })),
      { returnId: true },
    )
    return ids!
  }
  const waiting = async (queue: string): Promise<number> =>
    Number((await query(shared.url, `select count(*) from pgboss.job where name = $1`, [queue]))[0]!['count'])
  /** What each task of a topic was there. Jobs of one `insert` have no order. */
  const numbers = async (target: TargetDatabase, topic: string): Promise<readonly number[]> =>
    (await target.tasks(topic))
      .map(({ input }) => (JSON.parse(input!) as { n: number }).n)
      .toSorted((left, right) => left - right)
  const counting = (count: number): readonly number[] => Array.from({ length: count }, (_, n) => n)

  test('payloads, times, priorities, keys, tries and timeouts are kept, and what stays or is not kept is named', async () => {
    await boss.createQueue('kept', { retryLimit: 3, retryDelay: 30 })
    const later = new Date('2100-01-01T00:00:00Z')
    await boss.send('kept', { n: 9 }, { retryLimit: 0 })
    const [lost] = await boss.fetch('kept')
    await boss.fail('kept', lost!.id)
    await boss.send('kept', { n: 8 })
    await boss.fetch('kept')
    await boss.send('kept', { n: 7 }, { retryDelay: 0 })
    const [tried] = await boss.fetch('kept')
    await boss.fail('kept', tried!.id)
    await boss.send('kept', { n: 1, text: 'Grüße "😀"' }, { singletonKey: 'ann', expireInSeconds: 60 })
    await boss.send('kept', { n: 2 }, { startAfter: later, retryLimit: 0 })
    await boss.send('kept', { n: 3 }, { priority: 10, group: { id: 'g' } })
    await boss.send('kept')
    await boss.schedule('kept', '0 3 * * *')

    await shared.taskstream('topic', 'create', 'kept', '--order', 'priority', '--keyed')
    const dry = await shared.import('pg-boss', 'kept', '--dry-run')
    expect(dry).toMatchObject({ moved: 0, before: { there: 5, here: 0 }, after: { there: 5, here: 0 } })
    const done = await shared.import('pg-boss', 'kept')
    expect(done).toMatchObject({ moved: 5, duplicates: 0, before: { there: 5, here: 0 }, after: { there: 0, here: 5 } })
    for (const report of [dry, done]) {
      expect(countsOf(report.left)).toEqual({ active: 1, failed: 1, schedules: 1 })
      expect(countsOf(report.lost)).toEqual({ 'pauses between tries': 3, group: 1 })
    }

    const tasks = await shared.tasks('kept')
    expect(tasks.map(({ input }) => (input === undefined ? undefined : (JSON.parse(input) as { n: number }).n))).toEqual([
      3,
      7,
      1,
      2,
      undefined,
    ])
    const [first, again, ann, delayed, empty] = tasks
    expect(first).toMatchObject({ priority: 10, maxTries: 4, headers: { timeoutMs: 900_000 } })
    expect(again).toMatchObject({ maxTries: 3, state: 'ready' })
    expect(ann).toMatchObject({ identifier: 'ann', headers: { timeoutMs: 60_000 } })
    expect(JSON.parse(ann!.input!)).toEqual({ n: 1, text: 'Grüße "😀"' })
    expect(delayed).toMatchObject({ due: later.toISOString(), maxTries: 1 })
    expect(Date.parse(delayed!.deadline!)).toBeGreaterThan(later.getTime())
    expect(empty!.identifier).toBe(empty!.externalId)

    expect(await shared.import('pg-boss', 'kept')).toMatchObject({
      moved: 0,
      before: { there: 0, here: 5 },
      after: { there: 0, here: 5 },
    })
  })

  test('a killed portion leaves its jobs where they were, and the next run moves all that is left', async () => {
    await fill('killed', 120)
    await shared.taskstream('topic', 'create', 'killed')
    // The second portion waits for this lock with its jobs deleted and its tasks not yet there.
    await shared.import('pg-boss', 'killed', '--limit', '50', '--portion', '20')
    expect([await waiting('killed'), (await numbers(shared, 'killed')).length]).toEqual([70, 50])
    await holding(shared.url, 'lock table taskstream.task in exclusive mode', async () => {
      await using command = follow(['import', 'pg-boss', 'killed', '--portion', '20', '--yes', '--url', shared.url])
      await expect.poll(() => blocked(shared.url), { timeout: 30_000 }).toBe(1)
      await command[Symbol.asyncDispose]()
      await endBlocked(shared.url)
    })
    expect([await waiting('killed'), (await numbers(shared, 'killed')).length]).toEqual([70, 50])
    expect(await shared.import('pg-boss', 'killed')).toMatchObject({ moved: 70, duplicates: 0, after: { there: 0, here: 120 } })
    expect(await numbers(shared, 'killed')).toEqual(counting(120))
    expect(await shared.import('pg-boss', 'killed')).toMatchObject({ moved: 0, after: { there: 0, here: 120 } })
  })

  test('jobs of another database are moved, and those that are on both sides after a kill are recognized', async () => {
    await using other = await TargetDatabase.create(subject)
    await fill('far', 60)
    await other.taskstream('topic', 'create', 'far')
    await query(
      shared.url,
      `create function wait_for_test() returns trigger language plpgsql as $$ begin perform pg_advisory_xact_lock(4711); return null; end $$;
       create constraint trigger waits after delete on pgboss.job deferrable initially deferred for each row
       when (old.name = 'far') execute function wait_for_test()`,
    )
    try {
      // The commit that deletes the jobs waits, when their tasks are committed already.
      await holding(shared.url, 'select pg_advisory_xact_lock(4711)', async () => {
        const from = ['--from', shared.url, '--portion', '25']
        await using command = follow(['import', 'pg-boss', 'far', ...from, '--yes', '--url', other.url])
        await expect.poll(() => blocked(shared.url), { timeout: 30_000 }).toBe(1)
        await command[Symbol.asyncDispose]()
        await endBlocked(shared.url)
      })
    } finally {
      await query(shared.url, 'drop function wait_for_test cascade')
    }
    expect([await waiting('far'), (await numbers(other, 'far')).length]).toEqual([60, 25])
    expect(await other.import('pg-boss', 'far', '--from', shared.url)).toMatchObject({
      moved: 60,
      duplicates: 25,
      before: { there: 60, here: 25 },
      after: { there: 0, here: 60 },
    })
    expect(await numbers(other, 'far')).toEqual(counting(60))
    expect(await other.import('pg-boss', 'far', '--from', shared.url)).toMatchObject({ moved: 0, after: { there: 0, here: 60 } })
  })

  test('a job that is due when no date is stays and is named, and others of its queue move', async () => {
    const [, never, kept, odd] = await fill('endless', 4)
    const set = (what: string, id: string): Promise<unknown> =>
      query(shared.url, `update pgboss.job set ${what} where id = $1`, [id])
    await set(`start_after = 'infinity'`, never!)
    await set(`keep_until = 'infinity'`, kept!)
    await set(`created_on = '-infinity'`, odd!)
    const { moved, left } = await shared.import('pg-boss', 'endless', '--initialize')
    expect([moved, countsOf(left)]).toEqual([3, { 'too large, or due too late': 1 }])
    expect(await numbers(shared, 'endless')).toEqual([0, 2, 3])
  })

  test('a job whose id was free again is another job', async () => {
    const id = '6f7c1d5e-0a2b-4c3d-8e4f-5a6b7c8d9e0f'
    await boss.createQueue('again')
    for (const n of [1, 2]) {
      await boss.send('again', { n }, { id })
      expect(await shared.import('pg-boss', 'again', '--initialize')).toMatchObject({ moved: 1, duplicates: 0 })
    }
    expect(await numbers(shared, 'again')).toEqual([1, 2])
  })

  test('a field of the payload becomes the identifier, and a dry run makes no topic', async () => {
    await boss.createQueue('orders')
    await boss.send('orders', { order: 7 })
    await boss.send('orders', { order: 'A-8' })
    await boss.send('orders', { order: null })
    const args = ['pg-boss', 'orders', '--topic', 'shipments', '--key', 'input.order', '--names', '--initialize']
    expect(countsOf((await shared.import(...args, '--dry-run')).lost)).toEqual({ key: 2 })
    expect((await shared.taskstream('topic', 'options', 'shipments')).code).toBe(3)
    expect(await shared.import(...args)).toMatchObject({ moved: 3 })
    const tasks = await shared.tasks('shipments')
    expect(tasks.map(({ identifier, externalId }) => (identifier === externalId ? 'none' : identifier))).toEqual([
      '7',
      'A-8',
      'none',
    ])
    expect(tasks.map(({ headers }) => headers!['job'])).toEqual(['orders', 'orders', 'orders'])
  })

  test('what is misspelt or missing is refused by name, before anything is written', async () => {
    await fill('named', 1)
    const refused = async (...args: readonly string[]): Promise<readonly [number | null, string]> => {
      const { code, err } = await shared.taskstream('import', ...args, '--yes')
      return [code, err]
    }
    expect(await refused('pg-boss', 'nmaed')).toEqual([
      3,
      expect.stringMatching(/^error: no queue "nmaed" .*did you mean named\?/),
    ])
    expect(await refused('pg-boss', 'named')).toEqual([3, expect.stringMatching(/^error: no topic "named"/)])
    expect(await refused('pg-boss', 'named', '--key', 'job-key')).toEqual([
      2,
      expect.stringContaining('singleton-key, group, or input.<field>'),
    ])
    expect(await refused('pg-boss', 'named', '--from-schema', 'nowhere')).toEqual([
      5,
      expect.stringMatching(/no tables of pg-boss in the schema "nowhere"/),
    ])
    expect(await refused('pg-boss', 'named', '--from-schema', 'a"; drop table x')).toEqual([2, expect.any(String)])
    expect(await refused('pg-boss', 'named', '--from', 'redis://localhost')).toEqual([2, expect.stringContaining('postgres://')])
    expect(await waiting('named')).toBe(1)
  })
})

/** Holds what a statement locks while something runs. */
async function holding(url: string, statement: string, work: () => Promise<void>): Promise<void> {
  const { default: pg } = await import('pg')
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query('begin')
    await client.query(statement)
    await work()
  } finally {
    await client.end()
  }
}

/** How many sessions of a database wait for a lock. */
async function blocked(url: string): Promise<number> {
  const [row] = await query(
    url,
    `select count(*) from pg_stat_activity where datname = current_database() and cardinality(pg_blocking_pids(pid)) > 0`,
  )
  return Number(row!['count'])
}

/** Ends the sessions that wait: the server does not notice that their process is dead. */
async function endBlocked(url: string): Promise<void> {
  await query(
    url,
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and cardinality(pg_blocking_pids(pid)) > 0`,
  )
  await expect.poll(() => blocked(url)).toBe(0)
}
