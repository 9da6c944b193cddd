/**
 * Clients of pg for the peers. A statement with values gets a name of its text, so that the server plans it once for a connection:
 * taskstream's adapter does the same. Both peers take a pool, or a class of clients, of their user's.
 */
import { createHash } from 'node:crypto'
import pg from 'pg'
import type { Connection } from './database.ts'

type Callback = (error: Error | null, result: pg.QueryResult) => void

interface Config {
  readonly name?: string
  readonly text: string
  readonly values?: readonly unknown[]
}

/** Tells how many tasks are done once this statement is committed. */
export type Count = (config: Config, result: pg.QueryResult) => number

const names = new Map<string, string>()

function nameOf(text: string): string {
  let name = names.get(text)
  if (!name) names.set(text, (name = createHash('sha1').update(text).digest('hex')))
  return name
}

function withName(text: unknown, values: unknown): Config | undefined {
  const config = typeof text === 'string' ? { text, values } : (text as Config)
  if (typeof config?.text !== 'string' || !Array.isArray(config.values) || config.values.length === 0) return undefined
  return { name: nameOf(config.text), ...config } as Config
}

/** The overloads of `query` are too many to be repeated. */
const plain = pg.Client.prototype.query as unknown as (this: pg.Client, ...args: unknown[]) => Promise<pg.QueryResult>

/** Names statements. */
export const NamedClient: typeof pg.Client = clientClass({ isNamed: true })

/**
 * A class of clients that counts tasks when the statement that completes them is stored: outside a transaction at once, and in one
 * at its commit.
 */
export function countingClient(options: { isNamed: boolean; count: Count; done: (tasks: number) => void }): typeof pg.Client {
  return clientClass(options)
}

interface Options {
  readonly isNamed: boolean
  readonly count?: Count
  readonly done?: (tasks: number) => void
}

function clientClass({ isNamed, count, done }: Options): typeof pg.Client {
  class Client extends pg.Client {
    /** Tasks of the open transaction, if there is one. */
    #open: number | undefined

    run(args: unknown[]): Promise<pg.QueryResult> | void {
      const [first, second] = args
      const config = isNamed ? withName(first, second) : undefined
      const callback = args.find((each): each is Callback => typeof each === 'function')
      const rest = config ? [config, ...(callback ? [callback] : [])] : args
      if (!count) return plain.apply(this, rest)
      const asked = (typeof first === 'string' ? { text: first, values: second } : first) as Config
      const note = (result: pg.QueryResult): void => this.#note(asked, result, count)
      if (!callback)
        return plain.apply(this, rest).then((result) => {
          note(result)
          return result
        })
      const noted: Callback = (error, result) => {
        if (!error) note(result)
        callback(error, result)
      }
      return void plain.apply(
        this,
        rest.map((each) => (each === callback ? noted : each)),
      )
    }

    #note(config: Config, result: pg.QueryResult, counted: Count): void {
      const word = config.text?.trim().slice(0, 8).toLowerCase() ?? ''
      if (word.startsWith('begin')) this.#open = 0
      else if (word.startsWith('commit') || word.startsWith('rollback')) {
        if (word.startsWith('commit') && this.#open) done?.(this.#open)
        this.#open = undefined
      } else {
        const tasks = counted(config, result)
        if (tasks === 0) return
        if (this.#open === undefined) done?.(tasks)
        else this.#open += tasks
      }
    }
  }
  // A method that is declared with the overloads of `query` would have to repeat them.
  Client.prototype.query = function query(this: Client, ...args: unknown[]) {
    return this.run(args)
  } as unknown as pg.Client['query']
  return Client
}

/** A pool of such clients. */
export function peerPool(connection: Connection, max: number, Client = NamedClient): pg.Pool {
  const pool = new pg.Pool({ ...connection, max, Client })
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  return pool
}
