/** What a database is short of for a while is no task's fault: what was done is completed as soon as it can be, and nothing is charged for it. */
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask, TaskError } from '@taskstream/task-api'
import { buffering } from '@taskstream/task-processor'
import type { ProcessOptions, TaskListener } from '@taskstream/task-processor'
import { sql } from '@taskstream/task-sql'
import { beforeAll, describe, expect, test } from 'vitest'
import { useNodeFixture } from '../e2e/fixture.ts'
import { canRun, isMysql, isPostgres, textColumn } from '../subject.ts'
import type { AnyTransaction, Session } from '../subject.ts'
import { ofMysql } from './shortages/mysql.ts'
import { ofPostgres } from './shortages/postgres.ts'
import { ofSqlite } from './shortages/sqlite.ts'

const shortages = isPostgres ? ofPostgres : isMysql ? ofMysql : ofSqlite
const hour = 3_600_000
/** Nothing but what the test is about. */
const quiet = { heartbeatIntervalMs: 20_000, leaseMs: 240_000, maintenanceIntervalMs: 120_000 }
const names = (tasks: readonly { readonly identifier: string }[]): string[] => tasks.map(({ identifier }) => identifier)
/** More than fits on the pages that a file has. */
const done = TaskDecision.success('x'.repeat(60_000))
const succeedAll = (tasks: readonly HeldTask[]): Map<HeldTask, TaskDecision> => new Map(tasks.map((task) => [task, done]))

