/** An external id is pushed once: a rival that pushes it at the same time waits for the first transaction, and acts on its outcome. */
import type { PushedTask, TransactionSource } from '@taskstream/task-api'
import { sql } from '@taskstream/task-sql'
import { sqliteTransactions } from '@taskstream/task-sql/better-sqlite3'
import { describe, expect } from 'vitest'
import { canRun, engine, isPostgres } from '../subject.ts'
import type { AnyTransaction, Session } from '../subject.ts'
import { testOn } from '../test-on.ts'
import { codeOf, useFixture } from '@taskstream/task-testing/suite'
import type { Fixture } from '@taskstream/task-testing/suite'

/** The rival's outcome, for each end of the first transaction. */
const ends = [
  { end: 'commit', outcome: 'duplicate' },
  { end: 'rollback', outcome: 'created' },
] as const

describe.skipIf(!canRun)('an external id', () => {
  const fixture = useFixture(engine)

  describe.each(ends)('that is pushed by two at once is pushed once: at a $end of the first', ({ end, outcome }) => {
    const creation = { identifier: 'a', externalId: 'rival' }
    const pushIn = async (transaction: AnyTransaction): Promise<PushedTask> => {
      const [pushed] = (await fixture.tasks.push(transaction, fixture.topic, creation)) as PushedTask[]
      return pushed!
    }
    /** Expects that the rival's outcome fits the end of the first transaction, and that there is one task. */
    const expectOne = async (first: PushedTask, rival: PushedTask): Promise<void> => {
      expect([first.outcome, rival.outcome]).toEqual(['created', outcome])
      const [info, ...others] = await fixture.page()
      expect([info?.sequence, others]).toEqual([rival.sequence, []])
      if (end === 'commit') expect(rival.sequence).toBe(first.sequence)
    }

    testOn(['postgres', 'mariadb', 'mysql'])(
      'the second waits in its push, as the server says, and acts on the outcome',
      async () => {
        const [first, second] = [await fixture.subject.session(), await fixture.subject.session()]
        await first.begin()
        const pushed = await pushIn(first.transaction)
        await second.begin()
        const isWaiting = await waitingOf(fixture, second)
        let told = false
        const pushing = pushIn(second.transaction).finally(() => (told = true))
        // InnoDB repeats its last answer until nobody has asked for 100 ms.
        await expect.poll(async () => told || (await isWaiting()), { interval: isPostgres ? 1 : 150 }).toBe(true)
        expect(told).toBe(false)
        await first[end]()
        const rival = await pushing
        await second.commit()
        await expectOne(pushed, rival)
      },
    )

    testOn(['sqlite-file', 'node-sqlite'])(
      'the second is told on SQLite that another is writing; in a transaction of its own it waits for that one to end',
      async () => {
        const [first, second] = [await fixture.subject.session(), await fixture.subject.session()]
        await first.begin()
        const pushed = await pushIn(first.transaction)
        expect(await codeOf(() => pushIn(second.transaction))).toBe('DATABASE_BUSY')
        let refusals = 0
        const source = sqliteTransactions({
          exec: (text: string): unknown => {
            try {
              return second.transaction.exec(text)
            } catch (error) {
              refusals++
              throw error
            }
          },
          prepare: (text: string): unknown => second.transaction.prepare(text),
        }) as TransactionSource<AnyTransaction>
        let began = false
        const pushing = source(() => {
          began = true
          return pushIn(second.transaction)
        })
        await expect.poll(() => refusals, { interval: 1 }).toBeGreaterThan(2)
        expect(began).toBe(false)
        await first[end]()
        await expectOne(pushed, await pushing)
      },
    )

    testOn(['sqlite-memory', 'sqlite-file', 'node-sqlite', 'libsql', 'testing', 'pglite'])(
      'the second transaction of one connection begins when the first has ended',
      async () => {
        const undone = new Error('undone')
        const goOn = Promise.withResolvers<void>()
        const begun = Promise.withResolvers<PushedTask>()
        const first = fixture.commit(async (transaction) => {
          begun.resolve(await pushIn(transaction))
          await goOn.promise
          if (end === 'rollback') throw undone
        })
        const pushed = await begun.promise
        let ended = false
        const seen: boolean[] = []
        const pushing = fixture.commit((transaction) => {
          seen.push(ended)
          return pushIn(transaction)
        })
        await new Promise((resolve) => setImmediate(resolve))
        expect(seen).toEqual([])
        ended = true
        goOn.resolve()
        await first.catch((error: unknown) => expect(error).toBe(undone))
        await expectOne(pushed, await pushing)
        expect(seen).toEqual([true])
      },
    )
  })
})

/** Returns a function that asks the server whether the connection of an open transaction waits for a lock. */
async function waitingOf({ subject, commit }: Fixture, { transaction }: Session): Promise<() => Promise<boolean>> {
  const [own] = await subject.execute(
    transaction,
    isPostgres ? sql`select pg_backend_pid() as id` : sql`select connection_id() as id`,
  )
  const id = Number(own?.['id'])
  const waits = isPostgres
    ? sql`select cardinality(pg_blocking_pids(${id}::int)) as count`
    : sql`select count(*) as count from information_schema.innodb_trx where trx_state = 'LOCK WAIT' and trx_mysql_thread_id = ${id}`
  return async () => {
    const [row] = await commit((other) => subject.execute(other, waits))
    return Number(row?.['count']) > 0
  }
}
