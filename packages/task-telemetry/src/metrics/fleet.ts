/** Numbers of the whole database, which every process that reads them has alike. */
import type {
  Activation,
  ErrorGroup,
  Execution,
  NodeInfo,
  StoredTimer,
  TimedTaskRepository,
  TopicOverview,
  TransactionSource,
} from '@taskstream/task-api'
import { checkInteger, checkNames, invalid, optionNames } from '@taskstream/task-api'
import { messaging, own } from '../core/conventions.ts'
import type { Limits } from '../core/limits.ts'
import { fleetMetrics } from './definitions.ts'
import type { Observation } from './instruments.ts'

const ms = 1_000
const minute = 60 * ms
/** Within which span failures are counted, and for how long an error is new: as `attention` has it. */
export const spans: { readonly failuresWithinMs: number; readonly newErrorMs: number } = {
  failuresWithinMs: 15 * minute,
  newErrorMs: 60 * minute,
}
/** How long what was read is told again. Several scrapers, or an impatient one, cost the database no more than one. */
const freshMs = 10_000
/** How long what nobody was told of is told: what took longer than a scrape waits is for the next. */
const untoldMs = minute
/** How long a scrape waits for the database. Then it tells that the numbers could not be read, and what the process knows of itself. */
const patienceMs = 3_000
/** How long a statement may take, where the database can limit that: nobody waits for its answer any more. */
const statementMs = 10_000

export interface FleetOptions<Transaction> {
  readonly tasks: Pick<
    TimedTaskRepository<Transaction, Execution>,
    'overview' | 'activations' | 'nodes' | 'errors' | 'timers'
  > & {
    /** Reads the version of the tables. Default: it is not told. */
    schemaStatus?(transactions: TransactionSource<Transaction>): Promise<{ readonly found: number }>
    /** Limits the statements of a transaction. Default: they are not limited. */
    limitStatements?(transaction: Transaction, ms: number): unknown
  }
  /** Transactions that only read. */
  readonly transactions: TransactionSource<Transaction>
  /** How far tasks are counted in each topic and state, 1 to 1 000 000. Default 10 000: whoever scales needs no more. */
  readonly limit?: number
  /**
   * Examines the database. Default: nothing is examined.
   *
   * @example
   * examine: () => examine({ tasks, transactions })
   */
  readonly examine?: () => Promise<readonly { readonly check: string; readonly severity: string }[]>
}

const names = optionNames<FleetOptions<never>>('fleet', { tasks: true, transactions: true, limit: true, examine: true })

interface Snapshot {
  readonly nowMs: number
  readonly topics: readonly TopicOverview[]
  readonly activations: ReadonlyMap<string, Activation>
  readonly nodes: readonly NodeInfo[]
  readonly errors: readonly ErrorGroup[]
  readonly timers: readonly StoredTimer[]
}

/** What is told of a topic, or of all topics beyond the limit together. */
interface Totals {
  ready: number
  active: number
  waiting: number
  oldestReadyMs: number
  failed: number
  newErrors: number
  nodes: number
  pausedMs: number
}

/** Reads the numbers at most once in ten seconds, and never twice at a time: a table that somebody has locked must not cost all connections of a pool. */
export class Fleet<Transaction> {
  readonly #options: FleetOptions<Transaction>
  readonly #limits: Limits
  #read: Promise<readonly Observation[]> | undefined
  #isReading = false
  #isTold = true
  #readMs = -Infinity

  /** @throws TaskError ARGUMENT_INVALID */
  constructor(options: FleetOptions<Transaction>, limits: Limits) {
    checkNames(names, options)
    const { tasks, transactions, limit, examine } = options
    if (typeof tasks !== 'object' || tasks === null) throw invalid('fleet.tasks', tasks, 'must be a repository')
    if (typeof transactions !== 'function') throw invalid('fleet.transactions', transactions, 'must be a transaction source')
    if (limit !== undefined) checkInteger('fleet.limit', limit, 1, 1_000_000)
    if (examine !== undefined && typeof examine !== 'function')
      throw invalid('fleet.examine', examine, 'must be a function, such as () => examine({ tasks, transactions })')
    this.#options = options
    this.#limits = limits
  }

