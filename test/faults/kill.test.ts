/** Workers are killed with kill -9 at moments drawn over the sequence of their statements: no task is lost, no effect applied twice. */
import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'
import type { FilterState, TaskCount } from '@taskstream/task-api'
import { raw, sql } from '@taskstream/task-sql'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { canRun, openSubject, subjectName, textColumn } from '../subject.ts'
import type { Subject, Tasks } from '../subject.ts'
import { moments } from './orders.ts'
import type { Moment, Orders } from './orders.ts'
import { amountOf } from '../tiers.ts'

const kills = Number(process.env['TASKSTREAM_KILLS'] ?? amountOf('kills'))
const seed = Number(process.env['TASKSTREAM_SEED'] ?? Math.trunc(Math.random() * 2 ** 31))
const crew = 4

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
    const deaths = drawDeaths()
    const pushed: string[] = []
    const killed = new Map<Moment, number>()
    const workers = new Set<ChildProcess>()
    const dead: string[] = []
    const failures: string[] = []

    const start = (): void => {
      const death = deaths.pop()
      const orders: Orders = { location: subject.location, ...(death ? { death } : {}) }
      const worker = fork(new URL('worker.ts', import.meta.url), [JSON.stringify(orders)], {
        execArgv: ['--conditions=@taskstream/source'],
      })
      workers.add(worker)
      let owner = ''
      worker.once('message', (message: { owner: string }) => (owner = message.owner))
      // A process may have exited before its message is read. It closes after that.
      worker.once('close', (code, signal) => {
        workers.delete(worker)
        if (owner) dead.push(owner)
        if (signal === 'SIGKILL' && death) killed.set(death.moment, (killed.get(death.moment) ?? 0) + 1)
        else if (!over) failures.push(`a worker ended with ${code ?? signal}`)
        if (!over) start()
      })
    }
    let over = false
    for (let index = 0; index < crew; index++) start()

    const total = (): number => [...killed.values()].reduce((sum, count) => sum + count, 0)
    while (failures.length === 0) {
      await bury(subject, tasks, dead.splice(0))
      const { succeeded = 0 } = await countStates(subject, tasks)
      if (total() < kills && pushed.length - succeeded < 100) {
        const creations = Array.from({ length: 100 }, (_, index) => `task-${pushed.length + index}`)
        await subject.transactions((transaction) => tasks.push(transaction, 'work', creations))
        pushed.push(...creations)
      }
      if (total() === kills && succeeded === pushed.length) break
      await delay(10)
    }
    over = true
    for (const worker of workers) worker.kill('SIGKILL')

    expect(failures).toEqual([])
    expect(await countStates(subject, tasks)).toEqual({ succeeded: pushed.length })
    const effects = await subject.transactions((transaction) =>
      subject.execute(transaction, sql`select identifier, count(*) as count from effect group by identifier`),
    )
    expect(effects.filter(({ count }) => Number(count) !== 1)).toEqual([])
    expect(effects.map(({ identifier }) => String(identifier)).toSorted()).toEqual(pushed.toSorted())
    expect([...killed.keys()].toSorted()).toEqual(moments.toSorted())
    expect(total()).toBe(kills)
    console.log(
      `${subjectName}: ${total()} kills, ${pushed.length} tasks, seed ${seed}; ${moments.map((moment) => `${moment}: ${killed.get(moment)}`).join(', ')}`,
    )
  })
})

/** Every moment in turn, so that none is left out, in an order and in rounds that the seed draws. */
function drawDeaths(): NonNullable<Orders['death']>[] {
  const rounds = fc.sample(fc.integer({ min: 0, max: 6 }), { seed, numRuns: kills })
  const deaths = rounds.map((round, index) => ({ moment: moments[index % moments.length] ?? moments[0], round }))
  return fc.sample(fc.shuffledSubarray(deaths, { minLength: kills, maxLength: kills }), { seed, numRuns: 1 })[0] ?? deaths
}

/** An owner without a row counts as dead at once: nobody need wait for a lease. */
async function bury(subject: Subject, tasks: Tasks, owners: readonly string[]): Promise<void> {
  await subject.transactions(async (transaction) => {
    const table = raw(subject.engine === 'postgres' ? 'taskstream.task_owner' : 'task_owner')
    for (const owner of owners) await subject.execute(transaction, sql`delete from ${table} where owner = ${owner}`)
    await tasks.expire(transaction, { olderThanMs: 1_000_000, then: 'ready' })
  })
}

async function countStates(subject: Subject, tasks: Tasks): Promise<Record<string, number>> {
  const counts = await subject.transactions<ReadonlyMap<string, ReadonlyMap<FilterState, TaskCount>>>((transaction) =>
    tasks.count(transaction, { topic: 'work' }),
  )
  return Object.fromEntries([...(counts.get('work') ?? [])].map(([state, { count }]) => [state, count]))
}
