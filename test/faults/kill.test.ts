/** Workers are killed with kill -9 at moments drawn over the sequence of their statements: no task is lost, no effect applied twice. */
import { setTimeout as delay } from 'node:timers/promises'
import type { FilterState, TaskCount } from '@taskstream/task-api'
import { sql } from '@taskstream/task-sql'
import { describe, expect, test } from 'vitest'
import { canRun, openSubject, subjectName, textColumn } from '../subject.ts'
import type { Subject, Tasks } from '../subject.ts'
import { bury, Crew, drawDeaths } from './crew.ts'
import { moments } from './orders.ts'
import type { Orders } from './orders.ts'
import { amountOf } from '../tiers.ts'

/** Each moment is still drawn ten times where another driver takes the same statements to the same kind of file. */
const kills = Number(process.env['TASKSTREAM_KILLS'] ?? amountOf(subjectName === 'node-sqlite' ? 'fewKills' : 'kills'))
const seed = Number(process.env['TASKSTREAM_SEED'] ?? Math.trunc(Math.random() * 2 ** 31))

// In memory there is one connection, and so one process.
describe.skipIf(!canRun)(`workers killed at drawn moments (${kills} times, seed ${seed})`, () => {
  test('complete every task, and apply no effect twice', { timeout: 480_000 }, async () => {
    await using subject = await openSubject()
    const tasks = subject.tasks()
    await subject.transactions(async (transaction) => {
      await tasks.register(transaction)
      await tasks.initialize(transaction, 'work')
      await subject.execute(transaction, sql`create table effect (identifier ${textColumn}, attempt integer)`)
    })
    const pushed: string[] = []
    using crew = new Crew({
      program: new URL('worker.ts', import.meta.url),
      size: 4,
      deaths: drawDeaths(moments, kills, seed),
      orders: (death): Orders => ({ location: subject.location, ...(death ? { death } : {}) }),
    })
    while (crew.failures.length === 0) {
      await bury(subject, tasks, crew.takeDead())
      const { succeeded = 0 } = await countStates(subject, tasks)
      if (crew.kills < kills && pushed.length - succeeded < 100) {
        const creations = Array.from({ length: 100 }, (_, index) => `task-${pushed.length + index}`)
        await subject.transactions((transaction) => tasks.push(transaction, 'work', creations))
        pushed.push(...creations)
      }
      if (crew.kills === kills && succeeded === pushed.length) break
      await delay(10)
    }

    expect(crew.failures).toEqual([])
    expect(await countStates(subject, tasks)).toEqual({ succeeded: pushed.length })
    const effects = await subject.transactions((transaction) =>
      subject.execute(transaction, sql`select identifier, count(*) as count from effect group by identifier`),
    )
    expect(effects.filter(({ count }) => Number(count) !== 1)).toEqual([])
    expect(effects.map(({ identifier }) => String(identifier)).toSorted()).toEqual(pushed.toSorted())
    expect([...crew.killed.keys()].toSorted()).toEqual(moments.toSorted())
    expect(crew.kills).toBe(kills)
    console.log(
      `${subjectName}: ${crew.kills} kills, ${pushed.length} tasks, seed ${seed}; ${moments.map((moment) => `${moment}: ${crew.killed.get(moment)}`).join(', ')}`,
    )
  })
})

async function countStates(subject: Subject, tasks: Tasks): Promise<Record<string, number>> {
  const counts = await subject.transactions<ReadonlyMap<string, ReadonlyMap<FilterState, TaskCount>>>((transaction) =>
    tasks.count(transaction, { topic: 'work' }),
  )
  return Object.fromEntries([...(counts.get('work') ?? [])].map(([state, { count }]) => [state, count]))
}
