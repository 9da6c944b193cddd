/** Starts a real PgBouncer in transaction mode on loopback, in front of a PostgreSQL server. */
import { execFileSync, spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { chownSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { NotInstalled } from './installed.ts'
import { end, freePort, identity, makeFolder, noteServer, ready } from './throw-away.ts'

export interface PgBouncer extends AsyncDisposable {
  /** The URL of the pooler. Its path may name any database of the server. */
  readonly url: string
  readonly version: string
  readonly pid: number
  /** Kills the pooler by SIGKILL, and starts it again at the same address. */
  crash(): Promise<void>
  stop(): Promise<void>
}

/**
 * Starts the `pgbouncer` on the path, as Debian's package installs it.
 *
 * @throws NotInstalled if there is none
 */
export async function startPgBouncer(
  serverUrl: string,
  /** Connections to the server, for each database. */
  poolSize = 40,
  /** More settings, as in pgbouncer.ini. */
  more: Readonly<Record<string, string | number>> = {},
): Promise<PgBouncer> {
  const program = find()
  const { hostname, port: serverPort, username, password, pathname } = new URL(serverUrl)
  const port = await freePort()
  const folder = makeFolder('taskstream-pgbouncer-')
  const target = [`host=${hostname}`, `port=${serverPort || 5432}`, `user=${decodeURIComponent(username)}`]
  if (password !== '') target.push(`password='${decodeURIComponent(password).replaceAll("'", "''")}'`)
  const settings = {
    listen_addr: '127.0.0.1',
    listen_port: port,
    unix_socket_dir: '',
    auth_type: 'any',
    pool_mode: 'transaction',
    max_client_conn: 1_000,
    default_pool_size: poolSize,
    // Each transaction gets another connection than the one before, if there is another, so that nothing can rely on the session.
    server_round_robin: 1,
    ...more,
  }
  const file = join(folder, 'pgbouncer.ini')
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`)
  writeFileSync(file, ['[databases]', `* = ${target.join(' ')}`, '[pgbouncer]', ...lines, ''].join('\n'), { mode: 0o600 })
  if (identity.uid !== undefined && identity.gid !== undefined) chownSync(file, identity.uid, identity.gid)
  const launch = async (): Promise<ChildProcess> => {
    const launched = spawn(program.path, [file], { ...identity, cwd: '/', stdio: ['ignore', 'ignore', 'pipe'] })
    noteServer(folder, launched)
    await ready(launched, 'PgBouncer', 'process up')
    return launched
  }
  let server = await launch()
  const stop = async (): Promise<void> => {
    await end(server, 'SIGQUIT')
    rmSync(folder, { recursive: true, force: true })
  }
  return {
    url: `postgres://${username}@127.0.0.1:${port}${pathname}`,
    version: program.version,
    get pid() {
      return server.pid ?? 0
    },
    crash: async () => {
      await end(server, 'SIGKILL')
      server = await launch()
    },
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

/** Finds the program. Debian puts it into a folder that is not on a user's path. */
function find(): { readonly path: string; readonly version: string } {
  for (const path of ['pgbouncer', '/usr/sbin/pgbouncer', '/usr/local/sbin/pgbouncer']) {
    try {
      const [, version = '?'] = /PgBouncer (\S+)/.exec(execFileSync(path, ['--version'], { encoding: 'utf8' })) ?? []
      return { path, version }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
  }
  throw new NotInstalled('pgbouncer is not on this machine (apt-get install pgbouncer)')
}
