/** The workers of a stress run, and the faults that they meet. */
import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import type { Subject } from '../subject.ts'
import type { WorkerOrders, WorkerReport } from './topics.ts'

/** A stopped worker that has not ended by itself after this time keeps something open. */
const exitMs = 30_000

export class Crew {
  readonly reports: WorkerReport[] = []
  /** Workers that did not end by themselves. */
  leaks = 0
  readonly #location: Subject['location']
  readonly #leaseMs: number
  readonly #random: () => number
  readonly #workers: Set<ChildProcess> = new Set()

  constructor(location: Subject['location'], leaseMs: number, random: () => number) {
    this.#location = location
    this.#leaseMs = leaseMs
    this.#random = random
  }

  /** Starts one more worker, and waits until it runs. */
  async start(): Promise<void> {
    const orders: WorkerOrders = {
      location: this.#location,
      seed: Math.floor(this.#random() * 2 ** 31),
      leaseMs: this.#leaseMs,
    }
    const worker = fork(new URL('worker.ts', import.meta.url), [JSON.stringify(orders)], {
      execArgv: ['--conditions=@taskstream/source'],
      env: { ...process.env, PGAPPNAME: 'worker' },
    })
    this.#workers.add(worker)
    worker.on('exit', () => this.#workers.delete(worker))
    worker.on('message', (message) => {
      if (message !== 'started') this.reports.push(message as WorkerReport)
    })
    const started = once(worker, 'message')
    const exited = once(worker, 'exit').then(([code]) => {
      throw new Error(`A worker ended with ${code} before it ran`)
    })
    exited.catch(() => {})
    await Promise.race([started, exited])
  }

  /** Kills a worker without warning. @returns whether it died of that */
  async kill(): Promise<boolean> {
    const worker = this.#any()
    const exited = once(worker, 'exit')
    worker.kill('SIGKILL')
    const [, signal] = await exited
    await this.start()
    return signal === 'SIGKILL'
  }

  /** Stops a worker in phases, as a deployment does. @returns whether it ended by itself */
  async stop(): Promise<boolean> {
    const ended = await this.#end(this.#any())
    await this.start()
    return ended
  }

  /** Pauses a worker, which then continues where it was. @returns whether it was paused, and still there to continue */
  async sleep(ms: number): Promise<boolean> {
    const worker = this.#any()
    const stopped = worker.kill('SIGSTOP')
    await delay(ms)
    return worker.kill('SIGCONT') && stopped
  }

  /** Stops all workers. */
  async end(): Promise<void> {
    await Promise.all([...this.#workers].map((worker) => this.#end(worker)))
  }

  [Symbol.dispose](): void {
    for (const worker of this.#workers) worker.kill('SIGKILL')
  }

  #any(): ChildProcess {
    const workers = [...this.#workers]
    return workers[Math.floor(this.#random() * workers.length)]!
  }

  async #end(worker: ChildProcess): Promise<boolean> {
    // A worker may have exited before its report is read. It closes after that.
    const closed = once(worker, 'close')
    worker.kill('SIGTERM')
    const late = new AbortController()
    const leaked = delay(exitMs, undefined, { signal: late.signal }).then(
      () => {
        this.leaks++
        worker.kill('SIGKILL')
      },
      () => {},
    )
    const [, signal] = await closed
    late.abort()
    await leaked
    return signal === null
  }
}
