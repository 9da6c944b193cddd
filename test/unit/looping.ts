/** A poll loop over a database that answers as a test wants it to: what it asked for, what it told, and how long it slept. */
import { TaskDecision, TaskError } from '@taskstream/task-api'
import type { HeldTask, PollOptions, PromotedDue, SlotWish } from '@taskstream/task-api'
import type { BatchEnvironment } from '../../packages/task-processor/src/batches/batch.ts'
import { HungHandlers } from '../../packages/task-processor/src/core/hung-handlers.ts'
import { Leftovers } from '../../packages/task-processor/src/batches/leftovers.ts'
import { unlimited } from '../../packages/task-processor/src/polling/limiter.ts'
import type { TaskLimiter } from '../../packages/task-processor/src/polling/limiter.ts'
import { PollLoop } from '../../packages/task-processor/src/polling/poll-loop.ts'
import type { PollSettings } from '../../packages/task-processor/src/polling/poll-settings.ts'
import { SharedLimits } from '../../packages/task-processor/src/polling/shared-limits.ts'
import { SharedLook } from '../../packages/task-processor/src/polling/shared-look.ts'
import { SharedCommits } from '../../packages/task-processor/src/batches/shared-commits.ts'
import { SharedCompletions } from '../../packages/task-processor/src/batches/shared-completions.ts'
import { expect } from 'vitest'
import { answering, namesOf } from './answering.ts'
import type { Answering } from './answering.ts'
import { ringingClock } from './ringing-clock.ts'
import type { RingingClock } from './ringing-clock.ts'

export interface Looping extends Pick<Answering, 'told' | 'begun' | 'refusals'> {
  /** What is asked of the database: `promoteDue`, `poll 2`, `complete a,b`. */
  readonly asked: string[]
  readonly polls: PollOptions[]
  /** What polls bring. */
  readonly ready: HeldTask[]
  readonly clock: RingingClock
  readonly leftovers: Leftovers<object>
  readonly answers: Answering
  readonly loop: PollLoop<object>
  readonly fatal: unknown[]
  /** Called with each poll, and each release, before it is answered. */
  onPoll: () => void | Promise<void>
  onRelease: () => void
  /** Called with each completion, before it is answered. */
  onComplete: () => void | Promise<void>
  /** What is answered to a release. */
  due: PromotedDue
  /** Whether the owner's lease holds. */
  holds: boolean
  /** Whether the node was asked to take no more tasks. */
  quiet: boolean
  /** Slots of the limiter that are out. */
  slots: number
  /** Whether others have the slots of this process by now. */
  slotsFreed: boolean
  /** Whether the database cannot be reached when tokens are given back. */
  keepsTokens: boolean
  /** Batches whose handlers have begun, and those that may go on. */
  readonly handled: string[]
  /** Everything that goes on by itself has gone on: what is asked is answered at once. */
  settled(): Promise<void>
}

export interface LoopingOptions {
  readonly size?: number
  readonly mode?: 'leased' | 'transactional'
  readonly concurrency?: number
  /** Whether batches may be held ahead, as by default. */
  readonly mayHoldAhead?: boolean
  readonly idleMs?: number
  readonly poll?: Partial<PollOptions>
  readonly limiter?: TaskLimiter
  readonly timeoutMs?: number
  readonly handler?: BatchEnvironment<object>['handler']
  /** The limit of all processes, of which this one gets all: it asks for `slots 1 of 2` if it holds one and could hold two. */
  readonly total?: number
  /** How many tokens there are for each poll under the rate of all processes. The next one is there 400 ms later. */
  readonly tokens?: number
}

/** So often no loop goes round that sleeps. */
const enough = 10_000

