import { setTimeout as delay } from 'node:timers/promises'
import { checkInteger, TaskError } from '@taskstream/task-api'
import type { TaskNotifier } from '@taskstream/task-api'
import { activationChannel, postgresChannel } from '../../dialects/postgres/dialect.ts'
import { openListening } from './listen-connection.ts'
import type { Listening, PgListenClient } from './listen-connection.ts'

export interface PgListenerOptions {
  /** The schema given to `postgres()`. Default `taskstream`. */
  readonly schema?: string
  /** How often the listener asks whether its connection still answers, in milliseconds. Default 10 000. */
  readonly pingMs?: number
  /** How long the test notification of a new connection may take, in milliseconds, 1 to 600 000, before the listener gives up. Default 5 000. */
  readonly selfTestMs?: number
}

const firstPauseMs = 100
const longestPauseMs = 30_000

/**
 * Makes a notifier that wakes nodes as pushes commit. The notifier listens on a connection of its own, which must lead directly to the server. If
 * `connect` is a list with a function for each server of a cluster, the notifier listens on the server that takes writes.
 *
 * A lost connection is opened again: at once, and then at growing intervals of up to half a minute. In the meantime a node polls as it would
 * without a listener, and reports an error of the activity `listen`.
 *
 * A pooler in transaction mode accepts a LISTEN and never delivers a notification. The notifier therefore tests each new connection by a
 * notification from a second, short connection. If that notification does not arrive, the notifier stops listening with NOTIFICATIONS_UNDELIVERED.
 * A node reports this as an error of the activity `listen`, and goes on by polling.
 *
 * @param connect makes a client that is not connected yet; 1 to 100 such functions
 * @example
 * const listener = pgListener(() => new pg.Client(url))
 * @throws TaskError ARGUMENT_INVALID. `listen` throws the driver's error if the first connection fails
 */
export function pgListener(
  connect: (() => PgListenClient) | readonly (() => PgListenClient)[],
  options: PgListenerOptions = {},
): TaskNotifier {
  const { schema = 'taskstream', pingMs = 10_000, selfTestMs = 5_000 } = options
  const connects = [connect].flat()
  checkInteger('the number of connect functions', connects.length, 1, 100)
  checkInteger('selfTestMs', selfTestMs, 1, 600_000)
  return {
    listen: async ({ onTasks, onActivation = () => {}, onDisconnected, onConnected, onGivenUp }) => {
      const stopped = new AbortController()
      const { signal } = stopped
      const channel = postgresChannel(schema)
      const channels = { [channel]: onTasks, [activationChannel(channel)]: onActivation }
      const open = (): Promise<Listening> => openListening({ connects, channels, pingMs, selfTestMs, signal })
      let current = await open()

      let pauseMs = 0
      const reopen = async (): Promise<void> => {
        while (!signal.aborted) {
          await delay(pauseMs * (0.5 + Math.random()), undefined, { signal, ref: false }).catch(() => {})
          pauseMs = Math.min(Math.max(pauseMs * 2, firstPauseMs), longestPauseMs)
          const reopened = await open().catch(() => undefined)
          if (reopened) {
            current = reopened
            onConnected?.()
            // Nobody has notified us of pushes and activations while no connection was open.
            onTasks()
            onActivation()
            return
          }
        }
      }
      const keep = async (): Promise<void> => {
        while (!signal.aborted) {
          const hears = await current.hears
          if (hears === false) {
            await current.close()
            onGivenUp?.(undelivered(selfTestMs))
            return
          }
          if (hears) {
            // A tested connection that is lost is opened again at once. Pauses grow as long as no connection lasts until its test ends.
            pauseMs = 0
          }
          // A connection that could not be tested counts as lost.
          const lost = await (hears ? current.ended : Promise.race([current.ended, untested()]))
          if (signal.aborted) return
          // The node is told before the close, as a connection that does not answer takes long to close.
          onDisconnected?.(lost)
          await current.close()
          await reopen()
        }
      }

      const kept = keep()
      return {
        [Symbol.asyncDispose]: async () => {
          stopped.abort()
          await current.close()
          await kept
          // A connection may have been opened during the first close.
          await current.close()
        },
      }
    },
  }
}

async function untested(): Promise<TaskError> {
  return new TaskError('DATABASE_UNAVAILABLE', 'The connection that listens for new tasks could not be tested: it is opened anew')
}

function undelivered(selfTestMs: number): TaskError {
  return new TaskError(
    'NOTIFICATIONS_UNDELIVERED',
    `A notification did not arrive within ${selfTestMs} ms, as behind a pooler in transaction mode: give the listener the server's own address`,
    { selfTestMs },
  )
}
