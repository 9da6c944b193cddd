import type { Activation, Execution, TaskRepository } from '@taskstream/task-api'
import { every } from './clock.ts'
import type { Clock } from './clock.ts'
import type { Dispatcher } from './dispatcher.ts'
import { Condition } from './listener.ts'
import type { SafeListener } from './listener.ts'
import type { TaskManager } from './task-manager.ts'

export interface ActivationsOptions<Transaction> {
  readonly repository: TaskRepository<Transaction, Execution>
  readonly dispatcher: Dispatcher<Transaction>
  readonly listener: SafeListener
  readonly clock: Clock
  readonly intervalMs: number
  readonly managers: () => Iterable<TaskManager<Transaction>>
}

/** A notifier that cannot tell topics apart may call for every commit of others: it is looked so often at most. */
const atMostEveryMs = 1_000

/**
 * Starts and stops managers as was said in the database. It acts on what has changed since it looked last, and writes nothing: a manager
 * that was stopped by hand stays so, and nodes do not call each other in circles.
 */
export class Activations<Transaction> {
  readonly #options: ActivationsOptions<Transaction>
  readonly #condition: Condition
  /** What was acted on, by topic. */
  readonly #seen: Map<string, string> = new Map()
  /** What managers are still doing about it: one after the other, so that the last word counts. */
  readonly #acting: Map<string, Promise<void>> = new Map()
  #looking: Promise<void> | undefined
  #again = false
  #stopped = false
  #lookedMs = -Infinity
  #end = (): void => {}
  #cancelLook = (): void => {}

  constructor(options: ActivationsOptions<Transaction>) {
    this.#options = options
    this.#condition = new Condition(options.listener, 'activation')
  }

  /** Goes on looking, now and then. */
  start(): void {
    this.#end = every(this.#options.clock, this.#options.intervalMs, () => this.look())
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#end()
    this.#cancelLook()
    await this.#looking
  }

  /** Starts those managers that are to run. @throws what the database, or the start of a manager throws */
  async begin(managers: Iterable<TaskManager<Transaction>>): Promise<void> {
    const stored = await this.#read()
    for (const manager of managers) {
      const activation = stored.get(manager.topic)
      if (activation) this.#seen.set(manager.topic, keyOf(activation))
      const { activation: otherwise } = manager.processing
      const active = otherwise === 'ignored' || (activation?.active ?? otherwise === 'active')
      if (active) await manager.start()
    }
  }

  /** Something may have changed; without a topic, a moment later is soon enough. */
  look(topic?: string): void {
    if (this.#stopped) return
    const { clock } = this.#options
    const waitMs = topic === undefined ? this.#lookedMs + atMostEveryMs - clock.monotonicMs() : 0
    this.#cancelLook()
    if (waitMs > 0) this.#cancelLook = clock.after(waitMs, () => this.look())
    else if (this.#looking) this.#again = true
    else this.#looking = this.#look().finally(() => (this.#looking = undefined))
  }

  /** Never rejects. */
  async #look(): Promise<void> {
    do {
      this.#again = false
      this.#lookedMs = this.#options.clock.monotonicMs()
      try {
        const stored = await this.#read()
        this.#condition.worked()
        for (const manager of this.#stopped ? [] : this.#options.managers()) this.#compare(manager, stored.get(manager.topic))
      } catch (error) {
        this.#condition.failed(error)
      }
    } while (this.#again)
  }

  #read(): Promise<ReadonlyMap<string, Activation>> {
    const { repository, dispatcher } = this.#options
    return dispatcher.once<ReadonlyMap<string, Activation>>((transaction) => repository.activations(transaction))
  }

  #compare(manager: TaskManager<Transaction>, stored: Activation | undefined): void {
    const { topic, processing } = manager
    if (!stored || processing.activation === 'ignored' || this.#seen.get(topic) === keyOf(stored)) return
    this.#seen.set(topic, keyOf(stored))
    const before = this.#acting.get(topic) ?? Promise.resolve()
    this.#acting.set(
      topic,
      before
        .then<unknown>(() => (stored.active ? manager.start() : manager.stop()))
        .then(
          () => {},
          (error: unknown) => this.#options.listener.onError({ activity: 'activation', topic, error }),
        ),
    )
  }
}

function keyOf({ active, changed }: Activation): string {
  return `${active} ${changed.getTime()}`
}
