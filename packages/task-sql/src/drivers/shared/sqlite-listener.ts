import { setInterval as every } from 'node:timers/promises'
import type { TaskNotifier } from '@taskstream/task-api'

export interface SqliteListenerOptions {
  /** How often the listener looks for commits, in milliseconds. Default 25. A look costs a few microseconds. */
  readonly everyMs?: number
}

/**
 * Makes a notifier that wakes nodes after commits of other connections, in this process or another. SQLite's data version tells of a commit, but not
 * of its topics. Give the listener a connection that nobody else uses, as commits on this connection would not be noticed.
 *
 * @example
 * const listener = sqliteListener(await openBetterSqlite3('tasks.db'))
 */
export function sqliteListener(
  database: { prepare(text: string): { get(): unknown }; close?(): void },
  options: SqliteListenerOptions = {},
): TaskNotifier {
  const { everyMs = 25 } = options
  return {
    listen: async ({ onTasks, onActivation, onDisconnected, onConnected }) => {
      const statement = database.prepare('pragma data_version')
      const version = (): unknown => (statement.get() as { data_version: unknown }).data_version
      const stopped = new AbortController()
      let seen = version()
      /** Whether the last look failed, because the file cannot be read or the connection is closed. */
      let isLost = false
      const watch = async (): Promise<void> => {
        for await (const _ of every(everyMs, undefined, { signal: stopped.signal, ref: false })) {
          let now: unknown
          try {
            now = version()
          } catch (error) {
            if (!isLost) onDisconnected?.(error)
            isLost = true
            continue
          }
          if (isLost) onConnected?.()
          if (now !== seen || isLost) {
            onTasks()
            onActivation?.()
          }
          isLost = false
          seen = now
        }
      }
      // The disposal aborts the interval, which throws.
      const watched = watch().catch(() => {})
      return {
        [Symbol.asyncDispose]: async () => {
          stopped.abort()
          await watched
        },
      }
    },
  }
}
