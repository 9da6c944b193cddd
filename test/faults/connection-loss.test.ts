/**
 * Connections are lost at drawn moments: before, during and after every statement, and before the answer to a commit. What was
 * not committed never was; whoever tries again neither loses a task nor applies an effect twice.
 */
import { TaskDecision } from '@taskstream/task-api'
import type { Completion, HeldTask, Holding, PushedTask, TransactionSource } from '@taskstream/task-api'
import { raw, sql } from '@taskstream/task-sql'
import { pgTransactions } from '@taskstream/task-sql/pg'
import * as fc from 'fast-check'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { codeOf, openFixture } from '@taskstream/task-testing/suite'
import type { Fixture } from '@taskstream/task-testing/suite'
import { canRun, engine } from '../subject.ts'
import type { AnyTransaction, Session, Subject } from '../subject.ts'
import { amountOf } from '../tiers.ts'

const losses = Number(process.env['TASKSTREAM_LOSSES'] ?? amountOf('losses'))
const seed = Number(process.env['TASKSTREAM_SEED'] ?? Math.trunc(Math.random() * 2 ** 31))
const errands = ['push', 'poll', 'complete'] as const
const moments = ['before its statement', 'during its statement', 'before its commit'] as const
type Errand = (typeof errands)[number]
type Moment = (typeof moments)[number]

