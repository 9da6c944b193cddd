import { statSync } from 'node:fs'
import { TaskError } from '@taskstream/task-api'

/** How long a look at the files counts, in milliseconds. A look takes a few microseconds. */
const everyMs = 1_000

/** A connection by which the place of its file can be asked for. */
interface Asked {
  prepare(text: string): unknown
}

/** Which file a name stands for at this moment; undefined if there is none. */
type Identity = string | undefined

/**
 * Notices that the file of an open connection was deleted, moved or replaced. SQLite says nothing then: it goes on in a file that nobody else sees, and
 * what it commits there is lost. A shared memory file that was deleted is as bad, since two processes then write without knowing of each other
 * (https://sqlite.org/howtocorrupt.html, 2.4).
 */
export class WatchedFile {
  readonly #database: Asked
  /** The file, and its shared memory. Empty for a database in memory. Undefined before the first look. */
  #names: readonly string[] | undefined
  readonly #known: Map<string, Identity> = new Map()
  #lookedMs = -Infinity

  constructor(database: Asked) {
    this.#database = database
  }

  /** Looks at the files, if it has not for a while. Call it in a transaction, as there is no shared memory before the first. @throws TaskError DATABASE_UNAVAILABLE */
  check(): void {
    const nowMs = performance.now()
    if (nowMs - this.#lookedMs < everyMs) return
    this.#names ??= this.#ask()
    for (const name of this.#names) this.#compare(name)
    this.#lookedMs = nowMs
  }

  #ask(): readonly string[] {
    const { file } = this.#get("select file from pragma_database_list where name = 'main'") as { readonly file: unknown }
    return typeof file === 'string' && file !== '' ? [file, `${file}-shm`] : []
  }

  #compare(name: string): void {
    const found = identityOf(name)
    const known = this.#known.get(name)
    if (known === undefined || found === known) this.#known.set(name, found)
    // A file without a write-ahead log has no shared memory.
    else if (name.endsWith('-shm') && this.#mode() !== 'wal') this.#known.delete(name)
    else throw gone(name)
  }

  #mode(): unknown {
    return (this.#get('select journal_mode from pragma_journal_mode') as { readonly journal_mode: unknown }).journal_mode
  }

  #get(text: string): unknown {
    return (this.#database.prepare(text) as { get(): unknown }).get()
  }
}

function identityOf(name: string): Identity {
  const found = statSync(name, { bigint: true, throwIfNoEntry: false })
  return found && `${found.dev} ${found.ino}`
}

function gone(name: string): TaskError {
  const message = `The file ${name} was deleted, moved or replaced while it was open, so that what is written here would be lost: put it back, or restart each process that has it open`
  return new TaskError('DATABASE_UNAVAILABLE', message)
}
