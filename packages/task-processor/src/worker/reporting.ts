import { hostname } from 'node:os'
import type { Execution, NodeTopic, TaskRepository } from '@taskstream/task-api'
import type { Dispatcher } from '../core/dispatcher.ts'
import { Condition } from '../core/listener.ts'
import type { SafeListener } from '../core/listener.ts'
import type { Hearing } from './hearing.ts'
import type { TaskManager } from './task-manager.ts'

/** A report has no more characters of topics, so that it can be written every few seconds, and is never refused. */
const mostLength = 200_000

/** Between two reports that say nothing new, at least. */
const patienceMs = 5_000

/** For how long what was counted before a report is told, at least. */
const spanMs = 30_000

export interface ReportingOptions<Transaction> {
  readonly repository: TaskRepository<Transaction, Execution>
  readonly dispatcher: Dispatcher<Transaction>
  readonly listener: SafeListener
  readonly hearing: Hearing
  readonly leaseMs: number
  readonly clock: { monotonicMs(): number }
  readonly managers: () => Iterable<TaskManager<Transaction>>
  /** Called when the node may take tasks again. */
  readonly onResumed: () => void
}

/** Tells the database what the node is and how it fares, for those who look at it. A report that fails disturbs nothing: the next one follows. */
export class Reporting<Transaction> {
  readonly #options: ReportingOptions<Transaction>
  readonly #condition: Condition
  #isQuiet = false
  #begun = false
  #toldMs = -Infinity
  #toldChanges = 0
  #turnedMs: number

  constructor(options: ReportingOptions<Transaction>) {
    this.#options = options
    this.#condition = new Condition(options.listener, 'report')
    this.#turnedMs = options.clock.monotonicMs()
  }

  /** Whether somebody has asked the node to take no more tasks. */
  get isQuiet(): boolean {
    return this.#isQuiet
  }

  /** Tells of the node for the first time, when its topics are known. */
  begin(): Promise<void> {
    this.#begun = true
    return this.tell()
  }

  /** Never rejects. Does nothing before `begin`. */
  async tell(stopped = false): Promise<void> {
    const { repository, dispatcher, hearing, leaseMs, clock, onResumed } = this.#options
    // A repository of the user's own may have no such verb.
    if (!this.#begun || typeof repository.report !== 'function') return
    const { changes, trouble: error } = hearing
    const nowMs = clock.monotonicMs()
    if (!stopped && changes === this.#toldChanges && nowMs - this.#toldMs < patienceMs) return
    this.#toldChanges = changes
    this.#toldMs = nowMs
    const report = {
      kind: 'node',
      host: hostname().slice(0, 250),
      pid: process.pid,
      leaseMs,
      topics: stopped ? [] : this.#topics(),
      blockedMs: hearing.blockedMs,
      ...(error && { error }),
      ...(stopped && { stopped }),
    } as const
    try {
      const { quiet } = await dispatcher.once<{ readonly quiet: boolean }>((transaction) =>
        repository.report(transaction, report),
      )
      this.#condition.worked()
      const wasQuiet = this.#isQuiet
      this.#isQuiet = quiet
      if (wasQuiet && !quiet) onResumed()
    } catch (failure) {
      this.#condition.failed(failure)
    }
    if (nowMs - this.#turnedMs < spanMs) return
    hearing.turn()
    this.#turnedMs = nowMs
  }

  #topics(): NodeTopic[] {
    const topics: NodeTopic[] = []
    let length = 0
    for (const manager of this.#options.managers()) {
      if (!manager.isActive) continue
      const { topic, processing, concurrency, batches } = manager
      const { mode, size } = processing
      const told = { topic, mode, size, concurrency, busy: [...batches].length, ...this.#options.hearing.of(topic) }
      length += JSON.stringify(told).length
      if (length > mostLength) break
      topics.push(told)
    }
    return topics
  }
}
