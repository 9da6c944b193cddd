/** Worker processes of which some are to die: whoever ends is followed by another. */
import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { raw, sql } from '@taskstream/task-sql'
import * as fc from 'fast-check'
import type { Subject, Tasks } from '../subject.ts'

interface CrewOptions<Death> {
  /** The program of a worker. Its only argument is its orders. */
  readonly program: URL
  readonly size: number
  readonly deaths: readonly Death[]
  /** The orders of a worker, which lives if it is given no death. */
  readonly orders: (death: Death | undefined) => object
}

/** Until every death has been died, each worker that starts is given one. Disposing of the crew kills those that are left. */
export class Crew<Death extends { readonly moment: string }> implements Disposable {
  /** How often a worker was killed at which moment. */
  readonly killed: Map<Death['moment'], number> = new Map()
  /** Ends that nobody ordered. */
  readonly failures: string[] = []
  readonly #options: CrewOptions<Death>
  readonly #deaths: Death[]
  readonly #workers: Set<ChildProcess> = new Set()
  readonly #dead: string[] = []
  #over = false

  constructor(options: CrewOptions<Death>) {
    this.#options = options
    this.#deaths = [...options.deaths]
    for (let count = 0; count < options.size; count++) this.#start()
  }

  get kills(): number {
    return [...this.killed.values()].reduce((sum, count) => sum + count, 0)
  }

  /** The owners that have died since the last call, as far as they have told their names. */
  takeDead(): string[] {
    return this.#dead.splice(0)
  }

  #start(): void {
    const { program, orders } = this.#options
    const death = this.#deaths.pop()
    const worker = fork(program, [JSON.stringify(orders(death))], { execArgv: ['--conditions=@taskstream/source'] })
    this.#workers.add(worker)
    let owner: string | undefined
    worker.once('message', (message: { owner: string }) => (owner = message.owner))
    // A process may have exited before its message is read. It closes after that.
    worker.once('close', (code, signal) => {
      this.#workers.delete(worker)
      if (this.#over) return
      if (owner !== undefined) this.#dead.push(owner)
      if (signal === 'SIGKILL' && death) this.#count(death.moment)
      else this.failures.push(`a worker that was to ${death ? `die (${death.moment})` : 'live'} ended with ${code ?? signal}`)
      this.#start()
    })
  }

  #count(moment: Death['moment']): void {
    this.killed.set(moment, (this.killed.get(moment) ?? 0) + 1)
  }

  [Symbol.dispose](): void {
    this.#over = true
    for (const worker of this.#workers) worker.kill('SIGKILL')
  }
}

/** Every moment in turn, so that none is left out. The seed draws their order, and how often a worker passes its moment before. */
export function drawDeaths<Moment extends string>(
  moments: readonly Moment[],
  kills: number,
  seed: number,
): { readonly moment: Moment; readonly passes: number }[] {
  const passes = fc.sample(fc.integer({ min: 0, max: 6 }), { seed, numRuns: kills })
  const deaths = passes.map((count, index) => ({ moment: moments[index % moments.length]!, passes: count }))
  return fc.sample(fc.shuffledSubarray(deaths, { minLength: kills, maxLength: kills }), { seed, numRuns: 1 })[0] ?? deaths
}

/** An owner without a row counts as dead at once: nobody need wait for a lease. */
export async function bury(subject: Subject, tasks: Tasks, owners: readonly string[]): Promise<void> {
  await subject.transactions(async (transaction) => {
    const table = raw(subject.engine === 'postgres' ? 'taskstream.task_owner' : 'task_owner')
    for (const owner of owners) await subject.execute(transaction, sql`delete from ${table} where owner = ${owner}`)
    await tasks.expire(transaction, { olderThanMs: 1_000_000, then: 'ready' })
    await tasks.freeSlots(transaction, 1_000_000)
  })
}
