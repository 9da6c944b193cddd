/** A proxy for a server that can fall silent: connections stay open, and no more data comes. */
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'

/** A proxy that can fall silent. It still accepts data then, but sends nothing and closes no connection. */
export interface SilentProxy extends AsyncDisposable {
  readonly url: string
  /** Lets all present connections fall silent for good. */
  silence(): void
  /** Whether new connections are forwarded, silent or refused. */
  new: 'forwarded' | 'silent' | 'refused'
}

export async function openSilentProxy(target: string): Promise<SilentProxy> {
  const url = new URL(target)
  const sockets = new Set<Socket>()
  const pairs = new Set<readonly [Socket, Socket]>()
  const keep = (socket: Socket): Socket => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    return socket
  }
  const server = createServer({ allowHalfOpen: true }, (client) => {
    keep(client)
    if (proxy.new === 'refused') client.resetAndDestroy()
    else if (proxy.new === 'silent') client.resume()
    else {
      const upstream = keep(connect({ host: url.hostname, port: Number(url.port), allowHalfOpen: true }))
      pairs.add([client, upstream])
      client.pipe(upstream)
      upstream.pipe(client)
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const own = new URL(target)
  own.hostname = '127.0.0.1'
  own.port = String((server.address() as AddressInfo).port)
  const proxy: SilentProxy = {
    url: own.href,
    new: 'forwarded',
    silence: () => {
      for (const [client, upstream] of pairs) {
        client.unpipe(upstream)
        upstream.unpipe(client)
        // The client's data is still accepted, as a network does for a while.
        client.resume()
        upstream.pause()
      }
      pairs.clear()
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
  return proxy
}
