/** Debian's Redis, for tests of what comes from BullMQ: `apt-get install redis-server`. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'

const hasRedis: boolean = spawnSync('redis-server', ['--version']).status === 0

/** Skips a test where there is no Redis, unless REQUIRE_REDIS is set, as in CI. */
export const withoutRedis: boolean = !hasRedis && !process.env['REQUIRE_REDIS']

export interface RedisServer extends AsyncDisposable {
  readonly url: string
  /** The path of its Unix socket. */
  readonly socket: string
  readonly pid: number
  readonly client: Redis
}

/**
 * Starts a server of its own, on a free port of this machine, that writes nothing unless its options say so.
 *
 * @param more options, as of the program
 * @throws Error if there is no Redis
 */
export async function startRedis(more: readonly string[] = []): Promise<RedisServer> {
  if (!hasRedis) throw new Error('There is no redis-server: apt-get install redis-server')
  const folder = mkdtempSync(join(tmpdir(), 'taskstream-redis-'))
  const socket = join(folder, 'redis.sock')
  // Redis takes no port of the system's choice, so it is asked until a port was free.
  for (let attempt = 0; ; attempt++) {
    const port = 20_000 + Math.floor(Math.random() * 20_000)
    const options = ['--bind', '127.0.0.1', '--port', String(port), '--unixsocket', socket, '--save', '', '--appendonly', 'no']
    const child = spawn('redis-server', [...options, ...more, '--dir', folder], { stdio: ['ignore', 'pipe', 'ignore'] })
    let said = ''
    const ready = new Promise<boolean>((resolve) => {
      child.stdout.on('data', (text: Buffer) => {
        said += String(text)
        if (/Ready to accept connections/.test(said)) resolve(true)
      })
      child.once('exit', () => resolve(false))
    })
    if (!(await ready)) {
      if (attempt === 20) throw new Error(`Redis does not start: ${said}`)
      continue
    }
    const client = new Redis({ port, host: '127.0.0.1', maxRetriesPerRequest: null })
    return {
      url: `redis://127.0.0.1:${port}`,
      socket,
      pid: child.pid!,
      client,
      [Symbol.asyncDispose]: async () => {
        client.disconnect()
        const gone = once(child, 'exit')
        child.kill('SIGKILL')
        await gone
        rmSync(folder, { recursive: true, force: true })
      },
    }
  }
}