export function looping(options: LoopingOptions = {}): Looping {
  const { size = 2, mode = 'leased', concurrency = 1, idleMs = 20_000, limiter = unlimited, timeoutMs } = options
  const { mayHoldAhead = false } = options
  const answers = answering()
  const { asked, told, begun, refusals, dispatcher, listener } = answers
  const clock = ringingClock()
  let polled: HeldTask[] = []
  const { repository: below } = answers.environment
  const repository = {
    ...below,
    poll: async (_: object, __: string, given: PollOptions) => {
      asked.push(`poll ${given.size}`)
      looped.polls.push(given)
      await looped.onPoll()
      polled = looped.ready.splice(0, given.size)
      return polled
    },
    complete: async (...given: Parameters<typeof below.complete>) => {
      const completion = below.complete(...given)
      await looped.onComplete()
      return completion
    },
    takeSlots: async (_: object, __: string, { held, wanted }: SlotWish) => {
      asked.push(`slots ${held} of ${wanted}`)
      return { slots: Math.min(wanted, options.total!) }
    },
    holdSlots: async () => {
      asked.push('holdSlots')
      // The loop rolls its poll back.
      if (looped.slotsFreed) looped.ready.unshift(...polled)
      return !looped.slotsFreed
    },
    takeTokens: async (_: object, __: string, size: number) => {
      asked.push(`tokens ${size}`)
      return { taken: Math.min(size, options.tokens!), ...(size > options.tokens! && { nextMs: 400 }) }
    },
    giveTokens: async (_: object, __: string, count: number) => {
      if (looped.keepsTokens) throw new TaskError('DATABASE_UNAVAILABLE', 'gone')
      asked.push(`give ${count}`)
    },
    promoteDue: async () => {
      asked.push('promoteDue')
      looped.onRelease()
      return looped.due
    },
  } as unknown as BatchEnvironment<object>['repository']
  const leftovers = new Leftovers({ repository, dispatcher, listener, clock })
  const handler: BatchEnvironment<object>['handler'] =
    options.handler ?? ((batch) => new Map(batch.map((task) => [task, TaskDecision.success()])))
  const environment = answers.handledBy((batch, context) => (looped.handled.push(namesOf(batch)), handler(batch, context)), {
    repository,
    completions: new SharedCompletions({ repository, dispatcher, topic: 'mail' }),
    commits: new SharedCommits({ repository, dispatcher, topic: 'mail', clock }, 1),
    clock,
    hung: new HungHandlers(
      () => concurrency,
      () => looped.loop.wake(),
    ),
    timeoutMs,
  })
  const counting: TaskLimiter = {
    acquire: async (topic, signal) => {
      const release = await limiter.acquire(topic, signal)
      looped.slots++
      return () => {
        looped.slots--
        release()
      }
    },
  }
  const limits = new SharedLimits<object>({ topic: 'topic', repository, dispatcher, clock })
  if (options.total !== undefined) limits.set({ total: options.total })
  if (options.tokens !== undefined) limits.set({ rate: { count: options.tokens, perMs: 1_000 } })
  let turns = 0
  const settings: PollSettings<object> = {
    poll: { ...options.poll, size },
    mode,
    get concurrency() {
      if (++turns > enough) throw new Error('the loop goes on for ever')
      return concurrency
    },
    mayHoldAhead,
    idleMs: () => idleMs,
    look: new SharedLook({ repository, dispatcher, listener, clock }),
    limiter: options.limiter ? counting : unlimited,
    limits,
    isQuiet: () => looped.quiet,
    lease: {
      get holds() {
        return looped.holds
      },
    },
    leftovers,
    onFatal: (error) => void looped.fatal.push(error),
  }
  const looped: Looping = {
    asked,
    polls: [],
    told,
    begun,
    refusals,
    ready: [],
    clock,
    leftovers,
    answers,
    loop: new PollLoop(environment, settings),
    fatal: [],
    onPoll: () => {},
    onRelease: () => {},
    onComplete: () => {},
    due: { promoted: 0 },
    holds: true,
    quiet: false,
    slots: 0,
    slotsFreed: false,
    keepsTokens: false,
    handled: [],
    settled: async () => {
      for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
    },
  }
  return looped
}

/** A loop that has done all that it does by itself. */
export async function started(options: LoopingOptions = {}, prepare: (loop: Looping) => void = () => {}): Promise<Looping> {
  const loop = looping(options)
  prepare(loop)
  loop.loop.start()
  await loop.settled()
  return loop
}

/** Sleeps to the end of its last pause, as often as there are pauses. */
export async function expectPauses(loop: Looping, pauses: readonly number[]): Promise<void> {
  for (const [index, pause] of pauses.entries()) {
    expect([index, loop.clock.pauses.at(-1)]).toEqual([index, pause])
    const before = loop.asked.length
    loop.clock.pass(pause - 0.5)
    await loop.settled()
    expect([index, loop.asked.length]).toEqual([index, before])
    loop.clock.pass(0.5)
    await loop.settled()
    expect(loop.asked.length).toBeGreaterThan(before)
  }
}
