/** One address for several servers, as a load balancer gives it: it asks each server whether work may go there, and ends the connections to one that fails. */
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { until } from './until.ts'

export interface Backend {
  readonly url: string
  /** Whether work may go there. An error or silence means no. */
  isUsable(signal: AbortSignal): Promise<boolean>
}

export interface Switch extends AsyncDisposable {
  /** The address, as a URL with the user and the database of the first server. */
  readonly url: string
  /** Where new connections go, if anywhere. */
  readonly current: Backend | undefined
  backends: readonly Backend[]
}

/** The usual settings of HAProxy for Patroni: a server is asked each second, and given up when it has failed three times. */
const everyMs = 1_000
const answerMs = 1_000
const fall = 3

/** Resolves when there is a server to which work may go. */
export async function openSwitch(backends: readonly Backend[]): Promise<Switch> {
  const links = new Map<Socket, Backend>()
  const failures = new Map<Backend, number>()
  const over = new AbortController()
  let current: Backend | undefined
  let servers = backends
  const listener = createServer((client) => {
    client.setNoDelay(true).on('error', () => {})
    if (!current) return void client.resetAndDestroy()
    const { hostname, port } = new URL(current.url)
    const server = connect({ host: hostname, port: Number(port), noDelay: true })
    links.set(client, current)
    client.pipe(server).pipe(client)
    server.on('error', () => {})
    server.on('close', () => client.destroy())
    client.on('close', () => {
      links.delete(client)
      server.destroy()
    })
  })
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')

  async function look(): Promise<void> {
    const usable = await Promise.all(servers.map(isUsable))
    servers.forEach((backend, index) => failures.set(backend, usable[index] ? 0 : (failures.get(backend) ?? fall) + 1))
    const isUp = (backend: Backend): boolean => servers.includes(backend) && (failures.get(backend) ?? fall) < fall
    // Work stays where it is as long as that is possible.
    if (current && isUp(current)) return
    current = servers.find((_, index) => usable[index])
    for (const [client, backend] of links) if (backend !== current) client.resetAndDestroy()
  }
  const looking = (async () => {
    while (!over.signal.aborted) {
      await look()
      await delay(everyMs, undefined, { signal: over.signal }).catch(() => {})
    }
  })()
  await until('a server is usable', async () => current !== undefined)
  const url = new URL(backends[0]!.url)
  url.port = String((listener.address() as AddressInfo).port)
  return {
    url: url.href,
    get current() {
      return current
    },
    get backends() {
      return servers
    },
    set backends(next) {
      servers = next
    },
    [Symbol.asyncDispose]: async () => {
      over.abort()
      await looking
      for (const client of links.keys()) client.destroy()
      listener.close()
      await once(listener, 'close')
    },
  }
}

async function isUsable(backend: Backend): Promise<boolean> {
  const late = AbortSignal.timeout(answerMs)
  const silence = new Promise<boolean>((resolve) => late.addEventListener('abort', () => resolve(false)))
  return Promise.race([backend.isUsable(late).catch(() => false), silence])
}
