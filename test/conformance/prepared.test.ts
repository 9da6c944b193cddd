/** Where statements stay prepared on a connection, where they must not, and what happens when they are forgotten. */
import { isTaskError, TaskDecision } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import { raw } from '@taskstream/task-sql'
import { fromPg, pgTransactions } from '@taskstream/task-sql/postgres'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { canRun, subjectName } from '../subject.ts'
import { openFixture } from './fixture.ts'
import type { Fixture } from './fixture.ts'

/** A plan for every topic would lock every partition; and behind a pooler the next transaction may find another server process. */
const prepares = subjectName === 'postgres-18' || subjectName === 'postgres-15'

describe.skipIf(!canRun)('prepared statements', () => {
  let it: Fixture
  let pool: pg.Pool
  beforeAll(async () => {
    it = await openFixture()
  })
  afterAll(() => it[Symbol.asyncDispose]())
  beforeEach(async () => {
    await it.nextTopic()
    pool = new pg.Pool({ connectionString: it.subject.location.at, max: 1 })
    pool.on('connect', (client) => client.on('error', () => {}))
    pool.on('error', () => {})
  })

  const polls = async (count: number): Promise<void> => {
    for (let index = 0; index < count; index++) await pgTransactions(pool)((client) => it.tasks.poll(client, it.topic))
  }
  const prepared = (): Promise<number> =>
    pgTransactions(pool)(async (client) => {
      const [row] = await fromPg.execute(
        client,
        raw("select count(*) as count from pg_prepared_statements where name like 'taskstream%'"),
      )
      return Number(row?.['count'])
    })

  test(`${prepares ? 'are kept' : 'are not kept'} from their second use on`, async () => {
    await polls(3)
    expect(await prepared()).toBe(prepares ? 1 : 0)
    await pool.end()
  })

  if (prepares)
    test('are planned anew when the table has grown', async () => {
      await polls(3)
      const before = await prepared()
      for (let count = 0; count < 4; count++) await it.push(...Array.from({ length: 5_000 }, (_, index) => `i${index}`))
      await polls(3)
      expect(await prepared()).toBeGreaterThan(before)
      await pool.end()
    })

  if (prepares)
    test('are not planned anew each time because the values promise a better plan, however well the table is known', async () => {
      for (let count = 0; count < 3; count++) await it.push(...Array.from({ length: 5_000 }, (_, index) => `i${index}`))
      await it.complete(await it.poll(10_000))
      await it.commit((transaction) => it.subject.execute(transaction, raw('analyze taskstream.task')))
      const transactions = pgTransactions(pool)
      for (let cycle = 0; cycle < 40; cycle++) {
        await transactions((client) => it.tasks.push(client, it.topic, 'a'))
        const held = await transactions<HeldTask[]>((client) => it.tasks.poll(client, it.topic))
        await transactions((client) => it.tasks.hold(client, it.topic, held))
        const some = new Map(held.map((task) => [task, TaskDecision.success()]))
        await transactions((client) =>
          cycle % 2 === 0 ? it.tasks.complete(client, it.topic, some) : it.tasks.handBack(client, it.topic, held),
        )
        await transactions((client) => it.tasks.heartbeat(client))
        await transactions((client) => it.tasks.release(client, it.topic))
      }
      const plans = 'select statement, generic_plans, custom_plans from pg_prepared_statements'
      const rows = await transactions((client) => fromPg.execute(client, raw(plans)))
      const used = rows.filter((row) => Number(row['generic_plans']) + Number(row['custom_plans']) > 10)
      expect(used.length).toBeGreaterThan(6)
      expect(used.filter((row) => Number(row['custom_plans']) > 5).map(({ statement }) => statement)).toEqual([])
      await pool.end()
    })

  test('are prepared anew, by running the transaction again, when the connection was made to forget them', async () => {
    await polls(3)
    await pool.query('discard all')
    await pgTransactions(pool)((client) => it.tasks.push(client, it.topic, 'a'))
    const taken: string[] = []
    await pgTransactions(pool)(async (client) => {
      for (const { identifier } of await it.tasks.poll(client, it.topic)) taken.push(identifier)
    })
    expect(taken).toEqual(['a'])
    await pool.end()
  })

  test('that were forgotten are told as a conflict in a transaction of one’s own, and the next one does without them', async () => {
    await polls(3)
    await pool.query('discard all')
    const client = await pool.connect()
    await client.query('begin')
    const outcome = await Promise.resolve(it.tasks.poll(client, it.topic)).then(
      () => 'polled',
      (error: unknown) => isTaskError(error, 'TRANSACTION_CONFLICT'),
    )
    expect(outcome).toBe(prepares ? true : 'polled')
    await client.query('rollback')
    await client.query('begin')
    expect(await it.tasks.poll(client, it.topic)).toEqual([])
    await client.query('commit')
    client.release()
    await pool.end()
  })
})
