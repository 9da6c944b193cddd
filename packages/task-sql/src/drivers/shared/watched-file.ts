import { readFileSync, statSync } from 'node:fs'
import { TaskError } from '@taskstream/task-api'

/** How long a look at the files counts, in milliseconds. A look takes a few microseconds. */
const everyMs = 1_000

/** A connection by which the place of its file can be asked for. */
interface Asked {
  prepare(text: string): unknown
}

/** Which file a name stands for at this moment; undefined if there is none. */
type Identity = { readonly dev: bigint; readonly ino: bigint } | undefined

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
    const asked = this.#database.prepare("select file from pragma_database_list where name = 'main'") as { get(): unknown }
    const { file } = asked.get() as { readonly file: unknown }
    return typeof file === 'string' && file !== '' ? [file, `${file}-shm`] : []
  }

  #compare(name: string): void {
    const found = identityOf(name)
    // A process that has given its rights away still has its files.
    if (found === 'hidden') return
    const known = this.#known.get(name)
    if (known === undefined || (found?.dev === known.dev && found.ino === known.ino)) this.#known.set(name, found)
    // A connection itself gives its shared memory up, with its write-ahead log, or for a file of its own.
    else if (name.endsWith('-shm') && !isMapped(known.ino)) this.#known.delete(name)
    else throw gone(name)
  }
}

function identityOf(name: string): Identity | 'hidden' {
  try {
    return statSync(name, { bigint: true, throwIfNoEntry: false })
  } catch {
    return 'hidden'
  }
}

/** Whether a file is part of the memory of this process, as Linux tells it. Elsewhere nobody knows, and no alarm is raised. */
function isMapped(ino: bigint): boolean {
  try {
    return new RegExp(`^(?:\\S+ ){4}${ino} `, 'm').test(readFileSync('/proc/self/maps', 'latin1'))
  } catch {
    return false
  }
}

function gone(name: string): TaskError {
  const message = `The file ${name} was deleted, moved or replaced while it was open, so that what is written here would be lost: put it back, or restart each process that has it open`
  return new TaskError('DATABASE_UNAVAILABLE', message)
}
