/** Statements stay prepared on a connection where that is useful and safe, and a server that has forgotten them causes no failure. */
import { isTaskError, TaskDecision } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import { raw } from '@taskstream/task-sql'
import { fromPg, pgTransactions } from '@taskstream/task-sql/pg'
import pg from 'pg'
import { beforeEach, describe, expect, test } from 'vitest'
import { canRun, subjectName, engine } from '../subject.ts'
import { useFixture } from '@taskstream/task-testing/suite'

/** Partitioned tables prepare nothing, as a plan for every topic locks every partition. A pooler may give the next transaction another server process. */
const prepares = ['postgres-18', 'postgres-given', 'postgres-15'].includes(subjectName)

describe.skipIf(!canRun)('prepared statements', () => {
  const fixture = useFixture(engine)
  let pool: pg.Pool
  beforeEach(async () => {
    pool = new pg.Pool({ connectionString: fixture.subject.location.at, max: 1 })
    pool.on('connect', (client) => client.on('error', () => {}))
    pool.on('error', () => {})
  })

  const polls = async (count: number): Promise<void> => {
    for (let index = 0; index < count; index++) await pgTransactions(pool)((client) => fixture.tasks.poll(client, fixture.topic))
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
    // Statements that other tests of this process have used before are prepared at their first use here.
    if (prepares) expect(await prepared()).toBeGreaterThan(0)
    else expect(await prepared()).toBe(0)
    await pool.end()
  })

  if (prepares)
    test('are planned anew when the table has grown', async () => {
      await polls(3)
      const before = await prepared()
      for (let count = 0; count < 4; count++) await fixture.push(...Array.from({ length: 5_000 }, (_, index) => `i${index}`))
      await polls(3)
      expect(await prepared()).toBeGreaterThan(before)
      await pool.end()
    })

  if (prepares)
    test('are not planned anew each time because the values promise a better plan, however well the table is known', async () => {
      for (let count = 0; count < 3; count++) await fixture.push(...Array.from({ length: 5_000 }, (_, index) => `i${index}`))
      await fixture.complete(await fixture.poll(10_000))
      await fixture.commit((transaction) => fixture.subject.execute(transaction, raw('analyze taskstream.task')))
      const transactions = pgTransactions(pool)
      for (let cycle = 0; cycle < 40; cycle++) {
        await transactions((client) => fixture.tasks.push(client, fixture.topic, 'a'))
        const held = await transactions<HeldTask[]>((client) => fixture.tasks.poll(client, fixture.topic))
        await transactions((client) => fixture.tasks.hold(client, fixture.topic, held))
        const some = new Map(held.map((task) => [task, TaskDecision.success()]))
        await transactions((client) =>
          cycle % 2 === 0
            ? fixture.tasks.complete(client, fixture.topic, some)
            : fixture.tasks.handBack(client, fixture.topic, held),
        )
        await transactions((client) => fixture.tasks.heartbeat(client))
        await transactions((client) => fixture.tasks.promoteDue(client, fixture.topic))
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
    await fixture.push('a')
    await pool.query('discard all')
    let runs = 0
    const taken: string[] = []
    await pgTransactions(pool)(async (client) => {
      runs++
      for (const { identifier } of await fixture.tasks.poll(client, fixture.topic)) taken.push(identifier)
    })
    expect(runs).toBe(prepares ? 2 : 1)
    expect(taken).toEqual(['a'])
    await pool.end()
  })

  test('that were forgotten are told as a conflict in a transaction of one’s own, and the next one does without them', async () => {
    await polls(3)
    await pool.query('discard all')
    const client = await pool.connect()
    await client.query('begin')
    const outcome = await Promise.resolve(fixture.tasks.poll(client, fixture.topic)).then(
      () => 'polled',
      (error: unknown) => isTaskError(error, 'TRANSACTION_CONFLICT'),
    )
    expect(outcome).toBe(prepares ? true : 'polled')
    await client.query('rollback')
    await client.query('begin')
    expect(await fixture.tasks.poll(client, fixture.topic)).toEqual([])
    await client.query('commit')
    client.release()
    await pool.end()
  })
})