describe.skipIf(!canRun)('a database that is short of something', () => {
  const fixture = useNodeFixture('passing')
  let looking: Session
  beforeAll(async () => {
    const { subject } = fixture
    looking = await subject.session()
    await subject.transactions((transaction) => subject.execute(transaction, sql`create table effect (identifier ${textColumn})`))
  })

  /** Without a transaction, which somebody may keep from everybody else. */
  const states = async (): Promise<Record<string, number>> => {
    const { tasks, topic } = fixture
    const counts = await tasks.count(looking.transaction, { topic })
    return Object.fromEntries([...(counts.get(topic) ?? [])].map(([state, { count }]) => [state, count]))
  }
  const insertEffects = async (transaction: AnyTransaction, tasks: readonly HeldTask[]): Promise<void> => {
    for (const { topic, identifier } of tasks)
      await fixture.subject.execute(transaction, sql`insert into effect (identifier) values (${`${topic} ${identifier}`})`)
  }
  const effects = async (): Promise<string[]> => {
    const { subject, topic } = fixture
    const rows = await subject.transactions((transaction) =>
      subject.execute(transaction, sql`select identifier from effect where identifier like ${`${topic} %`} order by identifier`),
    )
    return rows.map(({ identifier }) => String(identifier).slice(topic.length + 1))
  }
  /** What is told of completions. */
  const hearing = (): TaskListener & { readonly told: unknown[] } => {
    const told: unknown[] = []
    return {
      told,
      onError: ({ activity, error }) => {
        const { code, data } = error as TaskError
        if (activity === 'complete' || activity === 'handle') told.push([`error ${activity}`, code, data?.['shortOf']])
      },
      onRecovered: ({ activity }) => void (activity === 'complete' && told.push('recovered complete')),
      onLost: ({ tasks }) => void told.push(['lost', names(tasks)]),
    }
  }
  type Process = ProcessOptions<AnyTransaction>
  const forms: readonly [string, (began: (tasks: readonly HeldTask[]) => Promise<void>) => Process][] = [
    ['returned', (began) => ({ concurrency: 1, handler: async (batch) => (await began(batch), succeedAll(batch)) })],
    [
      'written with what the handler writes',
      (began) => ({
        concurrency: 1,
        handler: async (batch, { complete }) => {
          await began(batch)
          await complete(async (transaction, held) => {
            await insertEffects(transaction, held)
            return succeedAll(held)
          })
        },
      }),
    ],
    [
      'of batches of one, from a buffer',
      (began) => {
        let all: HeldTask[] = []
        const gate = Promise.withResolvers<void>()
        const handler = async (batch: readonly HeldTask[]): Promise<Map<HeldTask, TaskDecision>> => {
          all = [...all, ...batch]
          if (all.length === 3) await began(all).then(gate.resolve)
          await gate.promise
          return succeedAll(batch)
        }
        return { size: 1, handler: buffering<AnyTransaction>({ buffer: 0, workers: 3, handler }) }
      },
    ],
  ]

  describe.each(shortages)('$name', ({ open, code, shortOf, ofRows, said }) => {
    test.each(forms)(
      'has what was done completed when it is over, once, and called failed by nobody: decisions %s',
      async (form, options) => {
        await fixture.push('a', 'b', 'c')
        await using short = await open(fixture.subject)
        const listener = hearing()
        const handled: string[] = []
        const node = fixture.nodeOf({ ...quiet, transactions: short.transactions, listener })
        node.process(fixture.topic, {
          idleMs: hour,
          ...options(async (tasks) => {
            handled.push(...names(tasks))
            await short.begin(tasks)
          }),
        })
        await node.start()
        await expect.poll(() => listener.told).toContainEqual(['error complete', code, shortOf])
        expect(await states()).toEqual({ active: 3 })
        await short.end()
        await expect.poll(states).toEqual({ succeeded: 3 })
        expect(handled.toSorted()).toEqual(['a', 'b', 'c'])
        expect((await fixture.page()).map(({ tries }) => tries)).toEqual([1, 1, 1])
        if (form.startsWith('written')) expect(await effects()).toEqual(['a', 'b', 'c'])
        await expect.poll(() => listener.told.at(-1)).toEqual('recovered complete')
        expect(listener.told.filter((one) => Array.isArray(one) && one[0] === 'error handle')).toEqual([])
        expect((await node.stop()).abandoned).toEqual([])
      },
    )

    if (ofRows)
      test('holds up those whose rows it has to do with, and no neighbours of theirs', async () => {
        const identifiers = Array.from({ length: 20 }, (_, index) => `n${index}`)
        await fixture.push(...identifiers)
        await using short = await open(fixture.subject)
        const node = fixture.nodeOf({ ...quiet, transactions: short.transactions })
        node.process(fixture.topic, {
          concurrency: 1,
          idleMs: hour,
          handler: async (batch) => {
            await short.begin(batch.filter(({ identifier }) => identifier === 'n7'))
            return succeedAll(batch)
          },
        })
        await node.start()
        await expect.poll(states).toEqual({ succeeded: 19, active: 1 })
        await short.end()
        await expect.poll(states).toEqual({ succeeded: 20 })
        expect(names((await node.stop()).abandoned)).toEqual([])
      })

    if (ofRows)
      test('holds up no other batches of one', async () => {
        const identifiers = Array.from({ length: 20 }, (_, index) => `n${index}`)
        await fixture.push(...identifiers)
        await using short = await open(fixture.subject)
        const gate = Promise.withResolvers<void>()
        const locked: HeldTask[] = []
        let begun = 0
        const node = fixture.nodeOf({ ...quiet, transactions: short.transactions })
        node.process(fixture.topic, {
          size: 1,
          concurrency: 20,
          idleMs: hour,
          // The first two go their own way, and all others wait behind them.
          handler: async (batch) => {
            if (['n0', 'n1'].includes(batch[0]!.identifier)) locked.push(...batch)
            if (++begun === 20) await short.begin(locked).then(gate.resolve)
            await gate.promise
            return succeedAll(batch)
          },
        })
        await node.start()
        await expect.poll(states).toEqual({ succeeded: 18, active: 2 })
        await short.end()
        await expect.poll(states).toEqual({ succeeded: 20 })
        await node.stop()
      })

    test('is waited for by a stop no longer than that may take, which reports what was held', async () => {
      await fixture.push('a', 'b', 'c')
      await using short = await open(fixture.subject)
      const listener = hearing()
      const { clock, node } = fixture.clocked({ transactions: short.transactions, listener, ...quiet })
      node.process(fixture.topic, {
        concurrency: 1,
        handler: async (batch) => {
          await short.begin(batch)
          return succeedAll(batch)
        },
      })
      await node.start()
      await expect.poll(() => listener.told).toContainEqual(['error complete', code, shortOf])
      const stopping = node.stop()
      let stopped = false
      void stopping.then(() => (stopped = true))
      let passedMs = 0
      await expect.poll(() => (stopped || ((passedMs += 500), clock.advance(500)), stopped), { interval: 10 }).toBe(true)
      // By default a stop may take 22 s. Each of its parts may end a step or two late, and the next begins only then.
      expect(passedMs).toBeLessThanOrEqual(30_000)
      const { finished, returned, abandoned } = await stopping
      expect(names([...finished, ...returned, ...abandoned]).toSorted()).toEqual(['a', 'b', 'c'])
      expect(finished).toEqual([])
      await short.end()
      // Whatever became of the owner: nothing stays held.
      await using other = fixture.nodeOf({ repository: fixture.subject.tasks(), leaseMs: 1_000 })
      other.process(fixture.topic, { handler: succeedAll })
      await other.start()
      await expect.poll(states).toEqual({ succeeded: 3 })
    })

    if (said)
      test('has a transaction that handles tasks begun again, and charges none of them', async () => {
        await fixture.push('a', 'b', 'c')
        await using short = await open(fixture.subject)
        const listener = hearing()
        const handled: string[] = []
        const node = fixture.nodeOf({ ...quiet, transactions: short.transactions, listener })
        node.process(fixture.topic, {
          mode: 'transactional',
          size: 1,
          concurrency: 1,
          idleMs: 20,
          handler: async (batch) => {
            handled.push(...names(batch))
            // The first is held by a lease still.
            if (handled.length === 2) await short.begin(batch)
            return succeedAll(batch)
          },
        })
        await node.start()
        await expect.poll(() => listener.told).toContainEqual(['error complete', code, shortOf])
        await short.end()
        await expect.poll(states).toEqual({ succeeded: 3 })
        expect(handled.filter((identifier) => identifier === handled[1]).length).toBeGreaterThan(1)
        expect((await fixture.page()).map(({ tries }) => tries)).toEqual([1, 1, 1])
        expect(listener.told.filter((one) => Array.isArray(one) && one[0] === 'error handle')).toEqual([])
        expect((await node.stop()).abandoned).toEqual([])
      })
  })
})
