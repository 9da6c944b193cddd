/** One PostgreSQL for a whole run, and a word at the end on which engines ran. */
import { startPostgres } from './postgres-server.ts'

export default async function setup(): Promise<() => Promise<void>> {
  const ran = ['SQLite in memory and in files (better-sqlite3, node:sqlite)']
  const skipped = [
    'MariaDB, MySQL and Oracle: not supported yet, there is nothing to run',
    'PostgreSQL 15 to 17: not run yet; TASKSTREAM_POSTGRES_URL=postgres://… npm test runs the suite on a server of yours, in databases of its own',
  ]
  let stop = async (): Promise<void> => {}
  const given = process.env['TASKSTREAM_POSTGRES_URL']
  if (given) {
    process.env['TASKSTREAM_POSTGRES_SERVER'] = given
    ran.push('PostgreSQL at TASKSTREAM_POSTGRES_URL')
  } else {
    try {
      const server = await startPostgres({ settings: { max_connections: '300' } })
      process.env['TASKSTREAM_POSTGRES_SERVER'] = server.url
      stop = server.stop
      ran.push(`PostgreSQL ${server.version}, from npm binaries`)
    } catch (error) {
      // On CI every engine that can be installed is required: a skip would read as covered.
      if (process.env['REQUIRE_POSTGRES'] || process.env['CI']) throw error
      skipped.push(`PostgreSQL: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  return async () => {
    await stop()
    console.log(`\nEngines that ran:\n${list(ran)}\nSkipped:\n${list(skipped)}\n`)
  }
}

function list(lines: readonly string[]): string {
  return lines.map((line) => `  - ${line}`).join('\n')
}
