/** The worker processes of a system. One that ends by itself is replaced, as a supervisor of a server would do. */
import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { WorkerMessage, WorkerOrder } from './system-worker.ts'

/** A supervisor does not start a failing process again and again without a pause. */
const pauseMs = 500

interface Member {
  readonly child: ChildProcess
  /** Resolves when the system in it has started, or when it has ended. */
  readonly ready: Promise<void>
  readonly exited: Promise<void>
}

type FleetOrder = Pick<WorkerOrder, 'system' | 'connection'> & Omit<WorkerOrder['settings'], 'name'>

export class Fleet implements AsyncDisposable {
  readonly #order: FleetOrder
  readonly #members = new Map<number, Member>()
  #isStopped = false
  /** Milliseconds from the start of a process until its system had started. */
  readonly startsMs: number[] = []
  /** What processes said that ended by themselves. */
  readonly exits: string[] = []
  /** How often each error was reported. */
  readonly errors: Record<string, number> = {}

  constructor(order: FleetOrder) {
    this.#order = order
  }

  get size(): number {
    return this.#members.size
  }

  /** Starts a worker in a place. Resolves when its system has started. */
  async start(place: number): Promise<void> {
    const member = this.#fork(place)
    this.#members.set(place, member)
    await member.ready
  }

  /** Kills the worker of a place by SIGKILL. Resolves when the process is gone. */
  async kill(place: number): Promise<void> {
    const member = this.#members.get(place)
    this.#members.delete(place)
    member?.child.kill('SIGKILL')
    await member?.exited
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopped = true
    await Promise.all([...this.#members.keys()].map((place) => this.kill(place)))
  }

  #fork(place: number): Member {
    const forkedMs = performance.now()
    const child = fork(new URL('system-worker.ts', import.meta.url), { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] })
    let said = ''
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (said = (said + text).slice(-2_000)))
    const exited = once(child, 'exit').then(() => this.#gone(place, child, said))
    const { promise: started, resolve } = Promise.withResolvers<void>()
    child.on('message', (message: WorkerMessage) => {
      if ('error' in message) {
        this.errors[message.error] = (this.errors[message.error] ?? 0) + 1
        return
      }
      this.startsMs.push(performance.now() - forkedMs)
      resolve()
    })
    const { system, connection, ...settings } = this.#order
    child.send({ system, connection, settings: { ...settings, name: `worker ${place}` } } satisfies WorkerOrder)
    return { child, exited, ready: Promise.race([started, exited]) }
  }

  #gone(place: number, child: ChildProcess, said: string): void {
    if (this.#isStopped || this.#members.get(place)?.child !== child) return
    this.exits.push(`exit ${child.exitCode ?? child.signalCode}: ${said.trim()}`)
    void this.#replace(place, child)
  }

  async #replace(place: number, child: ChildProcess): Promise<void> {
    await sleep(pauseMs)
    if (!this.#isStopped && this.#members.get(place)?.child === child) await this.start(place)
  }
}
