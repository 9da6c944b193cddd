/** Starts the engine that a command of the tests names by `--engine`. */
import { startMariaDb } from './mariadb-server.ts'
import { startPostgres } from './postgres-server.ts'

interface Settings {
  readonly postgres?: Readonly<Record<string, string>>
  readonly mariadb?: Readonly<Record<string, string>>
}

/**
 * Starts a server if the engine has one, and tells `openSubject` its address. Import `openSubject` only afterwards. The engines `mysql` and `oracle`
 * are your own servers at TASKSTREAM_MYSQL_URL and TASKSTREAM_ORACLE_URL.
 *
 * @throws Error if there is no such engine
 */
export async function startEngine(engine: string, settings: Settings = {}): Promise<AsyncDisposable> {
  switch (engine) {
    case 'sqlite':
      process.env['TASKSTREAM_SUBJECT'] = 'sqlite-file'
      return new AsyncDisposableStack()
    case 'postgres': {
      const server = await startPostgres({ settings: { max_connections: '100', ...settings.postgres } })
      process.env['TASKSTREAM_SUBJECT'] = 'postgres-18'
      process.env['TASKSTREAM_POSTGRES_SERVER'] = server.url
      return server
    }
    case 'mariadb': {
      const server = await startMariaDb(settings.mariadb ? { settings: settings.mariadb } : {})
      process.env['TASKSTREAM_SUBJECT'] = 'mariadb'
      process.env['TASKSTREAM_MARIADB_SERVER'] = server.url
      return server
    }
    case 'mysql':
      if (!process.env['TASKSTREAM_MYSQL_URL'])
        throw new Error('mysql needs a server: TASKSTREAM_MYSQL_URL=mysql://user@host:port/')
      process.env['TASKSTREAM_SUBJECT'] = 'mysql'
      return new AsyncDisposableStack()
    case 'oracle':
      if (!process.env['TASKSTREAM_ORACLE_URL'])
        throw new Error('oracle needs a server: TASKSTREAM_ORACLE_URL=oracle://user:password@host:port/service')
      process.env['TASKSTREAM_SUBJECT'] = 'oracle'
      return new AsyncDisposableStack()
    default:
      throw new Error(`--engine must be postgres, sqlite, mariadb, mysql or oracle, and is ${engine}`)
  }
}
