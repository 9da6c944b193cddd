import { isTaskError, TaskError } from '@taskstream/task-api'
import type { CoordinationTables, Execution, GroupLeader } from '@taskstream/task-api'
import { limitTransactions } from '@taskstream/task-processor'
import type { LimitedTransactions } from '@taskstream/task-processor'
import type { LeaderOptions, LeaderSettings } from './leader-options.ts'
import { checkTables } from './leader-options.ts'
import { Sighting } from './sighting.ts'
import { Tenure } from './tenure.ts'

/** How soon a look is repeated that has met a transaction of the leader, which is about to end, or another node that was faster. */
const changedMs = 50

/** A node's part in its group: it sends heartbeats, looks who leads, and takes over from a leader that is silent. It does one thing at a time. */
export class Candidate<Transaction> {
  readonly #repository: LeaderOptions<Transaction, Execution>['repository']
  readonly #transactions: LimitedTransactions<Transaction>
  readonly #settings: LeaderSettings
  readonly #onElected: (tenure: Tenure) => void
  readonly #onDeposed: (tenure: Tenure, reason: TaskError) => void
  readonly #isBound: () => boolean
  readonly #sighting = new Sighting()
  #tenure: Tenure | undefined
  /** The greatest term that this process knows of. A database that was restored has lesser ones. */
  #mostTerm = 0
  /** The greatest term in which this process has led, or would have if the answer to its take-over had come. */
  #ownTerm = Infinity
  /** Whether another process uses this node's id. Then its heartbeats are not this one's, which would keep the other one alive. */
  #isTwin = false
  /** Since when this node tries to take over in vain. */
  #vainSinceMs: number | undefined
  /** Whether this node has sent a heartbeat, as far as it knows. */
  #hasEntered = false
  /** Whether the last look has found no tables. */
  #isTableless = false
  /** Why this node stands for election no longer. */
  #closed: TaskError | undefined

  constructor(
    { repository, transactions }: Pick<LeaderOptions<Transaction, Execution>, 'repository' | 'transactions'>,
    settings: LeaderSettings,
    events: {
      readonly onElected: (tenure: Tenure) => void
      readonly onDeposed: (tenure: Tenure, reason: TaskError) => void
      /** Whether work of an earlier leadership goes on. It would keep that of the next one waiting. */
      readonly isBound: () => boolean
    },
  ) {
    this.#repository = repository
    this.#settings = settings
    this.#transactions = limitTransactions(repository, transactions, { statementTimeoutMs: settings.lookTimeoutMs })
    this.#onElected = events.onElected
    this.#onDeposed = events.onDeposed
    this.#isBound = events.isBound
  }

  /** The leadership of this node, if it holds at this moment. */
  get tenure(): Tenure | undefined {
    return this.#tenure?.holds ? this.#tenure : undefined
  }

  /** Makes sure that there are tables. @throws TaskError SCHEMA_MISSING, ARGUMENT_INVALID; errors of the database */
  async prepare(): Promise<void> {
    const { coordination } = this.#repository
    const find = (): Promise<CoordinationTables> => this.#transactions(async (transaction) => coordination.tables(transaction))
    let tables = await find()
    if (!tables.found && this.#settings.createTables) {
      // Several nodes may make them at once. PostgreSQL then refuses some, for whom the tables are there.
      const refused = await this.#transactions(async (transaction) => void (await coordination.createTables(transaction))).then(
        () => undefined,
        (error: unknown) => error ?? new Error('refused'),
      )
      tables = await find()
      if (!tables.found && refused !== undefined) throw refused
    }
    if (!tables.found) throw tablesMissing()
    checkTables(this.#settings, tables)
  }

