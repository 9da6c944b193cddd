import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { TaskError } from '@taskstream/task-api'
import { isReadOnly, noneIsWritable, standby } from './writable-server.ts'

/** What we need of a `pg.Client` of its own, not connected yet. */
export interface PgListenClient {
  connect(): Promise<unknown>
  query(text: string): Promise<{ rows: Readonly<Record<string, unknown>>[] }>
  end(): Promise<void>
  on(event: 'notification', listener: (message: { channel: string; payload?: string | undefined }) => void): unknown
  on(event: 'error' | 'end', listener: (error?: Error) => void): unknown
}

export interface ListeningOptions {
  /** One for each server of a cluster. */
  readonly connects: readonly (() => PgListenClient)[]
  /** Who hears what on which channel; a payload of nothing is none. */
  readonly channels: Readonly<Record<string, (payload: string | undefined) => void>>
  readonly pingMs: number
  readonly selfTestMs: number
  readonly signal: AbortSignal
}

/** One connection that listens. */
export interface Listening {
  /** Whether a notification reaches it. Resolves to undefined when the connection was lost before that was known. */
  readonly hears: Promise<boolean | undefined>
  /** Resolves when the connection is lost, or no longer answers: with what is known of why. */
  readonly ended: Promise<TaskError>
  close(): Promise<void>
}

/** Connects to the server that takes writes, and listens. What is committed once this has resolved is heard, if anything is. */
export async function openListening(options: ListeningOptions): Promise<Listening> {
  const { channels, pingMs, selfTestMs, signal } = options
  const { client, connect, ended } = await openWritable(options.connects)
  const heard = Promise.withResolvers<boolean>()
  // A channel of its own, so that nobody else is woken.
  const names = Object.keys(channels)
  const testChannel = `${names[0]}.${randomBytes(4).toString('hex')}`
  client.on('notification', (message) => {
    if (message.channel === testChannel) heard.resolve(true)
    else channels[message.channel]?.(message.payload || undefined)
  })
  try {
    // In one message, and so on one connection to the server, whatever lies between: who hears the one hears the other.
    await client.query([...names, testChannel].map((name) => `listen "${name}"`).join('; '))
  } catch (error) {
    await close(client)
    throw error
  }
  /** A test that cannot be made is no answer, and so is one that is broken off. */
  const selfTest = async (): Promise<boolean | undefined> => {
    const late = <Answer>(answer: Answer): Promise<Answer> => delay(selfTestMs, answer, { signal, ref: false })
    try {
      if (!(await Promise.race([notify(connect, testChannel).then(() => true), late(false)]))) return undefined
      const hears = await Promise.race([heard.promise, late(false)])
      // It may be the pooler's connection that listens on.
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
 * Notifies from a second connection while the first is silent. A pooler that shares connections hands on what the server says only
 * in answer to a statement: a listener that notified itself would be answered, and hear nothing ever after.
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

/** All servers at once, as a server that is gone may take minutes to say nothing; the first that takes writes is kept. */
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
        // With one there is nothing to choose; a standby refuses to listen by itself.
        if (attempts.length > 1 && (await attempt.client.query(isReadOnly)).rows[0]?.['read_only'] !== false) throw standby()
        return attempt
      }),
    )
    return chosen
  } catch (error) {
    const { errors } = error as AggregateError
    throw attempts.length === 1 ? errors[0] : noneIsWritable(errors)
  } finally {
    // Not waited for: one that does not answer does not end either.
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
