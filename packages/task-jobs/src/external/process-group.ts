import type { ChildProcess } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'

/** How soon is looked whether a group has ended, and how often at last, in milliseconds. The system tells of a child's end, and not of its children's. */
const firstLookMs = 20
const longestLookMs = 200

const running = new Set<ProcessGroup>()

/** `process.exit` runs no handlers to their end, so what they started is killed here. A process that is killed itself cannot do this. */
function killAll(): void {
  for (const group of running) group.signal('SIGKILL')
}

/** A program that was started with a group of its own, and all that it has started, other than what has left for another group. */
export class ProcessGroup implements Disposable {
  readonly #leader: ChildProcess
  #ending: Promise<void> | undefined

  /** @param leader a program that was started `detached`, and has a process id */
  constructor(leader: ChildProcess) {
    this.#leader = leader
    if (running.size === 0) process.on('exit', killAll)
    running.add(this)
  }

  get #id(): number {
    return this.#leader.pid!
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
    for (let lookMs = firstLookMs; await this.#runs(); lookMs = Math.min(longestLookMs, 1.5 * lookMs)) {
      const leftMs = untilMs - performance.now()
      if (leftMs <= 0) {
        this.signal('SIGKILL')
        return
      }
      await pause(Math.min(lookMs, leftMs))
    }
  }

  async #runs(): Promise<boolean> {
    if (this.#leader.exitCode === null && this.#leader.signalCode === null) return true
    return this.signal(0) && (await anyRuns(this.#id))
  }

  [Symbol.dispose](): void {
    running.delete(this)
    if (running.size === 0) process.off('exit', killAll)
  }
}

/**
 * Whether a group has a process that has not ended. Those that have ended stay in their group until somebody takes note, which may take a second, and
 * in a container without an init nobody does. Systems without `/proc` do not tell them apart.
 */
async function anyRuns(group: number): Promise<boolean> {
  const names = await readdir('/proc').catch(() => [])
  const ids = names.filter((name) => /^\d+$/.test(name))
  for (const id of ids) {
    const stat = await readFile(`/proc/${id}/stat`, 'latin1').catch(() => '')
    // The second field is a name in parentheses, which may have anything in it. State, parent and group come after it.
    const [state = 'Z', , its] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    if (Number(its) === group && state !== 'Z' && state !== 'X') return true
  }
  return ids.length === 0
}
