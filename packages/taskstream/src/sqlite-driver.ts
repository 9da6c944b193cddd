import { invalid } from '@taskstream/task-api'
import type { TaskNotifier } from '@taskstream/task-api'
import { configureSqlite, sqlite, sqliteListener, sqliteTransactions } from '@taskstream/task-sql/node-sqlite'
import type { OpenSqliteOptions } from '@taskstream/task-sql/node-sqlite'
import { sqlTaskRepository } from '@taskstream/task-sql'
import type { SqlAdapter } from '@taskstream/task-sql'
import type { StreamDriver, StreamOptions } from './stream-options.ts'

/** The part of a synchronous connection to SQLite that a stream uses. */
export interface SqliteConnection {
  exec(text: string): unknown
  prepare(text: string): { get(): unknown }
  close(): void
}

export interface SqliteStreamOptions<Database> extends StreamOptions<Database>, OpenSqliteOptions {
  /**
   * Whether to look every 25 ms for commits of other connections, on a second connection to the file. Default true; a database in memory has no other
   * connections.
   */
  readonly listen?: boolean
}

const connections = {
  'node:sqlite': { made: "new DatabaseSync('shop.db')", entry: 'taskstream/node-sqlite', own: 'applyChangeset' },
  'better-sqlite3': { made: "new Database('shop.db')", entry: 'taskstream/better-sqlite3', own: 'pragma' },
}

/**
 * Refuses what is no connection, or one of the other library: that has the same methods, so the compiler takes it, and fails at its first statement.
 *
 * @throws TaskError ARGUMENT_INVALID
 */
export function checkConnection(library: keyof typeof connections, database: unknown): void {
  const { made, own } = connections[library]
  const rule = `must be a connection of ${library}, such as ${made}`
  if (typeof (database as Partial<SqliteConnection> | null | undefined)?.prepare !== 'function')
    throw invalid('database', database, rule)
  const other = library === 'node:sqlite' ? 'better-sqlite3' : 'node:sqlite'
  const { own: foreign, entry } = connections[other]
  if (foreign in (database as object) && !(own in (database as object)))
    throw invalid('database', other, `${rule}. For one of ${other}, import taskstream from '${entry}'`)
}

/** Makes the parts of a stream of a connection that nobody else uses. */
export function sqliteDriver<Database extends SqliteConnection>(
  database: Database,
  adapter: SqlAdapter<NoInfer<Database>, 'sync'>,
  opening: OpenSqliteOptions,
  listen: boolean,
): StreamDriver<Database, 'sync'> {
  configureSqlite(database, opening)
  const { file } = database.prepare("select file from pragma_database_list where name = 'main'").get() as { file: string }
  const Connection = database.constructor as new (path: string) => Database
  return {
    repository: sqlTaskRepository({ dialect: sqlite(), adapter }),
    transactions: sqliteTransactions(database),
    notifier: listen && file !== '' ? listener(() => new Connection(file)) : undefined,
  }
}

/** Listens on a connection of its own, as a connection does not see its own commits as changes. */
function listener(connect: () => SqliteConnection): TaskNotifier {
  return {
    listen: async (callbacks) => {
      const connection = connect()
      try {
        const listening = await sqliteListener(connection).listen(callbacks)
        return {
          [Symbol.asyncDispose]: async () => {
            await listening[Symbol.asyncDispose]()
            connection.close()
          },
        }
      } catch (error) {
        // A start that fails can be repeated, and each would leave a connection.
        connection.close()
        throw error
      }
    },
  }
}
