import type { EventEmitter } from 'node:events'

type Emitter = Partial<Pick<EventEmitter, 'on' | 'listeners'>>

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

/** @param connection undefined if it is no pool that says so, but a connection of its own */
function hearConnection(connection: Emitter | undefined): void {
  connection?.on?.('error', ignore)
}

function ignore(): void {}
