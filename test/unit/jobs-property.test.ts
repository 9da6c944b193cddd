/**
 * Jobs of any interval, length, count and policy, paused and resumed, fire when a short reference says; and whatever is done to a scheduler
 * and to its clock, it keeps what it promises. A failure prints its smallest history and its seed; TASKSTREAM_SEED runs it again.
 */
import type { ClockJobErrorPolicy, ClockJobLatePolicy, ClockJobLogEntry, ClockJobOptions } from '@taskstream/task-scheduler'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { at, epochMs, jobFixture } from '../jobs.ts'
import type { Seen } from '../jobs.ts'

const seed = Number(process.env['TASKSTREAM_SEED'] ?? Math.trunc(Math.random() * 2 ** 31))
const even = (min: number, max: number): fc.Arbitrary<number> => fc.integer({ min, max }).map((half) => half * 2)
const latePolicies = fc.constantFrom<ClockJobLatePolicy>('wait', 'ignore', 'log-and-ignore')

interface Alone {
  readonly intervalMs: number
  readonly startMs: number
  readonly endMs: number
  readonly maxCount: number
  readonly lastsMs: number
  readonly waitingTimeMs: number
  readonly whenLate: ClockJobLatePolicy
  /** From, and for how long. */
  readonly pauses: readonly (readonly [fromMs: number, forMs: number])[]
}

/** When each fire of a job is due, and when it begins: a job that is alone, as a sentence each. */
function expected(job: Alone, untilMs: number): [dueMs: number, beganMs: number][] {
  const { intervalMs, startMs, endMs, maxCount, lastsMs, waitingTimeMs, whenLate, pauses } = job
  const fires: [number, number][] = []
  let freeMs = 0
  for (let dueMs = startMs; dueMs <= endMs && fires.length < (maxCount === -1 ? Infinity : maxCount);) {
    // It begins when it is due and the one before has ended, and no pause is on.
    let beganMs = Math.max(dueMs, freeMs)
    for (const [fromMs, forMs] of pauses) if (fromMs <= beganMs && beganMs < fromMs + forMs) beganMs = fromMs + forMs
    if (beganMs > untilMs) break
    // Too late, all that were missed are dropped.
    if (whenLate !== 'wait' && beganMs - dueMs > waitingTimeMs) {
      dueMs = startMs + Math.ceil((beganMs - startMs) / intervalMs) * intervalMs
      continue
    }
    fires.push([dueMs, beganMs])
    freeMs = beganMs + lastsMs
    dueMs += intervalMs
  }
  return fires
}

test('a job fires when it is due, free and not paused, and what is too late is run or dropped as it says', async () => {
  const untilMs = 200
  const alone: fc.Arbitrary<Alone> = fc.record({
    // Fires are due at even times, and pauses begin and end at odd ones: of two things at one moment either may be first.
    intervalMs: even(1, 20),
    startMs: even(0, 15),
    endMs: fc.integer({ min: 30, max: 300 }),
    maxCount: fc.oneof(fc.constant(-1), fc.integer({ min: 1, max: 12 })),
    lastsMs: fc.integer({ min: 1, max: 60 }),
    waitingTimeMs: fc.integer({ min: 0, max: 50 }),
    whenLate: latePolicies,
    pauses: fc.array(fc.tuple(even(1, 30), even(1, 30)), { maxLength: 3 }).map((gaps) => {
      let fromMs = 1
      return gaps.map(([gapMs, forMs]) => {
        const pause = [fromMs + gapMs, forMs] as const
        fromMs += gapMs + forMs
        return pause
      })
    }),
  })
  await fc.assert(
    fc.asyncProperty(alone, async (job) => {
      const { intervalMs, startMs, endMs, maxCount, lastsMs, waitingTimeMs, whenLate, pauses } = job
      const { jobs, clock, lasting, seen, log } = jobFixture({ waitingTimeMs })
      jobs.schedule(lasting(lastsMs), { intervalMs, start: at(startMs), end: at(endMs), maxCount, whenLate, id: 'job' })
      const toggles = pauses.flatMap(([fromMs, forMs]) => [fromMs, fromMs + forMs])
      for (const [index, toggleMs] of toggles.entries()) {
        await clock.pass(toggleMs - clock.ms() - 1)
        // What runs may end at this very moment: the next of it is paused, or resumed, with the rest.
        clock.advance(1)
        if (index % 2 > 0) jobs.resumeAll()
        else jobs.pauseAll()
        await clock.quiet()
      }
      await clock.pass(Math.max(0, untilMs - clock.ms()))
      expect(seen.map(({ dueMs, beganMs }) => [dueMs, beganMs])).toEqual(expected(job, clock.ms()))
      expect(seen.map(({ count }) => count)).toEqual(seen.map((_, index) => index + 1))
      if (whenLate !== 'log-and-ignore') expect(log).toEqual([])
    }),
    { numRuns: 300, seed },
  )
})