  /**
   * Sends a heartbeat, looks who leads, and takes over if nobody does.
   *
   * @returns the milliseconds until the next look
   * @throws TaskError TASK_ID_TAKEN, once; DATABASE_BUSY if it has tried in vain to take over for too long; the reason of `close`; errors of the database
   */
  async look(): Promise<number> {
    // Somebody has dropped the tables.
    if (this.#isTableless) await this.prepare()
    this.#isTableless = false
    try {
      return await this.#look()
    } catch (error) {
      if (!isTaskError(error, 'SCHEMA_MISSING')) throw error
      this.#isTableless = true
      throw tablesMissing(error)
    }
  }

  async #look(): Promise<number> {
    const { member, clock, heartbeatIntervalMs, patienceMs } = this.#settings
    const { coordination } = this.#repository
    this.#checkOpen()
    this.#hasEntered = true
    const sentMs = clock.monotonicMs()
    // A heartbeat would keep others from following it.
    const isBound = this.#isBound()
    const seen = await this.#briefly<GroupLeader | undefined>(async (transaction) => {
      if (!this.#isTwin && !isBound) await coordination.beat(transaction, member)
      return coordination.leader(transaction, member)
    })
    // Otherwise it would follow itself.
    this.#checkOpen()
    this.#sighting.note(seen, clock.monotonicMs())
    this.#mostTerm = Math.max(this.#mostTerm, seen?.term ?? 0)
    const nextMs = sentMs + heartbeatIntervalMs
    const vainSinceMs = this.#vainSinceMs ?? sentMs
    this.#vainSinceMs = undefined
    if (this.#isHeld(seen, sentMs)) return this.#until(nextMs)
    const isOwn = seen?.taskId === member.taskId
    const wasTwin = this.#isTwin
    this.#isTwin = isOwn && seen.term > this.#ownTerm
    if (this.#isTwin && !wasTwin) throw this.#taken()
    if (isBound) return this.#until(nextMs)
    const freeAtMs = isOwn && !this.#isTwin ? -Infinity : this.#sighting.freeAtMs(patienceMs)
    if (freeAtMs > clock.monotonicMs()) return this.#until(Math.min(nextMs, freeAtMs))
    const outcome = await this.#takeOver(seen)
    if (outcome === 'taken') return this.#until(nextMs)
    this.#vainSinceMs = vainSinceMs
    if (clock.monotonicMs() - vainSinceMs > patienceMs) throw this.#vain(outcome)
    return Math.min(changedMs, heartbeatIntervalMs)
  }

  /** Leaves the group, so that another node may lead at once. @throws the error of the database */
  async leave(): Promise<void> {
    const { member } = this.#settings
    // The heartbeats of a twin are not this node's.
    if (!this.#hasEntered || this.#isTwin) return
    await this.#briefly(async (transaction) => void (await this.#repository.coordination.leave(transaction, member)))
  }

  depose(reason: TaskError): void {
    this.#tenure?.end(reason)
  }

  /** Leads no longer, and never again. @param closed why, for a look that is under way */
  close(closed: TaskError, deposed: TaskError): void {
    this.#closed ??= closed
    this.depose(deposed)
  }

  /** Gives up a look that is under way. */
  end(reason: TaskError): void {
    this.#transactions.end(reason)
  }

  /**
   * Runs `work` in a transaction that the server ends if this node falls silent within it. Otherwise its locks would stay, and its own next heartbeat would wait
   * for them when the network is back.
   */
  #briefly<Result>(work: (transaction: Transaction) => Promise<Result>): Promise<Result> {
    return this.#transactions<Result>(async (transaction) => {
      await this.#repository.coordination.limitIdle(transaction, this.#settings.validMs)
      return work(transaction)
    })
  }

  /** Whether this node still leads, as far as its row says. */
  #isHeld(seen: GroupLeader | undefined, sentMs: number): boolean {
    const { member } = this.#settings
    const tenure = this.tenure
    if (!tenure) return false
    if (seen?.taskId === member.taskId && seen.term === tenure.term) {
      tenure.renew(sentMs)
      return true
    }
    const why = seen ? `node "${seen.taskId}" leads in term ${seen.term}` : 'its row was deleted'
    tenure.end(tenure.lost(why))
    return false
  }

  /** @returns whether this node leads now, or why not */
  async #takeOver(seen: GroupLeader | undefined): Promise<'taken' | 'busy' | 'changed'> {
    const { member, clock, validMs } = this.#settings
    const sentMs = clock.monotonicMs()
    const term = this.#mostTerm + 1
    const before = this.#ownTerm
    // If the answer is lost, the next look knows that this process may have taken over.
    this.#ownTerm = term
    // Its own heartbeats say nothing of a former self.
    const followed = seen?.taskId === member.taskId && !this.#isTwin ? { taskId: seen.taskId, term: seen.term } : seen
    const outcome = await this.#briefly<'taken' | 'busy' | 'changed'>(async (transaction) =>
      this.#repository.coordination.takeOver(transaction, member, term, followed),
    )
    if (outcome !== 'taken') {
      this.#ownTerm = before
      return outcome
    }
    this.#mostTerm = term
    this.#isTwin = false
    // What it has taken is free for others as soon as its heartbeats stay away.
    this.#checkOpen()
    const tenure: Tenure = new Tenure(
      { member, term, validMs, clock, onEnd: (reason) => this.#onDeposed(tenure, reason) },
      sentMs,
    )
    this.#tenure = tenure
    if (tenure.holds) this.#onElected(tenure)
    return outcome
  }

  /** @throws why this node stands for election no longer */
  #checkOpen(): void {
    if (this.#closed) throw this.#closed
  }

  #until(ms: number): number {
    return Math.max(0, ms - this.#settings.clock.monotonicMs())
  }

  /** Nobody leads, and nothing says why: the lock may be of a session that no limit ends. */
  #vain(outcome: 'busy' | 'changed'): TaskError {
    const { groupId, taskId } = this.#settings.member
    const why = {
      busy: 'another session keeps its row in token_holder locked. Look for one that idles in a transaction, and end it',
      changed: 'its row in token_holder changes each time. Look for programs that write it',
    }[outcome]
    return new TaskError(
      'DATABASE_BUSY',
      `Nobody leads the group "${groupId}", and node "${taskId}" takes over in vain: ${why}`,
      {
        shortOf: 'lock',
        groupId,
        taskId,
      },
    )
  }

  #taken(): TaskError {
    const { groupId, taskId } = this.#settings.member
    return new TaskError(
      'TASK_ID_TAKEN',
      `Another process leads the group "${groupId}" as "${taskId}", or somebody has changed its term by hand: this one stands by. Give each node a taskId of its own`,
      { groupId, taskId },
    )
  }
}

function tablesMissing(cause?: unknown): TaskError {
  const message = 'The tables token_holder and health_check are not in this database: let createTables be true, or make them'
  return new TaskError('SCHEMA_MISSING', message, {}, { cause })
}
