import { setTimeout as pause } from 'node:timers/promises'

/** How often is looked whether a group has ended, in milliseconds. The system tells only of the end of a child, not of its children. */
const lookMs = 20

const running = new Set<ProcessGroup>()

/** `process.exit` runs no handlers to their end, so what they started is killed here. A process that is killed itself cannot do this. */
function killAll(): void {
  for (const group of running) group.signal('SIGKILL')
}

/** A program that was started with a group of its own, and all that it has started, other than what has left for another group. */
export class ProcessGroup implements Disposable {
  readonly #id: number
  #ending: Promise<void> | undefined

  /** @param id the id of the group, which is that of the program */
  constructor(id: number) {
    this.#id = id
    if (running.size === 0) process.on('exit', killAll)
    running.add(this)
  }

  /** @returns whether there was anybody to get the signal; 0 only looks */
  signal(signal: NodeJS.Signals | 0): boolean {
    try {
      return process.kill(-this.#id, signal)
    } catch {
      // All have ended.
      return false
    }
  }

  /** Asks all to end with SIGTERM, and kills those that are left after `killAfterMs`. Only the first call counts. */
  end(killAfterMs: number): Promise<void> {
    this.#ending ??= this.#end(killAfterMs)
    return this.#ending
  }

  async #end(killAfterMs: number): Promise<void> {
    if (!this.signal('SIGTERM')) return
    const untilMs = performance.now() + killAfterMs
    while (this.signal(0)) {
      const leftMs = untilMs - performance.now()
      if (leftMs <= 0) {
        this.signal('SIGKILL')
        return
      }
      await pause(Math.min(lookMs, leftMs))
    }
  }

  [Symbol.dispose](): void {
    running.delete(this)
    if (running.size === 0) process.off('exit', killAll)
  }
}
