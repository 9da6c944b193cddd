/** The process that pushes jobs, as the benchmark steers it. */
import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import type { Connection } from '../speed/database.ts'
import type { Produced, ProducerOrder } from './producer-worker.ts'
import type { SystemName } from './systems.ts'

export class Producer implements AsyncDisposable {
  readonly #child: ChildProcess = fork(new URL('producer-worker.ts', import.meta.url), { stdio: 'inherit' })
  readonly #exited = once(this.#child, 'exit').then(() => undefined)

  /** @param isGrouped whether the jobs of a tick are pushed together */
  async open(system: SystemName, connection: Connection, isGrouped: boolean): Promise<void> {
    await this.#ask({ system, connection, isGrouped })
  }

  /** Pushes so many jobs a second from now on. */
  rate(rate: number): void {
    this.#child.send({ rate } satisfies ProducerOrder)
  }

  /** Pushes no more, and waits for the answers to earlier pushes. */
  async stop(): Promise<Produced> {
    return (await this.#ask({ stop: true })) as Produced
  }

  async #ask(order: ProducerOrder): Promise<unknown> {
    const answered = once(this.#child, 'message') as Promise<[unknown]>
    this.#child.send(order)
    const answer = await Promise.race([answered, this.#exited])
    if (!answer) throw new Error('The producer has ended')
    return answer[0]
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.#exited
  }
}
