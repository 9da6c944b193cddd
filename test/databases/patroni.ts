/** Three PostgreSQL servers under Patroni, with etcd as their store, as Debian's packages install them. */
import { execFile, execFileSync, spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { chownSync, closeSync, existsSync, mkdirSync, openSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { NotInstalled } from './installed.ts'
import { end, freePort, identity, makeFolder, noteServer, ready, volatile } from './throw-away.ts'

export interface PatroniMember {
  readonly name: string
  /** Of its PostgreSQL server. */
  readonly url: string
  /** Of its Patroni: `/primary` answers 200 if the server is the primary, and 503 if not. */
  readonly restUrl: string
  readonly serverPid: number
  readonly patroniPid: number
  /** Starts its Patroni, which starts the server, after both were killed. */
  start(): void
}

export interface PatroniCluster extends AsyncDisposable {
  readonly version: string
  readonly members: readonly PatroniMember[]
  readonly storePid: number
  /** The member that has the leader's key. */
  leader(): Promise<PatroniMember>
  /** The member that each commit waits for. */
  synchronous(): Promise<PatroniMember>
  /**
   * Resolves when there is one primary, everybody else follows it, and commits wait for one of those.
   *
   * A primary of Patroni 3.0.2 that stood still and goes on may write the synchronous state once more, and then the new primary never names a
   * synchronous standby: the mode is then switched off and on again, as an operator has to. @returns what was done, if that was necessary
   */
  untilWhole(): Promise<string | void>
  /** Runs `patronictl` with these arguments, after those that say which cluster is meant. */
  control(...words: readonly string[]): Promise<void>
}

export interface PatroniOptions {
  /** For how many seconds the leader's key lasts, at least 20. Patroni's default is 30; it looks three times in this time. */
  readonly ttl: number
}

const scope = 'taskstream'
const serverFolder = '/usr/lib/postgresql'
/** A busy machine takes long to copy a server. */
const patienceMs = 240_000
/** Patroni names a synchronous standby within two of its looks. */
const namedMs = 60_000

/** What `/cluster` says of a member. */
interface Told {
  readonly name: string
  readonly role: string
  readonly state: string
  readonly timeline?: number
}

/** @throws NotInstalled if a package is not there */
export async function startPatroni({ ttl }: PatroniOptions): Promise<PatroniCluster> {
  const bin = findServer()
  const version = versionOf()
  await using opened = new AsyncDisposableStack()
  const store = opened.use(await startStore())
  const members: Member[] = []
  const ports = await freePorts(6)
  for (let index = 0; index < 3; index++) {
    const member = new Member(`member-${index + 1}`, ports[2 * index]!, ports[2 * index + 1]!)
    opened.use(member)
    member.configure({ bin, store: store.address, ttl })
    member.start()
    members.push(member)
    // The first one makes the cluster, and the others copy it.
    if (index === 0) await until('a primary', async () => (await told()).some(({ role }) => role === 'leader'))
  }
  const cluster: PatroniCluster = {
    version,
    members,
    storePid: store.pid,
    leader: () => find('leader'),
    synchronous: () => find('sync_standby'),
    untilWhole: async () => {
      await until('a whole cluster', async () => isWhole(await told()))
      if (await isSynchronous(namedMs)) return
      await cluster.control('edit-config', scope, '--force', '-s', 'synchronous_mode=false')
      await until('seen the mode switched off', async () => !(await settings()).synchronous_mode)
      // Each member looks once in this time.
      await delay(1_000 * ttl)
      await cluster.control('edit-config', scope, '--force', '-s', 'synchronous_mode=true')
      if (!(await isSynchronous(patienceMs))) throw new Error('Patroni named no synchronous standby')
      return 'no synchronous standby was named until the mode was switched off and on'
    },
    control: async (...words) => {
      await promisify(execFile)('patronictl', ['-c', members[0]!.file, ...words], { timeout: patienceMs })
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  }
  await cluster.untilWhole()
  const kept = opened.move()
  return cluster

  async function told(): Promise<readonly Told[]> {
    const answers = members.map(async ({ restUrl }) => {
      const answer = await fetch(`${restUrl}/cluster`, { signal: AbortSignal.timeout(2_000) })
      return ((await answer.json()) as { readonly members: readonly Told[] }).members
    })
    // Those that were killed do not answer.
    return Promise.any(answers).catch(() => [])
  }

  async function isSynchronous(withinMs: number): Promise<boolean> {
    const isNamed = async (): Promise<boolean> => (await told()).some(({ role }) => role === 'sync_standby')
    return until('a synchronous standby', isNamed, withinMs).then(
      () => true,
      () => false,
    )
  }

  /** As the store has them. */
  async function settings(): Promise<{ readonly synchronous_mode?: boolean }> {
    const answer = await fetch(`${members[0]!.restUrl}/config`, { signal: AbortSignal.timeout(2_000) })
    return (await answer.json()) as { readonly synchronous_mode?: boolean }
  }

  async function find(role: string): Promise<PatroniMember> {
    let name: string | undefined
    await until(role, async () => (name = (await told()).find((each) => each.role === role)?.name) !== undefined)
    return members.find((member) => member.name === name)!
  }
}

function isWhole(members: readonly Told[]): boolean {
  const leader = members.find(({ role }) => role === 'leader')
  return (
    members.length === 3 &&
    leader !== undefined &&
    members.every(({ state, timeline }) => /^(running|streaming)$/.test(state) && timeline === leader.timeline)
  )
}

class Member implements PatroniMember, AsyncDisposable {
  readonly name: string
  readonly url: string
  readonly restUrl: string
  readonly #folder: string = makeFolder('taskstream-patroni-', volatile)
  readonly #ports: { readonly server: number; readonly rest: number }
  #patroni: ChildProcess | undefined

  constructor(name: string, server: number, rest: number) {
    this.name = name
    this.#ports = { server, rest }
    this.url = `postgres://postgres@127.0.0.1:${server}/postgres`
    this.restUrl = `http://127.0.0.1:${rest}`
    own(this.#folder)
  }

  get file(): string {
    return join(this.#folder, 'patroni.yml')
  }

  get serverPid(): number {
    return Number(readFileSync(join(this.#folder, 'data', 'postmaster.pid'), 'utf8').split('\n')[0])
  }

  get patroniPid(): number {
    return this.#patroni?.pid ?? 0
  }

  configure({ bin, store, ttl }: { readonly bin: string; readonly store: string; readonly ttl: number }): void {
    const { server, rest } = this.#ports
    const superuser = { username: 'postgres' }
    const every = Math.floor(ttl / 3)
    writeFileSync(
      this.file,
      // JSON is YAML too.
      JSON.stringify({
        scope,
        name: this.name,
        restapi: { listen: `127.0.0.1:${rest}`, connect_address: `127.0.0.1:${rest}` },
        etcd3: { hosts: store },
        bootstrap: {
          dcs: {
            ttl,
            loop_wait: every,
            retry_timeout: every,
            synchronous_mode: true,
            // A server that has crashed is not waited for: another one takes its place.
            primary_start_timeout: 0,
            failsafe_mode: true,
            postgresql: { use_pg_rewind: true },
          },
          initdb: [{ encoding: 'UTF8' }, { locale: 'C' }, 'no-sync'],
        },
        postgresql: {
          listen: `127.0.0.1:${server}`,
          connect_address: `127.0.0.1:${server}`,
          data_dir: join(this.#folder, 'data'),
          bin_dir: bin,
          pgpass: join(this.#folder, 'pgpass'),
          pg_hba: ['local all all trust', 'host all all 127.0.0.1/32 trust', 'host replication all 127.0.0.1/32 trust'],
          // What survives the end of processes; a power cut is not tried.
          parameters: { unix_socket_directories: this.#folder, fsync: 'off' },
          remove_data_directory_on_rewind_failure: true,
          remove_data_directory_on_diverged_timelines: true,
          authentication: { superuser, replication: superuser },
        },
      }),
    )
  }

  start(): void {
    const log = openSync(join(this.#folder, 'log'), 'a')
    this.#patroni = spawn('patroni', [this.file], {
      ...identity,
      cwd: '/',
      env: { PATH: process.env['PATH'] ?? '', HOME: this.#folder, LC_ALL: 'C.UTF-8' },
      stdio: ['ignore', log, log],
    })
    this.#patroni.unref()
    noteServer(this.#folder, this.#patroni)
    closeSync(log)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // The watcher first, which would start the server again.
    if (this.#patroni) await end(this.#patroni, 'SIGKILL')
    if (existsSync(join(this.#folder, 'data', 'postmaster.pid'))) {
      const pid = this.serverPid
      try {
        process.kill(pid, 'SIGQUIT')
        process.kill(pid, 'SIGCONT')
        // It is no child of this process, so its end can only be looked for.
        while (process.kill(pid, 0)) await delay(50)
      } catch {
        // It has ended.
      }
    }
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

async function startStore(): Promise<AsyncDisposable & { readonly address: string; readonly pid: number }> {
  const folder = makeFolder('taskstream-etcd-', volatile)
  const data = join(folder, 'data')
  mkdirSync(data, { mode: 0o700 })
  own(data)
  const [clients, peers] = (await freePorts(2)).map((port) => `http://127.0.0.1:${port}`)
  const flags = {
    name: 'store',
    'data-dir': data,
    'listen-client-urls': clients!,
    'advertise-client-urls': clients!,
    'listen-peer-urls': peers!,
    'initial-advertise-peer-urls': peers!,
    'initial-cluster': `store=${peers!}`,
  }
  const words = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, value])
  const server = spawn('etcd', words, { ...identity, cwd: '/', stdio: ['ignore', 'ignore', 'pipe'] })
  noteServer(folder, server)
  await ready(server, 'etcd', 'serving insecure client requests')
  return {
    address: new URL(clients!).host,
    pid: server.pid ?? 0,
    [Symbol.asyncDispose]: async () => {
      await end(server, 'SIGKILL')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Several at once, as the same one might be given twice. */
async function freePorts(count: number): Promise<readonly number[]> {
  const ports = new Set<number>()
  while (ports.size < count) ports.add(await freePort())
  return [...ports]
}

async function until(what: string, isSo: () => Promise<boolean>, withinMs = patienceMs): Promise<void> {
  const endMs = performance.now() + withinMs
  while (!(await isSo().catch(() => false))) {
    if (performance.now() > endMs) throw new Error(`Patroni had not ${what} within ${withinMs / 1_000} seconds`)
    await delay(200)
  }
}

function own(path: string): void {
  if (identity.uid !== undefined && identity.gid !== undefined) chownSync(path, identity.uid, identity.gid)
}

function findServer(): string {
  const releases = existsSync(serverFolder)
    ? readdirSync(serverFolder).toSorted((left, right) => Number(right) - Number(left))
    : []
  const found = releases.map((release) => join(serverFolder, release, 'bin')).find((bin) => existsSync(join(bin, 'pg_rewind')))
  if (found === undefined)
    throw new NotInstalled('there is no PostgreSQL server in /usr/lib/postgresql (apt-get install postgresql)')
  return found
}

function versionOf(): string {
  for (const program of ['etcd', 'patronictl', 'patroni']) {
    try {
      execFileSync(program, ['--version'], { stdio: 'ignore' })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT')
        throw new NotInstalled(
          `${program} is not on this machine (apt-get install patroni etcd-server python3-etcd python3-dnspython)`,
        )
    }
  }
  return execFileSync('patroni', ['--version'], { encoding: 'utf8' }).trim().split(' ').at(-1)!
}
