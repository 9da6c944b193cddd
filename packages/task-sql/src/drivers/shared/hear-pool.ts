import type { EventEmitter } from 'node:events'

type Emitter = Partial<Pick<EventEmitter, 'on' | 'listeners'>>

/** A connection of a pool of pg. */
interface Connection extends Emitter {
  release?(error: boolean): void
}

/**
 * Listens for errors of a pool of pg, and of each connection that it opens: an error event without a listener ends the process. A pool replaces what it has
 * lost, and whoever waits for a connection gets the error anyway. A server may even end a connection in the packet that says it is ready. At that moment the
 * pool no longer listens and the caller does not listen yet.
 */
export function hearPool(pool: unknown): void {
  const emitter = (pool ?? {}) as Emitter
  if (typeof emitter.on !== 'function' || emitter.listeners?.('connect').includes(hearConnection)) return
  emitter.on('error', ignore)
  emitter.on('connect', hearConnection)
}

/**
 * Gives connections back to their pool that are lost while somebody has them. Drizzle does not give back one that is lost as its transaction begins
 * (`node-postgres/session` of 0.45: the `begin` stands before the `try`), so that the pool would be used up loss by loss.
 */
export function takeBackLost(pool: unknown): void {
  const emitter = (pool ?? {}) as Emitter
  if (typeof emitter.on !== 'function' || emitter.listeners?.('acquire').includes(takeBack)) return
  emitter.on('acquire', takeBack)
}

const heard = new WeakSet<Connection>()

function takeBack(connection: Connection): void {
  if (heard.has(connection)) return
  heard.add(connection)
  connection.on?.('end', () => {
    // While the connection is in the pool, this does nothing but throw.
    const { release } = connection
    // Who has it gives it back later, or not at all.
    connection.release = ignore
    try {
      release?.call(connection, true)
    } catch {
      // It was given back already.
    }
  })
}

/** @param connection undefined if it is no pool that says so, but a connection of its own */
function hearConnection(connection: Emitter | undefined): void {
  connection?.on?.('error', ignore)
}

function ignore(): void {}
