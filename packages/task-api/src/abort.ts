import type { TransactionOptions } from './execution.ts'
import type { TaskError } from './task-error.ts'

/**
 * What an AbortSignal reports, without its cost: a signal and a listener for each transaction took 3 % of the time of a task from its push to
 * its handler.
 */
export interface Abort {
  readonly aborted: boolean
  readonly reason: unknown
  /** What the transaction is waiting for, as its source knows it. Whoever gives the transaction up because of that wait has this as the reason. */
  waitsFor?: (() => TaskError) | undefined
  /** Throws the reason, if this is aborted. */
  throwIfAborted(): void
  /** Calls the listener once on the abort, but not if this was aborted before. @returns a function that removes the listener */
  onAbort(listener: () => void): () => void
}

/**
 * An AbortController that makes its signal only when somebody reads it.
 *
 * @example
 * const controller = new LazyAbortController()
 * const pushed = transactions((client) => tasks.push(client, 'invoices', 'inv-1'), abortedBy(controller))
 * controller.abort(new Error('nobody waits any more'))
 */
export class LazyAbortController implements Abort {
  waitsFor: (() => TaskError) | undefined
  #listeners: readonly (() => void)[] = []
  #controller: AbortController | undefined
  #isAborted = false
  #reason: unknown

  get aborted(): boolean {
    return this.#isAborted
  }

  get reason(): unknown {
    return this.#reason
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController()
      if (this.#isAborted) this.#controller.abort(this.#reason)
    }
    return this.#controller.signal
  }

  throwIfAborted(): void {
    if (this.#isAborted) throw this.#reason
  }

  onAbort(listener: () => void): () => void {
    this.#listeners = [...this.#listeners, listener]
    return () => void (this.#listeners = this.#listeners.filter((other) => other !== listener))
  }

  abort(reason: unknown): void {
    if (this.#isAborted) return
    this.#isAborted = true
    this.#reason = reason
    this.#controller?.abort(reason)
    for (const listener of this.#listeners) listener()
  }
}

// mutants: equivalent string, nobody reads the description of the symbol
const lazily: unique symbol = Symbol('lazily')

interface LazyOptions extends TransactionOptions {
  readonly [lazily]?: Abort
}

/** Options of a transaction that the controller aborts. Copies of the options have the signal too. */
export function abortedBy(controller: LazyAbortController): TransactionOptions {
  const options: LazyOptions = {
    get signal() {
      return controller.signal
    },
    [lazily]: controller,
  }
  return options
}

/**
 * Reads the abort of a transaction from its options; undefined if the options cannot abort it. For sources of transactions.
 *
 * @example
 * const forget = abortOf(options)?.onAbort(() => connection.destroy())
 */
export function abortOf(options: TransactionOptions = {}): Abort | undefined {
  const lazy = (options as LazyOptions)[lazily]
  if (lazy) return lazy
  const { signal } = options
  return (
    signal && {
      get aborted() {
        return signal.aborted
      },
      get reason() {
        return signal.reason as unknown
      },
      throwIfAborted: () => signal.throwIfAborted(),
      onAbort: (listener) => {
        signal.addEventListener('abort', listener)
        return () => signal.removeEventListener('abort', listener)
      },
    }
  )
}
