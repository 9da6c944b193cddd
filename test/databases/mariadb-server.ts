/** Starts a real MariaDB, as Debian's package installs it. Each call starts a throw-away server, which listens on loopback. */
import { execFileSync, spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { chownSync, existsSync, mkdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { NotInstalled } from './installed.ts'
import { end, freePort, identity, makeFolder, noteServer, ready, volatile } from './throw-away.ts'

export interface MariaDbServer extends AsyncDisposable {
  readonly url: string
  readonly version: string
  readonly pid: number
  /**
   * Ends the server and starts it again on the same data: by SIGKILL (the default), as after a power cut of the process, or by SIGTERM, in order. `down`
   * runs while the server is away.
   */
  crash(signal?: 'SIGKILL' | 'SIGTERM', down?: () => Promise<unknown>): Promise<void>
  stop(): Promise<void>
}

export interface MariaDbServerOptions {
  /** `false` (default) for tests that do not crash the server: no fsync. `true` keeps every durability setting on. */
  readonly durable?: boolean
  /** More settings, as on the command line. They are read at each start. */
  readonly settings?: Readonly<Record<string, string>>
  /** More variables of the server's environment. */
  readonly env?: Readonly<Record<string, string>>
}

/**
 * Starts a server in a temporary folder, in about three seconds. It ends with the process that started it, at the latest when the next server starts.
 *
 * @throws NotInstalled if the package is not there
 */
export async function startMariaDb(options: MariaDbServerOptions = {}): Promise<MariaDbServer> {
  const program = findMariaDb('mariadbd')
  const folder = makeFolder('taskstream-mariadb-', options.durable ? tmpdir() : volatile)
  const data = join(folder, 'data')
  const temporary = join(folder, 'tmp')
  for (const path of [data, temporary]) mkdirSync(path, { mode: 0o700 })
  for (const path of [data, temporary, folder]) if (identity.uid !== undefined) chownSync(path, identity.uid, identity.gid!)
  execFileSync(
    findMariaDb('mariadb-install-db'),
    ['--no-defaults', `--datadir=${data}`, '--auth-root-authentication-method=normal', '--skip-test-db'],
    // It starts a server of its own for a moment, with temporary files, and may delete those of another that does the same.
    { ...identity, cwd: '/', env: { ...process.env, TMPDIR: temporary }, stdio: ['ignore', 'ignore', 'inherit'] },
  )
  const port = await freePort()
  const settings: Record<string, string> = {
    port: String(port),
    'bind-address': '127.0.0.1',
    socket: join(folder, 'socket'),
    // A starting server deletes temporary files as its own leftovers. In a shared folder it would delete those of a running server.
    tmpdir: temporary,
    'max-connections': '500',
    // The longest allowed input, in the widest characters, must fit.
    'max-allowed-packet': '256M',
    ...(options.durable ? {} : { 'innodb-flush-log-at-trx-commit': '0', 'innodb-doublewrite': '0' }),
  }
  const launch = async (): Promise<ChildProcess> => {
    const flags = Object.entries({ ...settings, ...options.settings }).map(([name, value]) => `--${name}=${value}`)
    const launched = spawn(program, ['--no-defaults', `--datadir=${data}`, ...flags], {
      ...identity,
      cwd: '/',
      env: { ...process.env, ...options.env },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    noteServer(folder, launched)
    await ready(launched, 'MariaDB', 'ready for connections')
    return launched
  }
  let server = await launch()
  const stop = async (): Promise<void> => {
    // The data is thrown away, so an orderly shutdown is not needed.
    await end(server, 'SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  }
  return {
    url: `mysql://root@127.0.0.1:${port}/`,
    version: /Ver ([\d.]+)/.exec(execFileSync(program, ['--no-defaults', '--version'], { encoding: 'utf8' }))?.[1] ?? 'unknown',
    get pid() {
      return server.pid ?? 0
    },
    crash: async (signal = 'SIGKILL', down) => {
      await end(server, signal)
      await down?.()
      server = await launch()
    },
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

/** Finds a program of the package. Debian puts the server into a folder that is not on a user's path. */
export function findMariaDb(name: string): string {
  const folders = ['/usr/sbin', ...(process.env['PATH'] ?? '').split(':')]
  const found = folders.map((folder) => join(folder, name)).find((path) => existsSync(path))
  if (!found) throw new NotInstalled(`${name} is not on this machine (apt-get install mariadb-server)`)
  return found
}
