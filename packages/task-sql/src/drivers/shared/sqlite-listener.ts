import { setInterval as every } from 'node:timers/promises'
import type { TaskNotifier } from '@taskstream/task-api'

export interface SqliteListenerOptions {
  /** How often to look, in milliseconds. Default 25; a look costs a few microseconds. */
  readonly everyMs?: number
}

/**
 * Hears of commits of other connections, in this process or another, by SQLite's data version. It cannot tell topics apart.
 * The connection is the listener's own: a commit of its own would go unheard.
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
      /** The file cannot be read, or the connection is closed. */
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
      // Broken off as it is disposed of.
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
