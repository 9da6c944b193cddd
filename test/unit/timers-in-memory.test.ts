/** A scheduler knows timers by their repository alone: these are kept in maps, without SQL. */
import type { PushedTask, StoredTimer, TaskCreation, TimedTaskRepository, TimerRepository } from '@taskstream/task-api'
import { timerKey } from '@taskstream/task-api'
import { firing, periodicTasks, PeriodicScheduler } from '@taskstream/task-scheduler'
import type { FiredOccurrence } from '@taskstream/task-scheduler'
import { expect, test } from 'vitest'

const nine = Date.parse('2026-01-05T09:00:00.000Z')

interface MemoryTask extends PushedTask, TaskCreation {
  readonly identifier: string
  ended?: boolean
}

/** Maps, with one transaction at a time: that is what its locks amount to. */
class Memory {
  nowMs = nine - 1
  told = 0
  readonly tasks: MemoryTask[] = []
  readonly #kept = new Map<string, StoredTimer>()

  readonly timers: TimerRepository<Memory, 'sync'> = {
    check: () => {},
    now: () => this.nowMs,
    lockDue: (_, without) => {
      const waiting = this.#read((timer) => timer.due !== null && !without.has(timerKey(timer)))
      const [first] = waiting.toSorted((left, right) => left.due! - right.due!)
      if (first && first.due! <= first.now) return first
      return { outcome: 'idle', ...(first && { afterMs: first.due! - first.now }) }
    },
    lock: (_, key) => this.timers.get(this, key),
    lockAll: (_, scope, status) => this.#read((timer) => timer.scope === scope && timer.status === status),
    get: (_, key) => this.#read((timer) => timerKey(timer) === timerKey(key))[0],
    list: (_, { scope, name, application }) =>
      this.#read((timer) => (scope ?? timer.scope) === timer.scope && (name ?? timer.name) === timer.name).filter(
        (timer) => (application ?? timer.application) === timer.application,
      ),
    add: (_, timer) => {
      if (this.timers.get(this, timer)) return false
      const nothing = { fired: 0, skipped: 0, lastTopic: null, lastSequence: null, lastOccurrence: null }
      this.#kept.set(timerKey(timer), { ...timer, ...nothing, now: this.nowMs })
      return true
    },
    change: (_, key, change) => void this.#kept.set(timerKey(key), { ...this.#kept.get(timerKey(key))!, ...change }),
    remove: (_, key, name) => {
      if (name === undefined || this.#kept.get(timerKey(key))?.name === name) this.#kept.delete(timerKey(key))
    },
    unfinished: (_, topic, reference) =>
      this.tasks.findLast((task) => task.topic === topic && task.reference === reference && !task.ended)?.sequence,
    notify: () => void this.told++,
  }

  /** What a scheduler asks of it beside timers. */
  readonly repository = {
    execution: 'sync',
    limitStatements: () => {},
    push: (_: Memory, topic: string, creations: readonly (TaskCreation & { readonly identifier: string })[]) =>
      creations.map((creation) => {
        const task = { ...creation, topic, sequence: this.tasks.length + 1, outcome: 'created' as const }
        this.tasks.push(task)
        return task
      }),
    timers: this.timers,
  } as unknown as TimedTaskRepository<Memory, 'sync'>

  #read(isMeant: (timer: StoredTimer) => boolean): StoredTimer[] {
    return [...this.#kept.values()].map((timer) => ({ ...timer, now: this.nowMs })).filter(isMeant)
  }
}

test('timers that are kept without SQL are scheduled, fired, passed over, run by hand, paused, changed and removed', () => {
  const memory = new Memory()
  const timers = periodicTasks(memory.repository)
  const fire = firing(memory.repository)
  expect(timers.schedule(memory, { id: 'report', timer: 'hourly', topic: 'mail', input: 'x' })).toBe('added')
  expect(memory.told).toBe(1)
  expect(fire(memory)).toEqual({ outcome: 'idle', afterMs: 1 })
  memory.nowMs = nine
  expect(fire(memory)).toMatchObject({ outcome: 'submitted', occurrence: new Date(nine), task: { topic: 'mail', sequence: 1 } })
  expect(memory.tasks[0]).toMatchObject({ identifier: 'report', input: 'x' })
  memory.nowMs += 3_600_000
  expect(fire(memory)).toMatchObject({ outcome: 'unfinished' })
  expect(timers.runNow(memory, 'report')).toEqual({ unfinished: 1 })
  memory.tasks[0]!.ended = true
  expect(timers.runNow(memory, 'report')).toMatchObject({ submitted: { sequence: 2 } })
  expect(timers.get(memory, 'report')).toMatchObject({ fired: 1, skipped: 1, last: { topic: 'mail', sequence: 2 } })
  expect(timers.pauseAll(memory)).toBe(1)
  expect(timers.resume(memory, 'report')).toBe(true)
  expect(timers.schedule(memory, { id: 'report', timer: 'daily', topic: 'mail', input: 'x' })).toBe('changed')
  expect(timers.list(memory)).toMatchObject([{ id: 'report', timer: 'daily', next: new Date('2026-01-06T00:00:00.000Z') }])
  timers.remove(memory, 'report')
  expect(timers.list(memory)).toEqual([])
})

test('a scheduler fires timers that are kept without SQL', async () => {
  const memory = new Memory()
  periodicTasks(memory.repository).schedule(memory, { id: 'report', timer: 'hourly', topic: 'mail' })
  memory.nowMs = nine
  const { promise, resolve } = Promise.withResolvers<FiredOccurrence>()
  await using scheduler = new PeriodicScheduler({
    repository: memory.repository,
    transactions: async (work) => work(memory),
    listener: { onFired: resolve },
  })
  await scheduler.start()
  expect(await promise).toMatchObject({ outcome: 'submitted', timer: { scope: 'system', id: 'report' } })
  expect(memory.tasks).toHaveLength(1)
})

test('a scheduler whose notifier never begins to listen can be stopped', async () => {
  const memory = new Memory()
  const asked = Promise.withResolvers<void>()
  const listen = (): Promise<never> => {
    asked.resolve()
    return new Promise(() => {})
  }
  const scheduler = new PeriodicScheduler({
    repository: memory.repository,
    transactions: async (work) => work(memory),
    notifier: { listen },
  })
  const starting = scheduler.start()
  await asked.promise
  await scheduler.stop()
  await starting
})
