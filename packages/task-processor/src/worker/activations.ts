import { isPassing } from '@taskstream/task-api'
import type { Activation, Execution, TaskRepository, TopicLimits } from '@taskstream/task-api'
import { every } from '../core/clock.ts'
import type { Clock } from '../core/clock.ts'
import type { Dispatcher } from '../core/dispatcher.ts'
import { Condition } from '../core/listener.ts'
import type { SafeListener } from '../core/listener.ts'
import type { Patience } from '../core/patience.ts'
import type { StartLog } from './start-report.ts'
import type { TaskManager } from './task-manager.ts'

export interface ActivationsOptions<Transaction> {
  readonly repository: TaskRepository<Transaction, Execution>
  readonly dispatcher: Dispatcher<Transaction>
  readonly listener: SafeListener
  readonly clock: Clock
  readonly intervalMs: number
  /** When it looks for the first time. */
  readonly firstMs: number
  readonly managers: () => Iterable<TaskManager<Transaction>>
}

/** From so many topics on, a start reads what all topics are. */
const several = 8

/** What is stored of topics. */
interface Stored {
  readonly activations: ReadonlyMap<string, Activation>
  /** The topics that are initialized. */
  readonly known: ReadonlySet<string>
  readonly limits: ReadonlyMap<string, TopicLimits>
}

/** The pause between two looks without a topic: a notifier that cannot tell topics apart may call after every commit. */
const atMostEveryMs = 1_000

/**
 * Starts and stops managers by the activations in the database. It acts only on changes since its last look, so a manager that was stopped by hand stays
 * stopped. It writes nothing, so nodes do not trigger each other in circles.
 */
export class Activations<Transaction> {
  readonly #options: ActivationsOptions<Transaction>
  readonly #condition: Condition
  /** The last activation of each topic on which managers have acted. */
  readonly #seen: Map<string, string> = new Map()
  /** Starts and stops under way, by topic: one after the other, so that the last activation counts. */
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

  /** Looks at regular intervals from now on. */
  start(): void {
    const { clock, intervalMs, firstMs } = this.#options
    this.#end = every(clock, intervalMs, () => this.look(), firstMs)
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#end()
    this.#cancelLook()
    await this.#looking
  }

  /**
   * Makes the topics of managers known, and starts the active ones. A manager that is added meanwhile is not among them.
   *
   * @param log notes the outcome of each topic
   * @param patience how long to wait for a database that is away. Without it, such a database is an error
   * @throws the error of a database that is away
   */
  async begin(managers: Iterable<TaskManager<Transaction>>, log: StartLog, patience?: Patience): Promise<void> {
    const all = [...managers].map((manager) => ({ manager, stops: manager.stops }))
    const { activations, known, limits } = await this.#readAll(all.length >= several, patience)
    for (const { manager, stops } of all) {
      const { topic, processing } = manager
      const activation = activations.get(topic)
      if (activation) this.#seen.set(topic, keyOf(activation))
      const otherwise = processing.activation
      const isWanted = otherwise === 'ignored' || (activation?.active ?? otherwise === 'active')
      try {
        if (known.has(topic)) manager.found(limits.get(topic))
        await manager.makeKnown(patience)
        const active = isWanted && manager.stops === stops
        if (active) await manager.start()
        log[active ? 'started' : 'inactive'].push(topic)
      } catch (error) {
        if (isPassing(error) || this.#stopped) throw error
        log.failed.set(topic, error)
        this.#options.listener.onFatal({ topic, error })
      }
    }
  }

  /** Looks for changes: at once for a topic, and otherwise at most once a second. */
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

  async #read(patience?: Patience): Promise<ReadonlyMap<string, Activation>> {
    const { repository, dispatcher } = this.#options
    const read = (transaction: Transaction): ReadonlyMap<string, Activation> | Promise<ReadonlyMap<string, Activation>> =>
      repository.activations(transaction)
    return patience ? dispatcher.patiently(read, patience, this.#condition) : dispatcher.once(read, { single: true })
  }

  /** What a start wants to know of all its topics. A few of them ask for themselves: there may be many that this node does not process. */
  async #readAll(isMany: boolean, patience?: Patience): Promise<Stored> {
    const { repository, dispatcher } = this.#options
    if (!isMany) return { activations: await this.#read(patience), known: new Set(), limits: new Map() }
    return dispatcher.patiently<Stored>(
      async (transaction) => ({
        activations: await repository.activations(transaction),
        known: new Set(await repository.topics(transaction)),
        limits: await repository.limits(transaction),
      }),
      patience,
      this.#condition,
    )
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
