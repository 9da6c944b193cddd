/** The handlers of the model. Each waits until the schedule lets it go on, or until it reacts to its signal. */
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import type { BatchHandler, Decisions } from '@taskstream/task-processor'
import type { AnyTransaction } from '../subject.ts'
import type { Call, Ledger } from './node-ledger.ts'
import type { Manner, Reaction } from './node-schedule.ts'

/** The delay of every retry. */
const retryAfterMs = 700

const everyTask: Readonly<Partial<Record<Manner | Reaction, TaskDecision>>> = {
  succeeds: TaskDecision.success(),
  fails: TaskDecision.failure(),
  suspends: TaskDecision.suspension(),
  filters: TaskDecision.filter(),
  retries: TaskDecision.retry({ afterMs: retryAfterMs }),
}

interface Held {
  readonly call: Call
  go: PromiseWithResolvers<Manner | Reaction>
  /** Whether the handler has called `complete`. */
  hasCompleted: boolean
}

export class NodeHandlers {
  readonly #ledger: Ledger
  readonly #held: Set<Held> = new Set()
  #count = 0
  #areFree = false

  constructor(ledger: Ledger) {
    this.#ledger = ledger
  }

  /** Lets one of the running handlers go on, if there is one. */
  letGo(pick: number, manner: Manner): void {
    const held = [...this.#held]
    held[pick % held.length]?.go.resolve(manner)
  }

  /** Makes all handlers succeed, and all later ones at once. */
  letAllGo(): void {
    this.#areFree = true
    for (const { go } of this.#held) go.resolve('succeeds')
  }

  readonly handle: BatchHandler<AnyTransaction> = async (tasks, context) => {
    const { reactions } = this.#ledger.setting
    const held: Held = { call: this.#ledger.call(tasks, context), go: Promise.withResolvers(), hasCompleted: false }
    const reaction = reactions[this.#count++ % reactions.length]!
    const react = (): void => held.go.resolve(reaction)
    if (reaction !== 'ignores' && context.signal.aborted) react()
    else if (reaction !== 'ignores') context.signal.addEventListener('abort', react)
    this.#held.add(held)
    try {
      for (;;) {
        if (this.#areFree) held.go.resolve('succeeds')
        const manner = await held.go.promise
        held.go = Promise.withResolvers()
        if (!manner.startsWith('completes')) return this.#decide(held, manner)
        await this.#complete(held, manner)
        if (context.aborted) return undefined
      }
    } finally {
      this.#held.delete(held)
      this.#ledger.ended(held.call)
    }
  }

  /** Ends a handler in a manner. A handler that has completed its batch decides nothing more. */
  #decide({ call, hasCompleted }: Held, manner: Manner | Reaction): Decisions | void {
    const { tasks, context } = call
    const decision = everyTask[manner]
    const half = tasks.slice(0, Math.floor(tasks.length / 2))
    if (decision || manner.endsWith('half')) {
      const given = decisions(decision ? tasks : half, decision ?? TaskDecision.success())
      if (!hasCompleted) this.#ledger.decided(call, given, false)
      return given
    }
    if (manner === 'returns nothing') {
      if (!hasCompleted && context.aborted) this.#ledger.decided(call, new Map(), false)
      else if (!hasCompleted) this.#ledger.threw(call)
      return undefined
    }
    if (!hasCompleted) this.#ledger.threw(call)
    if (manner === 'throws') throw new Error('broken')
    return decisions([{ ...tasks[0]! }], TaskDecision.success())
  }

  async #complete(held: Held, manner: Manner | Reaction): Promise<void> {
    const { call, hasCompleted } = held
    const { tasks, context } = call
    held.hasCompleted = true
    // A second completion is refused, whatever it decides.
    const decision = hasCompleted ? TaskDecision.failure('a second time') : TaskDecision.success()
    if (!hasCompleted && !manner.endsWith('throw')) this.#ledger.decided(call, decisions(tasks, decision), true)
    if (manner === 'completes') return void (await context.complete(decisions(tasks, decision)))
    try {
      await context.complete((_, some) => {
        if (manner.endsWith('throw')) throw new Error('broken writes')
        return decisions(some, decision)
      })
    } catch (error) {
      if (!hasCompleted) this.#ledger.threw(call)
      throw error
    }
  }
}

function decisions(tasks: readonly HeldTask[], decision: TaskDecision): Decisions {
  return new Map(tasks.map((task) => [task, decision]))
}
