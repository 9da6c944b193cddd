/** Verbs pass over rows that another transaction has locked: nobody waits for these rows, and they are found once they are free. */
import { isTaskError, TaskDecision } from '@taskstream/task-api'
import type { Expiry, HeldTask, PushedTask, RecreatedTask, Redrive, PromotedDue, TopicOptions } from '@taskstream/task-api'
import { raw, sql } from '@taskstream/task-sql'
import { describe, expect, test } from 'vitest'
import { canRun, engine, isPostgres } from '../subject.ts'
import type { AnyTransaction } from '../subject.ts'
import { openFixture, whileTested } from '@taskstream/task-testing/suite'

const task = raw(isPostgres ? 'taskstream.task' : 'task')

interface Case {
  readonly options?: TopicOptions
  /** Prepares one task for the verb. */
  readonly prepare: () => Promise<unknown>
  /** @returns how many tasks the verb found */
  readonly verb: (transaction: AnyTransaction) => Promise<number>
  /** The number of found tasks while the task is locked, and afterwards. */
  readonly found: readonly [number, number]
}

describe.skipIf(!canRun)('a task that another transaction has locked is passed over', () => {
  const fixture = whileTested(() => openFixture(engine))
  const push = (): Promise<unknown> => fixture.push('a')
  const fail = async (): Promise<void> => {
    await push()
    await fixture.complete(await fixture.poll(1), TaskDecision.failure())
  }
  const poll = async (transaction: AnyTransaction): Promise<number> =>
    ((await fixture.tasks.poll(transaction, fixture.topic)) as HeldTask[]).length

  const cases: Readonly<Record<string, Case>> = {
    'by a poll': { prepare: push, verb: poll, found: [0, 1] },
    'by a poll for the last': { options: { order: 'lifo' }, prepare: push, verb: poll, found: [0, 1] },
    'by a poll under a condition': {
      options: { condition: 'singular-by-identifier' },
      prepare: push,
      verb: poll,
      found: [0, 1],
    },
    'by a poll for its transaction': {
      prepare: push,
      verb: async (transaction) =>
        ((await fixture.tasks.poll(transaction, fixture.topic, { hold: 'transaction' })) as HeldTask[]).length,
      found: [0, 1],
    },
    'by a release': {
      prepare: () => fixture.push({ identifier: 'a', due: new Date(0) }),
      verb: async (transaction) => ((await fixture.tasks.promoteDue(transaction, fixture.topic)) as PromotedDue).promoted,
      found: [0, 1],
    },
    'by a redrive': {
      prepare: fail,
      verb: async (transaction) => ((await fixture.tasks.redrive(transaction, fixture.topic)) as Redrive).count,
      found: [0, 1],
    },
    'when a selection is brought back': {
      prepare: fail,
      verb: async (transaction) => {
        const made = await fixture.tasks.recreate(transaction, fixture.topic, 'append', { state: 'failed' })
        return (made as RecreatedTask[]).length
      },
      found: [0, 1],
    },
    'by a purge': {
      prepare: fail,
      verb: async (transaction) => (await fixture.tasks.purge(transaction, fixture.topic)) as number,
      found: [0, 1],
    },
    'by an expiry': {
      prepare: async () => {
        const rival = await fixture.owner()
        await push()
        await fixture.poll(1, rival)
        await fixture.commit((transaction) => rival.unregister(transaction))
      },
      verb: async (transaction) => ((await fixture.tasks.expire(transaction, { olderThanMs: 86_400_000 })) as Expiry).expired,
      found: [0, 1],
    },
    'by a reclaim, though not silently: it says so if nothing else is left': {
      prepare: async () => {
        await push()
        await fixture.poll(1)
      },
      verb: async (transaction) => {
        const reclaimed = async (): Promise<number> => fixture.tasks.reclaim(transaction, fixture.topic, [])
        return reclaimed().catch((error: unknown) => (isTaskError(error, 'DATABASE_BUSY') ? -1 : Promise.reject(error)))
      },
      found: [-1, 1],
    },
    'by a reclaim of others': {
      prepare: async () => {
        await fixture.push('a', 'b')
        await fixture.poll(2)
      },
      verb: async (transaction) => fixture.tasks.reclaim(transaction, fixture.topic, []),
      found: [1, 1],
    },
    'by a push that supersedes': {
      options: { keyed: true },
      prepare: push,
      verb: async (transaction) => {
        const pushed = await fixture.tasks.push(transaction, fixture.topic, 'a', { insertion: 'supersede' })
        return (pushed as PushedTask[])[0]!.superseded!
      },
      // The second call finds the task of the first call, too.
      found: [0, 2],
    },
  }

  /** Verbs that only look, and lock nothing. */
  const looking: Readonly<Record<string, Case>> = {
    'by a redrive that is only to be looked at': {
      prepare: fail,
      verb: async (transaction) => ((await fixture.tasks.redrive(transaction, fixture.topic, { dryRun: true })) as Redrive).count,
      found: [1, 1],
    },
  }

  const each = [...Object.entries(cases), ...Object.entries(looking).map(([name, one]) => [`but not ${name}`, one] as const)]

  test.each(each)('%s', async (_, { options, prepare, verb, found }) => {
    await fixture.nextTopic(options)
    await prepare()
    // A verb that waits for the lock fails, and does not wait for ever.
    const ask = (): Promise<number> =>
      fixture.commit<number>(async (transaction) => {
        await fixture.tasks.limitStatements(transaction, 5_000)
        return verb(transaction)
      })
    const session = await fixture.subject.session()
    await session.begin()
    const locked = sql`select identifier from ${task} where topic = ${fixture.topic} and identifier = 'a' for update`
    await fixture.subject.execute(session.transaction, locked)
    // A connection that is closed may keep its locks for a moment.
    const first = await ask().finally(() => session.rollback())
    await session.close()
    expect([first, await ask()]).toEqual(found)
  })
})
