import type { Task } from '@taskstream/task-api'
import { topicOf } from '../definitions/define-queue.ts'
import type { Queue } from '../definitions/define-queue.ts'
import { mergedChange } from './job-change.ts'
import type { JobChange } from './job-change.ts'
import { withoutSuffix } from '../definitions/sub-keys.ts'
import type { TaskDefinition } from '../definitions/task-settings.ts'

/** What a transaction of this process has done to jobs. */
export interface Done {
  readonly topics: Set<string>
  readonly cancelled: Task[]
  /** What those who watch are told, by job: of what one transaction does to a job, only the last can be seen. */
  readonly changes: Map<string, JobChange>
}

/** What one process knows of its own transactions and handlers, so that it need not learn it from the database. */
export class InProcess {
  readonly #byTransaction = new WeakMap<object, Done>()
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
    const done: Done = { topics: new Set(), cancelled: [], changes: new Map() }
    this.#byTransaction.set(transaction as object, done)
    return done
  }

  /** Notes a push. A transaction that was not begun here is somebody else's, and its commit goes unseen. */
  pushed(transaction: unknown, topic: string): void {
    this.#byTransaction.get(transaction as object)?.topics.add(topic)
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
  committed({ topics, cancelled, changes }: Done, wake: (topic: string) => void): void {
    if (changes.size > 0) this.watching?.(changes.values())
    for (const topic of topics) wake(topic)
    for (const task of cancelled) this.#running.get(keyOf(task))?.()
  }
}

function keyOf({ topic, sequence }: Task): string {
  return `${sequence} ${topic}`
}
