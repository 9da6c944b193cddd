import { isTaskError, TaskError } from '@taskstream/task-api'
import type { Execution, NodeInfo } from '@taskstream/task-api'
import { limitTransactions, systemClock } from '@taskstream/task-processor'
import type { Condition, LimitedTransactions } from '@taskstream/task-processor'
import { periodicTasks } from '@taskstream/task-scheduler'
import type { PeriodicTasks } from '@taskstream/task-scheduler'
import { given } from './given.ts'
import type { StreamDriver, StreamOptions } from './stream-options.ts'

/** After how long a stream looks again for timers that it has left to other processes, in milliseconds. */
const lookAgainMs = 60_000
/** Processes of which nothing was heard for so long do not live, in milliseconds. */
const heardMs = 600_000
/** How long a stop waits for a look under way, in milliseconds. */
const leaveMs = 5_000

export interface UndeclaredOptions {
  readonly scope: string
  readonly application: string
  readonly condition: Pick<Condition, 'failed' | 'worked'>
}

/**
 * Removes the timers that an application no longer declares. It leaves those alone that another living process declares for the same application, and
 * looks again for them: in a deployment, processes of the release before live for a while.
 */
export class UndeclaredTimers<Transaction, E extends Execution> {
  readonly #driver: StreamDriver<Transaction, E>
  readonly #options: UndeclaredOptions
  readonly #clock: NonNullable<StreamOptions<Transaction>['clock']>
  readonly #timers: PeriodicTasks<Transaction, E>
  readonly #transactions: LimitedTransactions<Transaction>
  #looking: Promise<void> | undefined
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

  /** Removes those of these timers that no other process declares, and records it. @returns those that are left */
  async remove(transaction: Transaction, ids: readonly string[]): Promise<readonly string[]> {
    if (ids.length === 0) return []
    const { repository } = this.#driver
    const { scope, application } = this.#options
    const nodes = (await repository.nodes(transaction, { withinMs: heardMs })) as readonly NodeInfo[]
    const isDeclared = declaredBy(nodes, scope, application)
    const removed: string[] = []
    for (const id of ids) if (!isDeclared(id) && (await this.#removed(transaction, id))) removed.push(id)
    if (removed.length > 0)
      await repository.record(transaction, {
        action: 'timer remove',
        via: 'start',
        actor: application,
        note: 'the application no longer defines them',
        count: 0,
        filter: { scope, ids: removed },
      })
    return ids.filter(isDeclared)
  }

  /** Looks for these timers again, until none is left. */
  lookAgain(ids: readonly string[]): void {
    if (ids.length === 0 || this.#stopped) return
    this.#cancel = this.#clock.after(lookAgainMs, () => {
      this.#looking = this.#look(ids).then((left) => this.lookAgain(left))
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
  async #look(ids: readonly string[]): Promise<readonly string[]> {
    const { application, condition } = this.#options
    try {
      const left = await this.#transactions(async (transaction) => {
        const found = await this.#timers.list(transaction, { application })
        return await this.remove(
          transaction,
          ids.filter((id) => found.some((timer) => timer.id === id)),
        )
      })
      condition.worked()
      return left
    } catch (error) {
      condition.failed(error)
      return ids
    }
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
