/** A proxy between processes and a server: it can cut connections, close halves of them, delay what they send, and stop at any statement. */
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'

/** One connection through the proxy. */
interface Link {
  readonly client: Socket
  readonly server: Socket
  /** What waits to be sent on: towards the server, or towards the client. Undefined: nothing is held up. */
  held: { readonly to: Socket; readonly chunks: Buffer[] } | undefined
}

/** Where a connection is stopped: before a statement reaches the server, or after it has and before its answer comes. */
export type Side = 'statement' | 'answer'

export interface Proxy extends AsyncDisposable {
  readonly url: string
  /** Where new connections go. */
  target: string
  /** Whether new connections are refused. */
  isRefusing: boolean
  /** How long each piece of data takes, in milliseconds. */
  delayMs: number
  readonly connections: number
  /** Ends all connections by a reset. @returns how many */
  cut(): number
  /** Says on all connections that one side will send no more. @returns how many */
  halfClose(side: 'client' | 'server'): number
  /**
   * Stops the connection that sends the next piece of data in which `pattern` is found.
   *
   * @returns what frees or cuts it, or undefined if there was none within `withinMs`
   */
  trap(pattern: RegExp, side: Side, withinMs: number): Promise<{ free(): void; cut(): void } | undefined>
}

export async function openProxy(target: string): Promise<Proxy> {
  const links = new Set<Link>()
  let trap: { readonly pattern: RegExp; readonly side: Side; readonly caught: (link: Link) => void } | undefined
  const server = createServer({ allowHalfOpen: true }, (client) => {
    if (proxy.isRefusing) return void client.on('error', () => {}).resetAndDestroy()
    const url = new URL(proxy.target)
    const link: Link = {
      client,
      server: connect({ host: url.hostname, port: Number(url.port), allowHalfOpen: true }),
      held: undefined,
    }
    links.add(link)
    forward(link, client, link.server)
    forward(link, link.server, client)
  })

  function forward(link: Link, from: Socket, to: Socket): void {
    from.setNoDelay(true)
    from.on('error', () => destroy(link))
    from.on('close', () => destroy(link))
    from.on('end', () => to.end())
    from.on('data', (chunk) => {
      if (proxy.delayMs === 0) return pass(link, from, to, chunk)
      from.pause()
      setTimeout(() => {
        pass(link, from, to, chunk)
        from.resume()
      }, proxy.delayMs)
    })
  }

  function pass(link: Link, from: Socket, to: Socket, chunk: Buffer): void {
    if (trap && from === link.client && !link.held && trap.pattern.test(chunk.toString('latin1'))) {
      const { side, caught } = trap
      trap = undefined
      link.held = { to: side === 'statement' ? link.server : link.client, chunks: [] }
      caught(link)
    }
    if (link.held?.to === to) link.held.chunks.push(chunk)
    else if (to.writable) to.write(chunk)
  }

  function destroy(link: Link): void {
    links.delete(link)
    link.client.destroy()
    link.server.destroy()
  }

  function free(link: Link): void {
    const { to, chunks } = link.held ?? { to: link.client, chunks: [] }
    link.held = undefined
    for (const chunk of chunks) if (to.writable) to.write(chunk)
  }

  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const own = new URL(target)
  own.hostname = '127.0.0.1'
  own.port = String((server.address() as AddressInfo).port)
  const proxy: Proxy = {
    url: own.href,
    target,
    isRefusing: false,
    delayMs: 0,
    get connections() {
      return links.size
    },
    cut: () => {
      const all = [...links]
      for (const link of all) {
        link.client.resetAndDestroy()
        link.server.resetAndDestroy()
        links.delete(link)
      }
      return all.length
    },
    halfClose: (side) => {
      for (const link of links) link[side].end()
      return links.size
    },
    trap: async (pattern, side, withinMs) => {
      const caught = Promise.withResolvers<Link | undefined>()
      const mine = { pattern, side, caught: caught.resolve }
      trap = mine
      const timer = setTimeout(caught.resolve, withinMs, undefined)
      const link = await caught.promise
      clearTimeout(timer)
      if (trap === mine) trap = undefined
      return link && { free: () => free(link), cut: () => destroy(link) }
    },
    [Symbol.asyncDispose]: async () => {
      for (const link of links) destroy(link)
      server.close()
      await once(server, 'close')
    },
  }
  return proxy
}
