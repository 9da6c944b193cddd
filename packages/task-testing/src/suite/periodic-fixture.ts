/** Shared by the tests of periodic tasks: timers on a clock that the test sets, and shorthands that commit. */
import { firing, occurrenceOf, periodicTasks } from '@taskstream/task-scheduler'
import type { Fired, PeriodicTask, PeriodicTaskInfo, PeriodicTasks } from '@taskstream/task-scheduler'
import { sql } from '@taskstream/task-sql'
import type { AnyTransaction, Engine } from './engine.ts'
import { openFixture, whileTested } from './fixture.ts'
import type { Fixture } from './fixture.ts'

export const minute = 60_000
/** Half a minute before nine. */
export const start: Date = new Date('2026-01-05T08:59:30.000Z')

export type Timers = PeriodicTasks<AnyTransaction>

export interface PeriodicFixture extends AsyncDisposable {
  readonly fixture: Fixture
  readonly timers: Timers
  readonly now: Date
  /** Sets the clock to half a minute before nine, removes every timer and makes a new topic. */
  reset(): Promise<void>
  /** Sets the clock. */
  at(instant: string): void
  scoped(scope: string): Timers
  /** An hourly timer. */
  hourly(more?: Partial<PeriodicTask>): PeriodicTask
  schedule(more?: Partial<PeriodicTask>): Promise<string>
  info(id?: string, of?: Timers): Promise<PeriodicTaskInfo>
  list(): Promise<PeriodicTaskInfo[]>
  fire(transaction: AnyTransaction): Promise<Fired> | Fired
  fireOnce(): Promise<Fired>
  /** Fires until no timer is due or other transactions hold all due timers, and returns each outcome. */
  fireAll(): Promise<string[]>
  /** Sets the next occurrence of every timer by hand. */
  setBack(occurrence: Date): Promise<void>
  /** The occurrences that were submitted, as times of day. */
  occurrences(): Promise<(string | undefined)[]>
  /** Completes all ready tasks. */
  finish(): Promise<void>
}

export function usePeriodicFixture(engine: Engine): PeriodicFixture {
  return whileTested(
    () => openPeriodicFixture(engine),
    (periodic) => periodic.reset(),
  )
}

async function openPeriodicFixture(engine: Engine): Promise<PeriodicFixture> {
  let now = start
  const fixture = await openFixture(engine, () => now)
  const { tasks, commit } = fixture
  const timers = periodicTasks(tasks) as Timers
  const fire: PeriodicFixture['fire'] = firing(tasks)
  const clear = tasks.verb(function* ({ dialect }) {
    yield sql`delete from ${dialect.tables.periodic}`
  })
  const set = tasks.verb(function* ({ dialect }, occurrence: Date) {
    const instant = dialect.expr.instant(sql`${occurrence.getTime()}`)
    yield sql`update ${dialect.tables.periodic} set occurrence = ${instant}, due = ${instant}`
  })
  const periodic: PeriodicFixture = {
    fixture,
    timers,
    get now() {
      return now
    },
    reset: async () => {
      now = start
      await commit((transaction) => clear(transaction) as unknown)
      await fixture.nextTopic()
    },
    at: (instant) => void (now = new Date(instant)),
    scoped: (scope) => periodicTasks(tasks, { scope }) as Timers,
    hourly: (more = {}) => ({ id: 'report', timer: 'hourly', topic: fixture.topic, ...more }),
    schedule: (more) => commit<string>((transaction) => timers.schedule(transaction, periodic.hourly(more))),
    info: async (id = 'report', of = timers) =>
      (await commit<PeriodicTaskInfo | undefined>((transaction) => of.get(transaction, id)))!,
    list: () => commit<PeriodicTaskInfo[]>((transaction) => timers.list(transaction)),
    fire,
    fireOnce: () => commit<Fired>((transaction) => fire(transaction)),
    fireAll: async () => {
      const outcomes: string[] = []
      while (outcomes.length < 1_000) {
        const fired = await periodic.fireOnce()
        if (fired.outcome === 'idle') return outcomes
        if (fired.outcome === 'busy') return [...outcomes, 'busy']
        outcomes.push(`${fired.outcome} ${fired.occurrence.toISOString().slice(11, 16)}`)
      }
      throw new Error('There is no end to what is due')
    },
    setBack: async (occurrence) => void (await commit((transaction) => set(transaction, occurrence) as unknown)),
    occurrences: async () => (await fixture.page()).map((task) => occurrenceOf(task)?.at.toISOString().slice(11, 16)),
    finish: async () => void (await fixture.complete(await fixture.poll())),
    [Symbol.asyncDispose]: () => fixture[Symbol.asyncDispose](),
  }
  return periodic
}