describe.skipIf(!canRun)('connections that are lost', () => {
  let fixture: Fixture<Subject>
  let gate: Session
  let pool: pg.Pool
  let once: TransactionSource<AnyTransaction>
  beforeAll(async () => {
    fixture = await openFixture(engine)
    pool = new pg.Pool({ connectionString: fixture.subject.location.at })
    pool.on('error', () => {})
    // Every loss is to be seen, and none mended on the way.
    once = pgTransactions(pool, { retries: 0 })
    gate = await fixture.subject.session()
    await fixture.commit((transaction) => fixture.subject.execute(transaction, sql`create table effect (identifier text)`))
  })
  afterAll(async () => {
    await pool.end()
    await fixture[Symbol.asyncDispose]()
  })
  beforeEach(() => fixture.nextTopic())

  const scalar = async (transaction: AnyTransaction, statement: ReturnType<typeof sql>): Promise<number> => {
    const [row] = await fixture.subject.execute(transaction, statement)
    return Number(Object.values(row ?? {})[0])
  }
  const pidOf = (transaction: AnyTransaction): Promise<number> => scalar(transaction, sql`select pg_backend_pid()`)
  /** Returns when the server has let go of the connection and of all that it had locked. */
  const cut = (pid: number): Promise<unknown> =>
    fixture.commit((transaction) => fixture.subject.execute(transaction, sql`select pg_terminate_backend(${pid}::int, 10000)`))
  const cutAsItWaits = async (pid: number): Promise<void> => {
    const blockers = sql`select cardinality(pg_blocking_pids(${pid}::int))`
    await expect.poll(() => fixture.commit((transaction) => scalar(transaction, blockers)), { interval: 1 }).toBeGreaterThan(0)
    await cut(pid)
  }
  const writeEffects = async (transaction: AnyTransaction, batch: readonly HeldTask[]): Promise<void> => {
    for (const { identifier } of batch)
      await fixture.subject.execute(transaction, sql`insert into effect (identifier) values (${identifier})`)
  }
  const effects = async (): Promise<string[]> =>
    (
      await fixture.commit((transaction) =>
        fixture.subject.execute(transaction, sql`select identifier from effect order by identifier`),
      )
    ).map(({ identifier }) => String(identifier))

  const completeAll = async (transaction: AnyTransaction, batch: readonly HeldTask[]): Promise<void> => {
    const decisions = new Map(batch.map((task) => [task, TaskDecision.success()]))
    await fixture.tasks.complete(transaction, fixture.topic, decisions, { strict: true })
  }

  test(`leave no trace of what was not committed (${losses} losses, seed ${seed})`, async () => {
    let pushed = 0
    let batch: HeldTask[] = []
    const run = (errand: Errand, lose?: Moment): Promise<HeldTask[]> =>
      once(async (transaction) => {
        const pid = await pidOf(transaction)
        if (errand === 'complete') await writeEffects(transaction, batch)
        if (lose === 'before its statement') await cut(pid)
        const statement =
          errand === 'push'
            ? fixture.tasks.push(transaction, fixture.topic, [`t${pushed}`, `t${pushed + 1}`, `t${pushed + 2}`])
            : errand === 'poll'
              ? fixture.tasks.poll(transaction, fixture.topic, { size: 3 })
              : completeAll(transaction, batch)
        if (lose === 'during its statement') await Promise.all([statement, cutAsItWaits(pid)])
        const result = await statement
        if (lose === 'before its commit') await cut(pid)
        return errand === 'poll' ? (result as HeldTask[]) : []
      })
    const lost = async (errand: Errand, moment: Moment): Promise<void> => {
      const before = [await fixture.page(), await effects()]
      if (moment === 'during its statement') {
        await gate.begin()
        await fixture.subject.execute(gate.transaction, raw('lock table taskstream.task in exclusive mode'))
      }
      const outcome = await codeOf(() => run(errand, moment))
      if (moment === 'during its statement') await gate.rollback()
      expect(outcome, `${errand}, lost ${moment}`).toBe('DATABASE_UNAVAILABLE')
      expect([await fixture.page(), await effects()]).toEqual(before)
    }
    // How often each errand fails before it succeeds, and where: every pair in turn, in an order that the seed draws.
    const kinds = errands.flatMap((errand) => moments.map((moment) => ({ errand, moment })))
    const plan = Array.from({ length: losses }, (_, index) => kinds[index % kinds.length]!)
    const [drawn = plan] = fc.sample(fc.shuffledSubarray(plan, { minLength: losses }), { seed, numRuns: 1 })
    const left = new Map(errands.map((errand) => [errand, drawn.filter((kind) => kind.errand === errand)]))
    const tally = new Map<string, number>()
    while ([...left.values()].some((kind) => kind.length > 0)) {
      for (const errand of errands) {
        for (const { moment } of left.get(errand)!.splice(0, 2)) {
          await lost(errand, moment)
          tally.set(`${errand} ${moment}`, (tally.get(`${errand} ${moment}`) ?? 0) + 1)
        }
        const polled = await run(errand)
        if (errand === 'push') pushed += 3
        if (errand === 'poll') {
          expect(polled.map(({ identifier }) => identifier)).toEqual([`t${pushed - 3}`, `t${pushed - 2}`, `t${pushed - 1}`])
          batch = polled
        }
      }
    }
    expect(await fixture.states()).toEqual({ succeeded: pushed })
    expect(await effects()).toEqual(Array.from({ length: pushed }, (_, index) => `t${index}`).toSorted())
    expect([...tally.values()].reduce((sum, count) => sum + count, 0)).toBe(losses)
    expect([...tally.keys()].toSorted()).toEqual(kinds.map(({ errand, moment }) => `${errand} ${moment}`).toSorted())
    console.log(
      `${losses} losses, ${pushed} tasks, seed ${seed}; ${[...tally].map(([kind, count]) => `${kind}: ${count}`).join(', ')}`,
    )
  })

  describe('before the answer to a commit came', () => {
    /** Commits, and loses the connection before it says so. */
    const unanswered = async <Result>(work: (transaction: AnyTransaction) => Result | Promise<Result>): Promise<unknown> => {
      const client = new pg.Client({ connectionString: fixture.subject.location.at })
      client.on('error', () => {})
      await client.connect()
      const query = client.query.bind(client) as (text: string, values: unknown[]) => Promise<{ rows: [] }>
      const pool = {
        connect: async () => ({
          on: client.on.bind(client),
          off: client.off.bind(client),
          release: () => void client.end(),
          query: async (text: string, values: unknown[]) => {
            const answer = await query(text, values)
            if (text === 'commit') {
              await cut(Number((client as unknown as { processID: number }).processID))
              return query('select 1', [])
            }
            return answer
          },
        }),
      }
      const source = pgTransactions(pool as unknown as Parameters<typeof pgTransactions>[0]) as TransactionSource<AnyTransaction>
      return codeOf(() => source(work))
    }

    test('let a push with external ids be repeated without doubling it', async () => {
      const creations = ['a', 'b'].map((identifier) => ({ identifier, externalId: identifier }))
      expect(await unanswered((transaction) => fixture.tasks.push(transaction, fixture.topic, creations))).toBe(
        'DATABASE_UNAVAILABLE',
      )
      const again = (await fixture.push(...creations)) as PushedTask[]
      expect(again.map(({ outcome }) => outcome)).toEqual(['duplicate', 'duplicate'])
      expect(await fixture.states()).toEqual({ ready: 2 })
    })

    test('let the tasks of a poll be reclaimed', async () => {
      await fixture.push('a', 'b', 'c')
      const known = await fixture.poll(1)
      expect(await unanswered((transaction) => fixture.tasks.poll(transaction, fixture.topic, { size: 5 }))).toBe(
        'DATABASE_UNAVAILABLE',
      )
      expect(await fixture.states()).toEqual({ active: 3 })
      expect(await fixture.commit((transaction) => fixture.tasks.reclaim(transaction, fixture.topic, known))).toBe(2)
      expect((await fixture.poll()).map(({ identifier, tries }) => [identifier, tries])).toEqual([
        ['b', 1],
        ['c', 1],
      ])
    })

    test('let a completion be repeated without a second effect', async () => {
      await fixture.push('only')
      const batch = await fixture.poll()
      const work = async (transaction: AnyTransaction): Promise<Completion> => {
        const { held } = (await fixture.tasks.hold(transaction, fixture.topic, batch)) as Holding
        await writeEffects(transaction, held)
        return (await fixture.tasks.complete(
          transaction,
          fixture.topic,
          new Map(held.map((task) => [task, TaskDecision.success()])),
        )) as Completion
      }
      expect(await unanswered(work)).toBe('DATABASE_UNAVAILABLE')
      expect(await fixture.commit(work)).toEqual({ completed: [], lost: [] })
      expect((await effects()).filter((identifier) => identifier === 'only')).toEqual(['only'])
      expect(await fixture.states()).toEqual({ succeeded: 1 })
    })
  })
})
