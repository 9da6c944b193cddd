/** The Redis servers of a run: each is started when it is first asked for, and listens on this machine only. */
import { spawnSync } from 'node:child_process'
import { startRedis } from '../../test/redis.ts'
import type { RedisServer } from '../../test/redis.ts'
import type { Meter } from './cost.ts'
import { cpuUsOf } from './processes.ts'

/** Why there is no Redis, or undefined if there is one. */
export function absentBecause(): string | undefined {
  const { status } = spawnSync('redis-server', ['--version'])
  return status === 0 ? undefined : 'there is no redis-server. On Debian: apt-get install redis-server'
}

export class RedisServers implements AsyncDisposable {
  readonly #started = new Map<boolean, Promise<RedisServer>>()

  /** @param isLogged whether it has an append-only file, which it flushes each second, its default */
  readonly get = (isLogged: boolean): Promise<RedisServer> => {
    let server = this.#started.get(isLogged)
    if (!server) {
      server = startRedis(isLogged ? ['--appendonly', 'yes', '--appendfsync', 'everysec'] : [])
      this.#started.set(isLogged, server)
    }
    return server
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const server of this.#started.values()) await (await server)[Symbol.asyncDispose]()
  }
}

/** Its log is the append-only file, which it rewrites when it likes, so that bytes are not told. */
export function meterOfRedis({ pid }: RedisServer): Meter {
  return {
    read: () => Promise.resolve({ serverUs: cpuUsOf(pid), logBytes: null }),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  }
}
