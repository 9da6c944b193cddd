import type { Task } from '@taskstream/task-api'

/** What a transaction of this process has done to jobs. */
export interface Done {
  readonly topics: Set<string>
  readonly cancelled: Task[]
}

/** What one process knows of its own transactions and handlers, so that it need not learn it from the database. */
export class InProcess {
  readonly #byTransaction = new WeakMap<object, Done>()
  readonly #running = new Map<string, () => void>()

  /** Begins to note what a transaction does. On a single connection, transactions follow each other on the same object. */
  begin(transaction: unknown): Done {
    const done: Done = { topics: new Set(), cancelled: [] }
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

  /** Says that a job is being handled, until what is returned is called. @param lose asks its handler to let go */
  handling(task: Task, lose: () => void): () => void {
    const key = keyOf(task)
    this.#running.set(key, lose)
    return () => {
      // A later try of the same job may be running by now.
      if (this.#running.get(key) === lose) this.#running.delete(key)
    }
  }

  /** Tells the loops and handlers of this process what was committed. */
  committed({ topics, cancelled }: Done, wake: (topic: string) => void): void {
    for (const topic of topics) wake(topic)
    for (const task of cancelled) this.#running.get(keyOf(task))?.()
  }
}

function keyOf({ topic, sequence }: Task): string {
  return `${sequence} ${topic}`
}
