/** Shared by the tests of clock jobs: a scheduler on a clock that the test moves. */
import { ClockJobScheduler } from '@taskstream/task-scheduler'
import type { ClockJobContext, ClockJobFunction, ClockJobLogEntry, ClockJobSchedulerOptions } from '@taskstream/task-scheduler'
import { testClock } from '@taskstream/task-testing'
import type { TestClock } from '@taskstream/task-testing'

/** The instant at which tests of clock jobs begin. Times in these tests are milliseconds since then. */
export const epochMs = Date.parse('2026-03-01T12:00:00Z')

export function at(ms: number): Date {
  return new Date(epochMs + ms)
}

/** A clock that runs each callback at its moment, and lets its consequences finish before time moves on. */
export interface JobTestClock extends TestClock {
  /** Lets so many milliseconds pass. */
  pass(ms: number): Promise<void>
  /** The wall clock, in milliseconds since the beginning. */
  ms(): number
  /** Resolves when all work that does not wait for time is done. */
  quiet(): Promise<void>
  /** Timers that keep the process alive. */
  readonly waiting: ReadonlySet<unknown>
  /** The length of each wait, in milliseconds. */
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
  /** A busy scheduler looks at the clock. A scheduler that has not looked for several turns waits for time or for a promise. */
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

/** One try of a job, as the test saw it. */
export interface Seen {
  readonly id: string
  readonly count: number
  readonly tries: number
  /** When the try was due and when it began, by the wall clock, in milliseconds since the beginning. */
  readonly dueMs: number
  readonly beganMs: number
}

export interface JobFixture {
  readonly clock: JobTestClock
  readonly jobs: ClockJobScheduler
  readonly log: ClockJobLogEntry[]
  readonly seen: Seen[]
  /** A job that notes each try and then runs `work`. */
  job(work?: ClockJobFunction): ClockJobFunction
  /** A job that notes each try and takes so long. */
  lasting(ms: number): ClockJobFunction
  /** When the noted tries began. */
  began(): number[]
}

/** A scheduler on a test clock, with jobs that note their tries. */
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
