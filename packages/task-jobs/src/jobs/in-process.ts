import { AsyncLocalStorage } from 'node:async_hooks'
import { HeardCalls, invalid } from '@taskstream/task-api'
import type { Task } from '@taskstream/task-api'
import { topicOf } from '../definitions/define-queue.ts'
import type { Queue } from '../definitions/define-queue.ts'
import { mergedChange } from './job-change.ts'
import type { JobChange } from './job-change.ts'
import { withoutSuffix } from '../definitions/sub-keys.ts'
import type { TaskDefinition } from '../definitions/task-settings.ts'

/** What a transaction of this process has done to jobs. */
export interface Done {
  readonly transaction: object
  readonly topics: Set<string>
  readonly cancelled: Task[]
  /** What those who watch are told, by job: of what one transaction does to a job, only the last can be seen. */
  readonly changes: Map<string, JobChange>
  /** What its work has called and may not have awaited. */
  readonly calls: HeardCalls
  /** Whether the work of the transaction goes on. */
  isOpen: boolean
}

/** What one process knows of its own transactions and handlers, so that it need not learn it from the database. */
export class InProcess {
  readonly #byTransaction = new WeakMap<object, Done>()
  /** What the work does that calls. A helper of work that is over may go on, on a connection that is somebody else's by then. */
  readonly #working = new AsyncLocalStorage<Done>()
  /** The last push in each transaction, until it has ended. Never rejects. */
  readonly #last = new WeakMap<object, Promise<void>>()
  readonly #running = new Map<string, () => void>()
  /** The topics to which this process has pushed jobs. */
  readonly pushedTo: Set<string> = new Set()
  /** The topics of jobs whose identifiers are made of their keys. */
  readonly #spread = new Set<string>()
  /** Is told what this process has done to jobs, after the commit. Undefined while nobody watches. */
  watching: ((changes: Iterable<JobChange>) => void) | undefined

  /** Learns of jobs that this process pushes. */
  pushes(job: TaskDefinition): void {
    this.pushedTo.add(topicOf(job))
    this.knows(job)
  }

  /** Learns how the identifiers of jobs are made. */
  knows(definition: TaskDefinition | Queue): void {
    if (definition.settings.subKeys) this.#spread.add(topicOf(definition as TaskDefinition))
  }

  /** The key of a job. */
  keyOf({ topic, identifier }: Task): string {
    return this.#spread.has(topic) ? withoutSuffix(identifier) : identifier
  }

  /** Begins to note what a transaction does. On a single connection, transactions follow each other on the same object. */
  begin(transaction: unknown): Done {
    const done: Done = {
      transaction: transaction as object,
      topics: new Set(),
      cancelled: [],
      changes: new Map(),
      calls: new HeardCalls(),
      isOpen: true,
    }
    this.#byTransaction.set(transaction as object, done)
    return done
  }

  /** Notes a push. A transaction that was not begun here is somebody else's, and its commit goes unseen. */
  pushed(transaction: unknown, topic: string): void {
    this.#byTransaction.get(transaction as object)?.topics.add(topic)
  }

  /**
   * Does the work of a transaction that was begun here. Calls that it has not awaited are waited for, and those that were refused without anybody asking are
   * errors of the work: otherwise the transaction could be committed without what they were to do.
   *
   * @throws the error of the work, or of such a call
   */
  within<Result>(done: Done, work: () => Result | Promise<Result>): Result | Promise<Result> {
    try {
      const result = this.#working.run(done, work)
      if (result instanceof Promise || done.calls.areUnsettled) return this.#settled(done, result)
      done.isOpen = false
      return result
    } catch (error) {
      done.isOpen = false
      throw error
    }
  }

  async #settled<Result>(done: Done, result: Result | Promise<Result>): Promise<Result> {
    try {
      const value = await result
      if (done.calls.areUnsettled) await done.calls.settled()
      return value
    } finally {
      done.isOpen = false
    }
  }

  /**
   * Does a push, of one statement or of several. Pushes of one transaction follow each other, also if they are called side by side: what is counted for one
   * must not be written by another.
   */
  pushing<Result>(transaction: unknown, push: () => Result): Result {
    const isObject = (typeof transaction === 'object' && transaction !== null) || typeof transaction === 'function'
    if (!isObject) {
      const rule = 'must be the transaction: what `stream.transaction`, or your library, gives its work'
      throw invalid('transaction', transaction === null ? 'null' : typeof transaction, rule)
    }
    const key = transaction as object
    const before = this.#last.get(key)
    const outcome: unknown = before ? before.then(push) : push()
    if (!(outcome instanceof Promise)) return outcome as Result
    const end = (): void => {
      if (this.#last.get(key) === ended) this.#last.delete(key)
    }
    const ended: Promise<void> = outcome.then(end, end)
    this.#last.set(key, ended)
    return this.calling(transaction, outcome) as Result
  }

  /** Notes a call of a transaction's work, so that its error is not lost if nobody awaits it. @returns the same outcome, for the caller */
  calling<Result>(transaction: unknown, outcome: Result): Result {
    if (!(outcome instanceof Promise)) return outcome
    const working = this.#working.getStore()
    const done = working?.transaction === transaction ? working : this.#byTransaction.get(transaction as object)
    return (done?.isOpen ? done.calls.add(outcome) : outcome) as Result
  }

  cancelled(transaction: unknown, tasks: readonly Task[]): void {
    this.#byTransaction.get(transaction as object)?.cancelled.push(...tasks)
  }

  /** Notes what becomes of jobs if the transaction commits. Nothing is made while nobody watches. */
  changed(transaction: unknown, changesOf: () => readonly (JobChange | undefined)[]): void {
    const done = this.watching && this.#byTransaction.get(transaction as object)
    if (!done) return
    for (const change of changesOf()) {
      if (!change) continue
      const key = keyOf(change)
      const before = done.changes.get(key)
      // What was pushed and changed at once is told at the end.
      done.changes.delete(key)
      done.changes.set(key, before ? mergedChange(before, change) : change)
    }
  }

  /** Says that a job is being handled, until what is returned is called. @param lose asks its handler to let go */
  handling(task: Task, lose: () => void): () => void {
    const key = keyOf(task)
    this.#running.set(key, lose)
    return () => {
      // A later try of the same job may be running by now.
      if (this.#running.get(key) === lose) this.#running.delete(key)
    }
  }

  /** Tells those who watch, and the loops and handlers of this process, what was committed. */
  committed({ topics, cancelled, changes }: Pick<Done, 'topics' | 'cancelled' | 'changes'>, wake: (topic: string) => void): void {
    if (changes.size > 0) this.watching?.(changes.values())
    for (const topic of topics) wake(topic)
    for (const task of cancelled) this.#running.get(keyOf(task))?.()
  }
}

function keyOf({ topic, sequence }: Task): string {
  return `${sequence} ${topic}`
}
