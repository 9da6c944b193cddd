/** What the tests of jobs share: a scheduler on a clock that the test moves. */
import { ClockJobScheduler } from '@taskstream/task-scheduler'
import type { ClockJobContext, ClockJobFunction, ClockJobLogEntry, ClockJobSchedulerOptions } from '@taskstream/task-scheduler'
import { testClock } from '@taskstream/task-testing'
import type { TestClock } from '@taskstream/task-testing'

/** When tests of jobs begin; times in them are milliseconds since. */
export const epochMs = Date.parse('2026-03-01T12:00:00Z')

export function at(ms: number): Date {
  return new Date(epochMs + ms)
}

/** A clock on which what waits for a moment has its turn at that moment, and goes on before time does. */
export interface JobTestClock extends TestClock {
  /** Lets so many milliseconds pass. */
  pass(ms: number): Promise<void>
  /** By the wall clock, since the beginning. */
  ms(): number
  /** Everything that is not waiting for time has gone on. */
  quiet(): Promise<void>
  /** What waits for a moment, and keeps a process alive. */
  readonly waiting: ReadonlySet<unknown>
  /** How long was waited, each time. */
  readonly sleeps: readonly number[]
}

export function jobTestClock(): JobTestClock {
  const clock = testClock(at(0))
  const waiting = new Set<{ readonly atMs: number }>()
  const sleeps: number[] = []
  let looked = 0
  const after = (ms: number, callback: () => void): (() => void) => {
    sleeps.push(ms)
    const one = { atMs: clock.monotonicMs() + ms }
    waiting.add(one)
    const cancel = clock.after(ms, () => {
      waiting.delete(one)
      callback()
    })
    return () => {
      waiting.delete(one)
      cancel()
    }
  }
  const now = (): Date => {
    looked++
    return clock.now()
  }
  /** A scheduler that has something to do looks at the clock; one that has not for some turns waits for time, or for a promise. */
  const quiet = async (): Promise<void> => {
    for (let idle = 0, seen = looked; idle < 3; idle = seen === looked ? idle + 1 : 0) {
      seen = looked
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  return {
    ...clock,
    now,
    after,
    quiet,
    waiting,
    sleeps,
    ms: () => clock.now().getTime() - epochMs,
    pass: async (ms) => {
      await quiet()
      const endMs = clock.monotonicMs() + ms
      const next = (): number => Math.min(...[...waiting].map(({ atMs }) => atMs))
      for (let nextMs = next(); nextMs <= endMs; nextMs = next()) {
        clock.advance(Math.max(0, nextMs - clock.monotonicMs()))
        await quiet()
      }
      clock.advance(endMs - clock.monotonicMs())
      await quiet()
    },
  }
}

/** What was seen of one try of a job. */
export interface Seen {
  readonly id: string
  readonly count: number
  readonly tries: number
  /** When it was due, and when it began: milliseconds since the beginning, by the wall clock. */
  readonly dueMs: number
  readonly beganMs: number
}

export interface JobFixture {
  readonly clock: JobTestClock
  readonly jobs: ClockJobScheduler
  readonly log: ClockJobLogEntry[]
  readonly seen: Seen[]
  /** A job that is seen, and then does what `work` does. */
  job(work?: ClockJobFunction): ClockJobFunction
  /** A job that is seen, and takes so long. */
  lasting(ms: number): ClockJobFunction
  /** When the tries that were seen began. */
  began(): number[]
}

/** A scheduler whose jobs are seen. */
export function jobFixture(options: ClockJobSchedulerOptions = {}): JobFixture {
  const clock = jobTestClock()
  const log: ClockJobLogEntry[] = []
  const seen: Seen[] = []
  const job =
    (work: ClockJobFunction = () => {}): ClockJobFunction =>
    (context: ClockJobContext) => {
      const { id, count, tries, scheduledFor } = context
      seen.push({ id, count, tries, dueMs: scheduledFor.getTime() - epochMs, beganMs: clock.ms() })
      return work(context)
    }
  return {
    clock,
    jobs: new ClockJobScheduler({ clock, onLog: (entry) => log.push(entry), ...options }),
    log,
    seen,
    job,
    lasting: (ms) => job(() => new Promise<void>((resolve) => clock.after(ms, resolve))),
    began: () => seen.map(({ beganMs }) => beganMs),
  }
}
