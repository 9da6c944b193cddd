import { setTimeout as delay } from 'node:timers/promises'
import { checkInteger, TaskError } from '@taskstream/task-api'
import type { TaskNotifier } from '@taskstream/task-api'
import { activationChannel, postgresChannel } from '../../dialects/postgres/dialect.ts'
import { openListening } from './listen-connection.ts'
import type { Listening, PgListenClient } from './listen-connection.ts'

export interface PgListenerOptions {
  /** The schema given to `postgres()`. Default `taskstream`. */
  readonly schema?: string
  /** How often a silent connection is asked whether it is still there, in milliseconds. Default 10 000. */
  readonly pingMs?: number
  /** How long a notification to itself may take, in milliseconds, 1 to 600 000, before the listener gives up. Default 5 000. */
  readonly selfTestMs?: number
}

const firstPauseMs = 100
const longestPauseMs = 30_000

/**
 * Hears of pushes as they commit, over a connection of its own that goes straight to the server. Given a function for each server of a
 * cluster, it listens on the one that takes writes.
 *
 * A connection that is lost is opened again, at once and then at growing intervals of up to half a minute. In the meantime a node polls as it
 * would without a listener, and reports an error of the activity `listen`.
 *
 * A pooler in transaction mode takes a LISTEN and never delivers. So each connection is tested, by a notification that a second, short
 * connection sends: one that does not arrive ends the listening with NOTIFICATIONS_UNDELIVERED, which a node reports as an error of the
 * activity `listen` before it goes on by polling.
 *
 * @example
 * const listener = pgListener(() => new pg.Client(url))
 * @throws TaskError ARGUMENT_INVALID; from `listen` what the driver throws when there is no connection at first
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
            // What was pushed or said meanwhile nobody told us of.
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
            // At once when this one is lost, and at leisure where no connection lasts until it is tested.
            pauseMs = 0
          }
          // One that could not be tested is as good as lost.
          const lost = await (hears ? current.ended : Promise.race([current.ended, untested()]))
          if (signal.aborted) return
          // Told before it is closed: a connection that does not answer takes its time to end.
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
          // It may have been opened while it was to be closed.
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
