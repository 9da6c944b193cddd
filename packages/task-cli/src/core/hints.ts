/** What the database knows of an error: what it is called, and which of its names may have been meant. */
import { isTaskError, nearest } from '@taskstream/task-api'

export interface Hint {
  /** The database without its password, such as `shop@db-1/orders`. */
  readonly place: string
  /** The name that was probably meant. */
  readonly meant?: string
  /** A scope that has a timer of this id. */
  readonly scope?: string
}

/** The names that there are. */
export interface Names {
  readonly topics: () => Promise<readonly string[]>
  readonly timers: (scope: string) => Promise<readonly string[]>
  /** The scopes that have a timer of this id. */
  readonly scopes: (id: string) => Promise<readonly string[]>
}

const hints = new WeakMap<Error, Hint>()

export function hintOf(error: Error): Hint | undefined {
  return hints.get(error)
}

/** Notes of an error where it was thrown, and what may have been meant. The error stays the same. */
export async function noteHint(error: unknown, place: string, names: Names): Promise<void> {
  if (!isTaskError(error) || hints.has(error)) return
  const { topic, scope, id } = error.data
  const [elsewhere] = error.code === 'TIMER_UNKNOWN' ? await known(() => names.scopes(String(id))) : []
  const meant =
    error.code === 'TOPIC_UNKNOWN'
      ? nearest(String(topic), await known(names.topics))
      : error.code === 'TIMER_UNKNOWN'
        ? nearest(String(id), await known(() => names.timers(String(scope))))
        : undefined
  hints.set(error, { place, ...(meant !== undefined && { meant }), ...(elsewhere !== undefined && { scope: elsewhere }) })
}

/** The hint is not worth another error: the database may have gone away. */
async function known(ask: () => Promise<readonly string[]>): Promise<readonly string[]> {
  try {
    return await ask()
  } catch {
    return []
  }
}
