/** Processes that share a limit are killed with kill -9 at each statement by which they take slots, and others go on. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Execution, FilterState, TaskCount } from '@taskstream/task-api'
import { raw, sql } from '@taskstream/task-sql'
import { Stream } from 'taskstream'
import { describe, expect, test } from 'vitest'
import { canRun, openSubject } from '../subject.ts'
import type { AnyTransaction } from '../subject.ts'
import { bury, Crew, drawDeaths } from './crew.ts'
import { limited, slotMoments, total } from './slots.ts'
import type { SlotOrders } from './slots.ts'

const seed = Number(process.env['TASKSTREAM_SEED'] ?? Math.trunc(Math.random() * 2 ** 31))
/** So many jobs are pushed at a time. */
const portion = 20

describe.skipIf(!canRun)(`processes killed as they take slots (seed ${seed})`, () => {
  test('never have more jobs active than the limit, and leave no slot that nobody gets again', { timeout: 600_000 }, async () => {
    await using subject = await openSubject()
    const tasks = subject.tasks()
    await using stream = new Stream<AnyTransaction, Execution>(
      { repository: tasks, transactions: subject.transactions },
      { migrate: false },
    )
    await stream.prepare(limited)
    const statesNow = async (): Promise<Record<string, number>> => {
      const counts = await stream.transaction<ReadonlyMap<string, ReadonlyMap<FilterState, TaskCount>>>((transaction) =>
        tasks.count(transaction, { topic: limited.name }),
      )
      return Object.fromEntries([...(counts.get(limited.name) ?? [])].map(([state, { count }]) => [state, count]))
    }
    using crew = new Crew({
      program: new URL('slots-worker.ts', import.meta.url),
      size: 3,
      deaths: drawDeaths(slotMoments, slotMoments.length, seed),
      orders: (death): SlotOrders => ({ location: subject.location, ...(death ? { death } : {}) }),
    })
    let pushed = 0
    let most = 0
    // Each portion needs slots. A moment that does not come about is to be named, not waited for.
    while (crew.failures.length === 0 && pushed < 5_000) {
      await bury(subject, tasks, crew.takeDead())
      const { active = 0, ready = 0 } = await statesNow()
      most = Math.max(most, active)
      if (active + ready === 0) {
        // Jobs are short. Whoever has never seen one at work has not looked.
        if (crew.kills === slotMoments.length && most > 0) break
        await stream.transaction((transaction) =>
          stream.pushMany(
            transaction,
            limited,
            Array.from({ length: portion }, (_, index) => [pushed + index] as const),
          ),
        )
        pushed += portion
      }
      await delay(5)
    }
    expect(crew.failures).toEqual([])
    expect(await statesNow()).toEqual({ succeeded: pushed })
    expect(most).toBeLessThanOrEqual(total)
    expect(most).toBeGreaterThan(0)
    expect(new Set(crew.killed.keys())).toEqual(new Set(slotMoments))
    await bury(subject, tasks, crew.takeDead())
    const slot = raw(subject.engine === 'postgres' ? 'taskstream.task_slot' : 'task_slot')
    const [row] = await subject.transactions((transaction) =>
      subject.execute(transaction, sql`select coalesce(sum(slots), 0) as slots, count(*) as owners from ${slot}`),
    )
    expect(Number(row!['slots'])).toBeLessThanOrEqual(total)
    expect(Number(row!['owners'])).toBeLessThanOrEqual(3)
  })
})