  /** Never rejects: what cannot be read, or not soon, is told as such. */
  async observations(): Promise<readonly Observation[]> {
    const ageMs = performance.now() - this.#readMs
    if (!this.#isReading && ageMs > (this.#isTold ? freshMs : untoldMs)) this.#begin()
    const { promise: late, resolve } = Promise.withResolvers<undefined>()
    const timer = setTimeout(resolve, patienceMs, undefined)
    const told = await Promise.race([this.#read, late])
    clearTimeout(timer)
    if (!told) return [up(0)]
    this.#isTold = true
    return told
  }

  #begin(): void {
    this.#isReading = true
    this.#isTold = false
    this.#read = this.#all()
      .catch(() => [up(0)])
      .finally(() => {
        this.#isReading = false
        this.#readMs = performance.now()
      })
  }

  async #all(): Promise<readonly Observation[]> {
    const { tasks, transactions, examine } = this.#options
    const snapshot = await this.#snapshot()
    const observations = [up(1), ...this.#ofTopics(snapshot), ofTimers(snapshot)]
    if (tasks.schemaStatus) {
      const { found } = await tasks.schemaStatus(transactions)
      observations.push({ definition: fleetMetrics.schemaVersion, value: found, labels: {} })
    }
    for (const { check, severity } of (await examine?.()) ?? [])
      observations.push({
        definition: fleetMetrics.examination,
        value: 1,
        labels: { [own.check]: check, [own.severity]: severity },
      })
    return observations
  }

  #snapshot(): Promise<Snapshot> {
    const { tasks, transactions, limit = 10_000 } = this.#options
    return transactions(async (transaction): Promise<Snapshot> => {
      await tasks.limitStatements?.(transaction, statementMs)
      const topics: readonly TopicOverview[] = await tasks.overview(transaction, { limit })
      const [first] = topics
      return {
        nowMs: first ? ((await tasks.timers.now(transaction, first.topic)) as number) : Date.now(),
        topics,
        activations: (await tasks.activations(transaction)) as ReadonlyMap<string, Activation>,
        nodes: (await tasks.nodes(transaction)) as readonly NodeInfo[],
        errors: (await tasks.errors(transaction, { withinMs: spans.failuresWithinMs })) as readonly ErrorGroup[],
        timers: (await tasks.timers.list(transaction, {})) as readonly StoredTimer[],
      }
    })
  }

  *#ofTopics({ topics, activations, nodes, errors, nowMs }: Snapshot): Generator<Observation> {
    const totals = new Map<string, Totals>()
    const living = nodes.filter(({ life, quiet }) => (life === 'living' || life === 'silent') && !quiet)
    const processed = countBy(
      living.flatMap(({ report }) => report?.topics ?? []),
      ({ topic }) => topic,
    )
    for (const { topic, ready, active, delayed, oldestReadyMs = 0 } of topics) {
      const name = this.#limits.topic(topic)
      const activation = activations.get(topic)
      const pausedMs = activation?.active === false ? Math.max(1, nowMs - activation.changed.getTime()) : 0
      const of = errors.filter((group) => group.topic === topic)
      const failed = of.reduce((sum, { count }) => sum + count, 0)
      // What has healed by itself wakes nobody: a crash, say, or a try that another one followed.
      const isLeft = ({ first, open, pending }: ErrorGroup): boolean =>
        nowMs - first.getTime() < spans.newErrorMs && open + pending > 0
      const newErrors = of.filter(isLeft).length
      const nodesOf = processed.get(topic) ?? 0
      const before = totals.get(name)
      totals.set(name, {
        ready: ready + (before?.ready ?? 0),
        active: active + (before?.active ?? 0),
        waiting: delayed + (before?.waiting ?? 0),
        oldestReadyMs: Math.max(oldestReadyMs, before?.oldestReadyMs ?? 0),
        failed: failed + (before?.failed ?? 0),
        newErrors: newErrors + (before?.newErrors ?? 0),
        // Of topics that are told of together, the worst off counts.
        nodes: Math.min(nodesOf, before?.nodes ?? Infinity),
        pausedMs: Math.max(pausedMs, before?.pausedMs ?? 0),
      })
    }
    for (const [name, total] of totals) {
      const labels = { [messaging.destination]: name }
      for (const state of ['ready', 'active', 'waiting'] as const)
        yield { definition: fleetMetrics.tasks, value: total[state], labels: { ...labels, [own.state]: state } }
      yield { definition: fleetMetrics.oldestReady, value: total.oldestReadyMs / ms, labels }
      yield { definition: fleetMetrics.failedRecent, value: total.failed, labels }
      yield { definition: fleetMetrics.newErrors, value: total.newErrors, labels }
      yield { definition: fleetMetrics.nodes, value: total.nodes, labels }
      yield { definition: fleetMetrics.paused, value: total.pausedMs / ms, labels }
    }
  }
}

function up(value: number): Observation {
  return { definition: fleetMetrics.fleetUp, value, labels: {} }
}

function ofTimers({ timers, nowMs }: Snapshot): Observation {
  const lateMs = timers.map(({ due }) => (due === null ? 0 : nowMs - due))
  return { definition: fleetMetrics.timerOverdue, value: Math.max(0, ...lateMs) / ms, labels: {} }
}

function countBy<Item>(items: readonly Item[], keyOf: (item: Item) => string): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const item of items) counts.set(keyOf(item), (counts.get(keyOf(item)) ?? 0) + 1)
  return counts
}
