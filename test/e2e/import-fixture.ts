/** Databases for jobs that move, and programs that use the libraries which they come from. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { createDatabase } from '../databases/beside.ts'
import type { DatabaseBeside } from '../databases/beside.ts'
import type { Subject } from '../subject.ts'
import { run, urlOf } from './command-line.ts'
import type { Run } from './command-line.ts'

export interface Imported {
  readonly dryRun: boolean
  readonly moved: number
  readonly duplicates: number
  readonly before: { readonly there: number; readonly here: number }
  readonly after: { readonly there: number; readonly here: number }
  readonly left: readonly { readonly what: string; readonly count: number }[]
  readonly lost: readonly { readonly what: string; readonly count: number }[]
}

export interface MovedTask {
  readonly identifier: string
  readonly externalId: string
  readonly input?: string
  readonly state: string
  readonly due?: string
  readonly deadline?: string
  readonly priority: number
  readonly maxTries?: number
  readonly headers?: Readonly<Record<string, unknown>>
}

/** A database with our tables, and with connections for the tables of others. */
export class TargetDatabase implements AsyncDisposable {
  readonly url: string
  readonly #database: DatabaseBeside

  private constructor(database: DatabaseBeside, url: string) {
    this.#database = database
    this.url = url
  }

  static async create(subject: Subject): Promise<TargetDatabase> {
    const database = await createDatabase(subject)
    const target = new TargetDatabase(database, urlOf({ engine: subject.engine, location: database.location }))
    await target.taskstream('migrate', 'up')
    return target
  }

  taskstream(...args: readonly string[]): Promise<Run> {
    return run([...args, '--url', this.url])
  }

  /** Imports, and reads the answer. @throws Error unless the command succeeds */
  async import(...args: readonly string[]): Promise<Imported> {
    const { code, out, err } = await this.taskstream(
      'import',
      ...args,
      '-o',
      'json',
      ...(args.includes('--dry-run') ? [] : ['--yes']),
    )
    if (code !== 0) throw new Error(`import ended with ${code}: ${err}`)
    return JSON.parse(out) as Imported
  }

  async tasks(topic: string): Promise<readonly MovedTask[]> {
    const { code, out, err } = await this.taskstream('export', topic, '--reveal')
    if (code !== 0) throw new Error(err)
    return out.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as MovedTask]))
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.#database[Symbol.asyncDispose]()
  }
}

/** Runs a statement in a database of PostgreSQL. */
export async function query(
  url: string,
  text: string,
  values: readonly unknown[] = [],
): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(text, [...values])).rows as Record<string, unknown>[]
  } finally {
    await client.end()
  }
}

/** Runs a program of examples/coming-from to its end. */
export async function runExample(name: string, env: Readonly<Record<string, string>>): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, exampleArguments(name), {
    env: { ...process.env, ...env },
    timeout: 60_000,
  })
  return stdout
}

/** What Node.js is given to run a program of examples/coming-from. */
export function exampleArguments(name: string): string[] {
  const file = join(import.meta.dirname, '..', '..', 'examples', 'coming-from', `${name}.ts`)
  return ['--no-warnings', '--conditions=@taskstream/source', file]
}

/** How many of each remark there are. */
export function countsOf(all: Imported['left']): Readonly<Record<string, number>> {
  return Object.fromEntries(all.map(({ what, count }) => [what, count]))
}
