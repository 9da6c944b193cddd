/** A proxy before a server, which can refuse every connection. */
import { createServer, connect } from 'node:net'
import type { Server, Socket } from 'node:net'

/** A proxy to a server. Tests close and open it. */
export interface Refusing extends AsyncDisposable {
  readonly url: string
  /** Breaks every connection, and refuses new ones. */
  refuse(): Promise<void>
  /** Accepts connections again. */
  accept(): void
}

/** Starts a proxy between clients and the server of `url`. */
export async function startRefusing(url: string): Promise<Refusing> {
  const target = new URL(url)
  const sockets = new Set<Socket>()
  let isOpen = true
  const server: Server = createServer((client) => {
    if (!isOpen) {
      client.destroy()
      return
    }
    const there = connect(Number(target.port || 5432), target.hostname)
    for (const [socket, other] of [
      [client, there],
      [there, client],
    ] as const) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        other.destroy()
      })
      socket.pipe(other)
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const through = new URL(url)
  through.hostname = '127.0.0.1'
  through.port = String((server.address() as { port: number }).port)
  const refuse = async (): Promise<void> => {
    isOpen = false
    for (const socket of sockets) socket.destroy()
  }
  return {
    url: through.href,
    refuse,
    accept: () => void (isOpen = true),
    [Symbol.asyncDispose]: async () => {
      await refuse()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
