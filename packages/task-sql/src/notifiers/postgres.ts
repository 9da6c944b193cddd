import { setTimeout as delay } from 'node:timers/promises'
import type { TaskNotifier } from '@taskstream/task-api'
import { postgresChannel } from '../dialects/postgres.ts'

/** What we need of a `pg.Client` of its own, not connected yet. */
export interface PgListenClient {
  connect(): Promise<unknown>
  query(text: string): Promise<unknown>
  end(): Promise<void>
  on(event: 'notification', listener: (message: { payload?: string | undefined }) => void): unknown
  on(event: 'error' | 'end', listener: (error?: Error) => void): unknown
}

export interface PgListenerOptions {
  /** The schema given to `postgres()`. Default `taskstream`. */
  readonly schema?: string
  /** How often a silent connection is asked whether it is still there, in milliseconds. Default 10 000. */
  readonly pingMs?: number
}

const longestPauseMs = 30_000

/**
 * Hears of pushes as they commit, over a connection of its own that goes straight to the server: a pooler in transaction mode
 * never delivers.
 *
 * @example
 * const listener = pgListener(() => new pg.Client(url))
 */
export function pgListener(connect: () => PgListenClient, options: PgListenerOptions = {}): TaskNotifier {
  const { schema = 'taskstream', pingMs = 10_000 } = options
  return {
    listen: async (wake) => {
      const stopped = new AbortController()
      let client: PgListenClient | undefined

      /** Resolves when it listens; what `ended` waits for is the connection's end. */
      const open = async (): Promise<{ ended: Promise<void> }> => {
        const opened = connect()
        const ended = new Promise<void>((resolve) => {
          opened.on('error', () => resolve())
          opened.on('end', () => resolve())
        })
        opened.on('notification', ({ payload }) => wake(payload || undefined))
        try {
          await opened.connect()
          await opened.query(`listen "${postgresChannel(schema)}"`)
        } catch (error) {
          await opened.end().catch(() => {})
          throw error
        }
        client = opened
        return { ended: Promise.race([ended, silence(opened, pingMs, stopped.signal)]) }
      }
      const keep = async (ended: Promise<void>): Promise<void> => {
        let over = ended
        while (!stopped.signal.aborted) {
          await over
          await client?.end().catch(() => {})
          for (let pauseMs = 100; !stopped.signal.aborted; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
            const reopened = await open().catch(() => undefined)
            if (reopened) {
              over = reopened.ended
              // What was pushed meanwhile nobody told us of.
              wake()
              break
            }
            await delay(pauseMs * (0.5 + Math.random()), undefined, { signal: stopped.signal, ref: false }).catch(() => {})
          }
        }
      }

      const kept = keep((await open()).ended)
      return {
        [Symbol.asyncDispose]: async () => {
          stopped.abort()
          await client?.end().catch(() => {})
          await kept
        },
      }
    },
  }
}

/** Resolves when the server no longer answers, or the listener stops: a connection can die without a word. */
async function silence(client: PgListenClient, pingMs: number, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await delay(pingMs, undefined, { signal, ref: false })
      const answered = client.query('select 1').then(
        () => true,
        () => false,
      )
      const late = delay(pingMs, false, { signal, ref: false })
      if (!(await Promise.race([answered, late]))) return
    } catch {
      return
    }
  }
}