interface Planned {
  readonly intervalMs: number
  readonly startMs: number
  readonly endMs: number
  readonly maxCount: number
  readonly lastsMs: number
  readonly whenLate: ClockJobLatePolicy
  readonly overlap: 'allow' | 'forbid'
  /** So many of the first tries of each fire fail. */
  readonly fails: number
  readonly onError: ClockJobErrorPolicy
  readonly retryMs: number
}

/** How often a fire is tried in all. */
const mostTries = 3
/** Not one job, but each. */
const all = -1

type Action = readonly [kind: 'pass' | 'set' | 'workers' | 'pause' | 'resume' | 'unschedule', value: number]

const planned: fc.Arbitrary<Planned> = fc.record({
  intervalMs: fc.integer({ min: 5, max: 100 }),
  startMs: fc.integer({ min: 0, max: 100 }),
  endMs: fc.integer({ min: 100, max: 1_000 }),
  maxCount: fc.oneof(fc.constant(-1), fc.integer({ min: 1, max: 8 })),
  lastsMs: fc.integer({ min: 1, max: 120 }),
  whenLate: latePolicies,
  overlap: fc.constantFrom('allow', 'forbid'),
  fails: fc.integer({ min: 0, max: 3 }),
  onError: fc.constantFrom<ClockJobErrorPolicy>('log-and-continue', 'log-and-terminate', 'continue', 'terminate'),
  retryMs: fc.integer({ min: 0, max: 30 }),
})

const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 3, arbitrary: fc.tuple(fc.constant('pass' as const), fc.integer({ min: 0, max: 150 })) },
  fc.tuple(fc.constant('set' as const), fc.integer({ min: -500, max: 500 })),
  fc.tuple(fc.constant('workers' as const), fc.integer({ min: 1, max: 3 })),
  fc.tuple(fc.constantFrom('pause' as const, 'resume' as const), fc.integer({ min: all, max: 3 })),
  fc.tuple(fc.constant('unschedule' as const), fc.nat(10)),
)

/** A try, and how things stood when it began. */
interface Begun extends Seen {
  /** How many were under way, this one included: of all, and of its job. */
  readonly running: number
  readonly ofSame: number
  readonly workers: number
  readonly allowed: boolean
}

