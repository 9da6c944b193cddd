import { TaskError } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import type { Leftovers } from '../batches/leftovers.ts'
import { within } from '../core/clock.ts'
import type { HungHandlers } from '../core/hung-handlers.ts'
import type { Clock } from '../core/clock.ts'
import type { PollLoop } from '../polling/poll-loop.ts'
import type { SharedLimits } from '../polling/shared-limits.ts'
import type { StopOptions, StopReport } from './stop-report.ts'
import { StopTally } from './stop-tally.ts'
import type { StopTallyOptions } from './stop-tally.ts'

export interface TopicStopOptions<Transaction> extends Omit<StopTallyOptions<Transaction>, 'wasReturned'> {
  readonly clock: Clock
  readonly leftovers: Leftovers<Transaction>
  readonly loop: PollLoop<Transaction>
  readonly limits: SharedLimits<Transaction>
  readonly hung: HungHandlers
  /** Whether the topic was started again, after a stop whose last step took too long. */
  readonly isReplaced: () => boolean
  /** Closes the handler; never rejects. */
  readonly close: () => Promise<void>
  /** Called when the stop is over, before its report resolves. */
  readonly onEnd: () => void
}

/** Stops a topic in phases: handlers may finish, then are asked to let go, and then the tasks that they still hold are handed back. */
export class TopicStop<Transaction> {
  readonly report: Promise<StopReport>
  readonly #options: TopicStopOptions<Transaction>
  readonly #tally: StopTally<Transaction>
  /** Each ends one of the phases early. */
  readonly #phases: readonly PromiseWithResolvers<void>[] = [
    Promise.withResolvers(),
    Promise.withResolvers(),
    Promise.withResolvers(),
  ]
  /** How long the handler may take to close, and the database for the last question. Both begin after the phases, so a process that stood still has them left. */
  #closeMs = Infinity
  #lastMs = Infinity
  readonly #hurrying: (() => void)[] = []

  constructor(options: TopicStopOptions<Transaction>, times: Required<StopOptions>) {
    const { topic, leftovers, loop, onEnd } = options
    this.#options = options
    const wasReturned = (task: HeldTask): boolean => leftovers.wasReturned(task)
    this.#tally = new StopTally({ ...options, wasReturned }, loop.batches, leftovers.of(topic))
    this.report = this.#run(times).finally(() => {
      for (const cancel of this.#hurrying.splice(0)) cancel()
      onEnd()
    })
  }

  /** Shortens the stop to the times that a further caller allows. */
  hurry({ graceMs, abortMs, leaveMs }: Required<StopOptions>): void {
    const { clock } = this.#options
    this.#limit(abortMs, leaveMs)
    const ends = [graceMs, graceMs + abortMs, graceMs + abortMs + leaveMs / 2]
    for (const [index, ms] of ends.entries()) this.#hurrying.push(clock.after(ms, () => this.#phases[index]!.resolve()))
  }

  async #run({ graceMs, abortMs, leaveMs }: Required<StopOptions>): Promise<StopReport> {
    const { clock, leftovers, topic, loop, limits, hung, isReplaced, close } = this.#options
    const tally = this.#tally
    this.#limit(abortMs, leaveMs)
    const abortEndMs = clock.monotonicMs() + graceMs + abortMs
    let isOver = false
    const drained = loop.drain((batch) => {
      tally.add(batch)
      // Nobody waits for this batch any more.
      if (isOver) batch.giveUp()
    })
    const closed = drained.then(close)
    // Nobody knows what a poll has taken that was not answered. If the stop is over by then, maintenance asks.
    const settled = drained.then(async () => {
      if (!isOver)
        await leftovers.settle(
          topic,
          [...loop.batches].flatMap(({ tasks }) => tasks),
          () => isOver,
        )
    })
    await this.#during(0, graceMs, this.#ended(drained))
    if (loop.batches.size > 0) {
      const reason = new TaskError('SHUTDOWN', 'The node is stopping, and its grace is over', { graceMs })
      for (const batch of loop.batches) batch.abort(reason)
      // If a further caller has ended the grace early, handlers get the rest of it to let go.
      await this.#during(1, Math.max(abortMs, abortEndMs - clock.monotonicMs()), this.#ended(drained))
    }
    const returned = [leftovers.handBack(topic), ...[...loop.batches].map((batch) => batch.handBack())]
    // Batches that a poll still brings are handed back too.
    const late = drained.then(() => Promise.all([...loop.batches].map((batch) => batch.handBack())))
    // This step gets half of the time, the next two a quarter, and the node's end the rest.
    await this.#during(2, leaveMs / 2, Promise.allSettled([...returned, late, settled]))
    isOver = true
    for (const batch of loop.batches) {
      tally.add(batch)
      batch.giveUp()
      // A later start begins fewer.
      hung.add(batch.handled)
      // The handlers do not let go of these tasks, so they are handed back later, unless what is under way writes them by then.
      leftovers.add(topic, batch.leased)
      void Promise.allSettled([...returned, late, batch.ended]).then(() => {
        const still = new Set(batch.leased)
        leftovers.forget(
          topic,
          batch.tasks.filter((task) => !still.has(task)),
        )
      })
    }
    // The wait is limited, as closing may wait for a worker that is stuck.
    await within(clock, this.#closeMs, closed)
    // Tasks count as abandoned if the database does not answer. Slots are then given back by maintenance, or free when the owner counts as dead.
    const left = (): number | undefined => (isReplaced() ? undefined : leftovers.of(topic).length)
    const asked = tally.ask().finally(() => limits.leave(left))
    await within(clock, this.#lastMs, asked).catch(() => {})
    return tally.report()
  }

  /** Limits the last two waits to the shortest times that a caller gives. */
  #limit(abortMs: number, leaveMs: number): void {
    this.#lastMs = Math.min(this.#lastMs, leaveMs / 8)
    this.#closeMs = Math.min(this.#closeMs, abortMs, leaveMs / 8)
  }

  #during(phase: number, ms: number, work: Promise<unknown>): Promise<void> {
    return within(this.#options.clock, ms, Promise.race([work, this.#phases[phase]!.promise]))
  }

  async #ended(drained: Promise<void>): Promise<void> {
    await drained
    for (const batch of this.#options.loop.batches) this.#tally.add(batch)
    await Promise.all([...this.#tally.batches].map((batch) => batch.ended))
  }
}
