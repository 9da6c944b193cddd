import { isTaskError, TaskError } from '@taskstream/task-api'
import type { Execution, NodeInfo, RecordedAction } from '@taskstream/task-api'
import { limitTransactions, systemClock } from '@taskstream/task-processor'
import type { Condition, LimitedTransactions } from '@taskstream/task-processor'
import { periodicTasks } from '@taskstream/task-scheduler'
import type { PeriodicTask, PeriodicTaskInfo, PeriodicTasks } from '@taskstream/task-scheduler'
import { given } from './given.ts'
import type { StreamDriver, StreamOptions } from './stream-options.ts'

/** After how long a stream looks again for timers that nobody declares, in milliseconds. */
const lookAgainMs = 60_000
/** Processes of which nothing was heard for so long do not live, in milliseconds. */
const heardMs = 600_000
/** How long a stop waits for a look under way, in milliseconds. */
const leaveMs = 5_000

export interface UndeclaredOptions {
  readonly scope: string
  readonly application: string
  readonly condition: Pick<Condition, 'failed' | 'worked'>
  /** The timers that this process declares. */
  readonly own: ReadonlyMap<string, PeriodicTask>
}

/** By this, a record tells that a start, or a process that looks, has removed timers, and no operator. */
const via = 'start'

/**
 * Removes the timers that an application no longer declares: at its start, and again and again as long as it runs. It leaves those alone that another living
 * process declares for the same application, as processes of the release before do. A timer that is found later is removed when it is found for the second
 * time: its process may only be starting anew.
 */
export class UndeclaredTimers<Transaction, E extends Execution> {
  readonly #driver: StreamDriver<Transaction, E>
  readonly #options: UndeclaredOptions
  readonly #clock: NonNullable<StreamOptions<Transaction>['clock']>
  readonly #timers: PeriodicTasks<Transaction, E>
  readonly #transactions: LimitedTransactions<Transaction>
  #looking: Promise<void> | undefined
  /** The timers that nobody has declared at the last look. */
  #found: ReadonlySet<string> = new Set()
  #cancel = (): void => {}
  #stopped = false

  constructor(
    driver: StreamDriver<Transaction, E>,
    { clock = systemClock, statementTimeoutMs }: StreamOptions<Transaction>,
    options: UndeclaredOptions,
  ) {
    this.#driver = driver
    this.#options = options
    this.#clock = clock
    this.#timers = periodicTasks(driver.repository, { scope: options.scope })
    this.#transactions = limitTransactions(driver.repository, driver.transactions, given({ statementTimeoutMs }))
  }

  /** Removes those of these timers that no living process declares, and records it. @returns those that were removed */
  async remove(transaction: Transaction, ids: readonly string[]): Promise<readonly string[]> {
    const undeclared = await this.#undeclared(transaction, ids)
    const removed: string[] = []
    for (const id of undeclared) if (await this.#removed(transaction, id)) removed.push(id)
    const { scope, application } = this.#options
    if (removed.length > 0)
      await this.#driver.repository.record(transaction, {
        action: 'timer remove',
        via,
        actor: application,
        note: 'the application no longer defines it',
        count: 0,
        filter: { scope, ids: removed },
      })
    return removed
  }

  /** Looks every minute from now on. */
  begin(): void {
    if (this.#stopped) return
    this.#cancel = this.#clock.after(lookAgainMs, () => {
      this.#looking = this.#look().then(() => this.begin())
    })
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancel()
    const unanswered = new TaskError('DATABASE_UNAVAILABLE', 'The stream has stopped, and waits for the database no longer')
    const cancel = this.#clock.after(leaveMs, () => this.#transactions.end(unanswered))
    await this.#looking
    cancel()
  }

  /** Never rejects. */
  async #look(): Promise<void> {
    const { application, condition, own } = this.#options
    try {
      this.#found = await this.#transactions(async (transaction) => {
        const known = await this.#timers.list(transaction, { application })
        await this.#putBack(transaction, known)
        const others = known.map(({ id }) => id).filter((id) => !own.has(id))
        const undeclared = await this.#undeclared(transaction, others)
        await this.remove(
          transaction,
          undeclared.filter((id) => this.#found.has(id)),
        )
        return new Set(undeclared)
      })
      condition.worked()
    } catch (error) {
      condition.failed(error)
    }
  }

  /** Puts back what another process has removed although this one lives. What an operator has removed stays away until the next start. */
  async #putBack(transaction: Transaction, known: readonly PeriodicTaskInfo[]): Promise<void> {
    const { own, scope, application } = this.#options
    const there = new Set(known.map(({ id }) => id))
    const missing = [...own.keys()].filter((id) => !there.has(id))
    if (missing.length === 0) return
    const { repository } = this.#driver
    const actions = (await repository.actions(transaction, { limit: 1_000, details: false })) as readonly RecordedAction[]
    const ids = missing.filter((id) => lastRemovalOf(actions, scope, id)?.via === via)
    if (ids.length === 0) return
    await this.#timers.reconcile(
      transaction,
      application,
      ids.map((id) => own.get(id)!),
    )
    const note = 'a living process still defines it'
    await repository.record(transaction, {
      action: 'timer add',
      via,
      actor: application,
      note,
      count: 0,
      filter: { scope, ids },
    })
  }

  /** Those of these timers that no living process declares. */
  async #undeclared(transaction: Transaction, ids: readonly string[]): Promise<readonly string[]> {
    if (ids.length === 0) return []
    const { scope, application } = this.#options
    const nodes = (await this.#driver.repository.nodes(transaction, { withinMs: heardMs })) as readonly NodeInfo[]
    const isDeclared = declaredBy(nodes, scope, application)
    return ids.filter((id) => !isDeclared(id))
  }

  /** @returns whether the timer was there: another process may have removed it at the same time */
  async #removed(transaction: Transaction, id: string): Promise<boolean> {
    try {
      await this.#timers.remove(transaction, id)
      return true
    } catch (error) {
      if (isTaskError(error, 'TIMER_UNKNOWN')) return false
      throw error
    }
  }
}

/** The last action that has removed a timer, of actions of which the last comes first. */
function lastRemovalOf(actions: readonly RecordedAction[], scope: string, id: string): RecordedAction | undefined {
  return actions.find(({ action, filter }) => {
    const named = filter as { readonly scope?: unknown; readonly ids?: readonly unknown[] } | undefined
    return action === 'timer remove' && named?.scope === scope && Array.isArray(named.ids) && named.ids.includes(id)
  })
}

/** Tells of a timer whether a living process declares it. */
function declaredBy(nodes: readonly NodeInfo[], scope: string, application: string): (id: string) => boolean {
  const declared = nodes
    .filter(({ life }) => life === 'living' || life === 'silent')
    .flatMap(({ report }) => report?.declares ?? [])
    .filter((each) => each.scope === scope && each.application === application)
  // A process of another release may tell it in another form.
  const isWhole = declared.every(({ timers, omitted }) => Array.isArray(timers) && omitted === undefined)
  if (!isWhole) return () => true
  const ids = new Set(declared.flatMap(({ timers }) => timers))
  return (id) => ids.has(id)
}