test('whatever is done to it and to its clock, a scheduler keeps its promises', async () => {
  const history = fc.tuple(fc.array(planned, { minLength: 1, maxLength: 4 }), fc.array(action, { maxLength: 25 }))
  await fc.assert(
    fc.asyncProperty(history, async ([plans, actions]) => {
      const { jobs, clock, job, seen, log } = jobFixture({ workers: 3, waitingTimeMs: 20 })
      const begun: Begun[] = []
      const running: string[] = []
      const paused = new Set<string>()
      const unscheduled = new Set<string>()
      let workers = 3
      for (const [index, { lastsMs, fails, retryMs, startMs, endMs, ...options }] of plans.entries()) {
        const work = job(async ({ id, tries }) => {
          running.push(id)
          const ofSame = running.filter((one) => one === id).length
          const allowed = !paused.has(id) && !unscheduled.has(id)
          begun.push({ ...seen.at(-1)!, running: running.length, ofSame, workers, allowed })
          await new Promise<void>((resolve) => clock.after(lastsMs, resolve))
          running.splice(running.indexOf(id), 1)
          if (tries <= fails) throw new Error('as planned')
        })
        const retry: ClockJobOptions['retry'] = ({ tries }) => (tries < mostTries ? retryMs : undefined)
        jobs.schedule(work, { ...options, id: String(index), start: at(startMs), end: at(endMs), retry })
      }
      for (const [kind, value] of actions) {
        if (kind === 'pass') await clock.pass(value)
        else if (kind === 'set') clock.set(at(clock.ms() + value))
        else if (kind === 'workers') jobs.configure({ workers: (workers = value) })
        else {
          for (const { id } of jobs.running().filter((_, index) => value === all || index === value)) {
            jobs[kind](id)
            if (kind === 'unschedule') unscheduled.add(id)
            else if (kind === 'pause') paused.add(id)
            else paused.delete(id)
          }
        }
      }
      paused.clear()
      jobs.resumeAll()
      // Far beyond every end, and longer than all there is to do takes.
      for (let step = 0; step < 100 && jobs.running().length > 0; step++) await clock.pass(2_000)
      await clock.pass(500)

      expect(jobs.running()).toEqual([])
      expect(clock.waiting.size).toBe(0)
      for (const one of begun) checkTry(one, plans[Number(one.id)]!)
      for (const [index, plan] of plans.entries()) {
        const id = String(index)
        const tries = begun.filter((one) => one.id === id)
        checkFires(tries, plan, unscheduled.has(id))
        checkLog(
          tries,
          plan,
          log.filter((entry) => entry.id === id && entry.error !== undefined),
        )
      }
    }),
    { numRuns: 300, seed },
  )
})

function checkTry({ dueMs, beganMs, count, tries, running, ofSame, workers, allowed }: Begun, plan: Planned): void {
  const { startMs, endMs, intervalMs, maxCount, overlap } = plan
  expect(allowed).toBe(true)
  expect(dueMs).toBeGreaterThanOrEqual(startMs)
  expect(dueMs).toBeLessThanOrEqual(endMs)
  expect((dueMs - startMs) % intervalMs).toBe(0)
  expect(running).toBeLessThanOrEqual(workers)
  if (maxCount !== -1) expect(count).toBeLessThanOrEqual(maxCount)
  if (overlap === 'forbid') expect(ofSame).toBe(1)
  if (tries > 1) expect(beganMs).toBeLessThan(Math.min(endMs, dueMs + intervalMs))
  else expect(beganMs).toBeGreaterThanOrEqual(dueMs)
}

function checkFires(tries: readonly Begun[], plan: Planned, unscheduled: boolean): void {
  const { startMs, endMs, intervalMs, maxCount, whenLate, fails, onError, overlap } = plan
  const fires = tries.filter((one) => one.tries === 1)
  // None is repeated, however the clock was set.
  for (const [index, { dueMs, count }] of fires.entries()) {
    expect(count).toBe(index + 1)
    if (index > 0) expect(dueMs).toBeGreaterThan(fires[index - 1]!.dueMs)
  }
  const terminates = onError === 'terminate' || onError === 'log-and-terminate'
  if (terminates && fails >= mostTries && overlap === 'forbid') expect(fires.length).toBeLessThanOrEqual(1)
  if (unscheduled || whenLate !== 'wait' || (terminates && fails > 0)) return
  const inTime = Math.floor((endMs - startMs) / intervalMs) + 1
  expect(fires).toHaveLength(maxCount === -1 ? inTime : Math.min(inTime, maxCount))
}

/** Each fire whose last try failed is logged, once, where that is to be logged; and no other. */
function checkLog(tries: readonly Begun[], { fails, onError }: Planned, log: readonly ClockJobLogEntry[]): void {
  const last = new Map(tries.map((one) => [one.dueMs, one.tries]))
  const failed = [...last].filter(([, tries]) => tries <= fails).map(([dueMs]) => dueMs)
  const logs = onError === 'log-and-continue' || onError === 'log-and-terminate'
  const logged = log.map(({ scheduledFor }) => scheduledFor.getTime() - epochMs)
  expect(logged.sort((a, b) => a - b)).toEqual(logs ? failed.sort((a, b) => a - b) : [])
}
