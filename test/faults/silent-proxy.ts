/** A proxy before a server that can fall silent: connections stay open, and nothing more comes. */
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'

/** Stands before a server, and can fall silent: what is sent is taken, and nothing is said any more, not even goodbye. */
export interface SilentProxy extends AsyncDisposable {
  readonly url: string
  /** The connections that there are fall silent for good. */
  silence(): void
  /** What becomes of new ones. */
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
        // What is sent is taken, as a network would for a while.
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
