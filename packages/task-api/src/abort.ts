import type { TransactionOptions } from './execution.ts'

/** What an AbortSignal tells. To make one for each transaction, and to listen to it, was 3 % of the way of a task from its push to its handler. */
export interface Abort {
  readonly aborted: boolean
  readonly reason: unknown
  /** @throws the reason, once aborted */
  throwIfAborted(): void
  /** Calls the listener once, when it is aborted; not if it was before. @returns what takes the listener away again */
  onAbort(listener: () => void): () => void
}

/**
 * An AbortController whose signal is made for those only who ask for it.
 *
 * @example
 * const controller = new LazyAbortController()
 * const pushed = transactions((client) => tasks.push(client, 'invoices', 'inv-1'), abortedBy(controller))
 * controller.abort(new Error('nobody waits any more'))
 */
export class LazyAbortController implements Abort {
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

// mutants: equivalent string, nobody reads what it is called
const lazily: unique symbol = Symbol('lazily')

interface LazyOptions extends TransactionOptions {
  readonly [lazily]?: Abort
}

/** Options of a transaction that a controller ends. Copies of them have its signal too. */
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
 * Whether a transaction is given up, as its options tell a source of transactions; nothing where it cannot be.
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
