import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { TaskError } from '@taskstream/task-api'
import { isReadOnly, noneIsWritable, standby } from './writable-server.ts'

/** The part of a `pg.Client` that a listener uses. The client is not connected yet, and nobody else uses it. */
export interface PgListenClient {
  connect(): Promise<unknown>
  query(text: string): Promise<{ rows: Readonly<Record<string, unknown>>[] }>
  end(): Promise<void>
  on(event: 'notification', listener: (message: { channel: string; payload?: string | undefined }) => void): unknown
  on(event: 'error' | 'end', listener: (error?: Error) => void): unknown
}

export interface ListeningOptions {
  /** A function for each server of a cluster. */
  readonly connects: readonly (() => PgListenClient)[]
  /** Functions that get the payloads of notifications, by channel. An empty payload is passed as undefined. */
  readonly channels: Readonly<Record<string, (payload: string | undefined) => void>>
  readonly pingMs: number
  readonly selfTestMs: number
  readonly signal: AbortSignal
}

/** One connection that listens. */
export interface Listening {
  /** Resolves to whether the test notification reached the connection, or to undefined if the connection was lost before or could not be tested. */
  readonly hears: Promise<boolean | undefined>
  /** Resolves when the connection is lost or no longer answers, to an error that says why. */
  readonly ended: Promise<TaskError>
  close(): Promise<void>
}

/** Takes what everybody has heard from the server's queue. Once the queue was full, nothing else does so, and every push is refused. */
const clearing = 'select pg_catalog.pg_notification_queue_usage()'

/** Connects to the server that takes writes, and listens. If notifications arrive at all, every commit after the returned promise resolved is heard. */
export async function openListening(options: ListeningOptions): Promise<Listening> {
  const { channels, pingMs, selfTestMs, signal } = options
  const { client, connect, ended } = await openWritable(options.connects)
  const heard = Promise.withResolvers<boolean>()
  // The test has a channel of its own, so that it wakes no other listener.
  const names = Object.keys(channels)
  const testChannel = `${names[0]}.${randomBytes(4).toString('hex')}`
  client.on('notification', (message) => {
    if (message.channel === testChannel) heard.resolve(true)
    else channels[message.channel]?.(message.payload || undefined)
  })
  try {
    // One message reaches one connection to the server, even through a pooler. If the test channel is heard, the others are heard too.
    await client.query([...[...names, testChannel].map((name) => `listen "${name}"`), clearing].join('; '))
  } catch (error) {
    await close(client)
    throw error
  }
  /** Returns undefined if the test could not be made, or was aborted. */
  const selfTest = async (): Promise<boolean | undefined> => {
    const late = <Answer>(answer: Answer): Promise<Answer> => delay(selfTestMs, answer, { signal, ref: false })
    try {
      if (!(await Promise.race([notify(connect, testChannel).then(() => true), late(false)]))) return undefined
      const hears = await Promise.race([heard.promise, late(false)])
      // The connection may be a pooler's, which would go on listening.
      if (!hears) await client.query('unlisten *')
      return hears
    } catch {
      return undefined
    }
  }
  const silent = new AbortController()
  const hears = Promise.race([selfTest(), ended.then(() => undefined)])
  return {
    hears,
    ended: Promise.race([
      ended,
      hears.then(async () => {
        await silence(client, pingMs, AbortSignal.any([signal, silent.signal]))
        return lost(new Error(`it did not answer within ${pingMs} ms`))
      }),
    ]),
    close: async () => {
      silent.abort()
      await close(client)
    },
  }
}

/**
 * Notifies from a second connection while the first is silent. A pooler that shares connections forwards notifications only with the answer to a
 * statement. A listener that notified itself would therefore hear the test and nothing else.
 */
async function notify(connect: () => PgListenClient, channel: string): Promise<void> {
  const client = connect()
  client.on('error', () => {})
  try {
    await client.connect()
    await client.query(`notify "${channel}"`)
  } finally {
    await close(client)
  }
}

interface Opened {
  readonly client: PgListenClient
  readonly connect: () => PgListenClient
  readonly ended: Promise<TaskError>
}

/** Connects to all servers at once, as an unreachable server may take minutes to fail. Keeps the first connection to a server that takes writes. */
async function openWritable(connects: readonly (() => PgListenClient)[]): Promise<Opened> {
  const attempts = connects.map((connect): Opened => {
    const client = connect()
    const ended = new Promise<TaskError>((resolve) => {
      client.on('error', (error) => resolve(lost(error)))
      client.on('end', () => resolve(lost(undefined)))
    })
    return { client, connect, ended }
  })
  let chosen: Opened | undefined
  try {
    chosen = await Promise.any(
      attempts.map(async (attempt) => {
        await attempt.client.connect()
        // A single server is not asked: if it is a standby, it refuses the LISTEN.
        if (attempts.length > 1 && (await attempt.client.query(isReadOnly)).rows[0]?.['read_only'] !== false) throw standby()
        return attempt
      }),
    )
    return chosen
  } catch (error) {
    const { errors } = error as AggregateError
    throw attempts.length === 1 ? errors[0] : noneIsWritable(errors)
  } finally {
    // Nobody waits for these closes, as a server that does not answer does not close either.
    for (const attempt of attempts) if (attempt !== chosen) void close(attempt.client)
  }
}

function lost(cause: Error | undefined): TaskError {
  const why = cause ? `: ${cause.message}` : ''
  return new TaskError('DATABASE_UNAVAILABLE', `The connection that listens for new tasks was lost${why}`, {}, { cause })
}

async function close(client: PgListenClient): Promise<void> {
  await client.end().catch(() => {})
}

/** Resolves when the server no longer answers, or when the listener stops. A connection can die without an event, so the server is asked. */
async function silence(client: PgListenClient, pingMs: number, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await delay(pingMs, undefined, { signal, ref: false })
      const answered = client.query(clearing).then(
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
