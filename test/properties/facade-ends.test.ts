/**
 * Random histories of tasks in the words of TaskLib and of asyncjobs end as a model says. A failure prints its shortest history and its seed;
 * TASKSTREAM_SEED runs that seed again, and TASKSTREAM_RUNS sets the number of histories.
 */
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { useJobFixture } from '../e2e/job-fixture.ts'
import type { JobFixture } from '../e2e/job-fixture.ts'
import { canRun } from '../subject.ts'
import { amountOf } from '../tiers.ts'
import { FacadeModel, step } from './facade-model.ts'
import type { ModelTask, Step, TryOutcome } from './facade-model.ts'
import { wordsOfAsyncJobs, wordsOfTaskLib } from './facade-words.ts'
import type { Words } from './facade-words.ts'

const runs = Number(process.env['TASKSTREAM_RUNS'] ?? amountOf('slowNodeSchedules'))
const seed = Number(process.env['TASKSTREAM_SEED'] ?? Math.trunc(Math.random() * 2 ** 31))

class World {
  readonly #fixture: JobFixture
  readonly #words: Words
  readonly #model = new FacadeModel()
  readonly #calls = new Map<string, number>()

  constructor(fixture: JobFixture, words: Words) {
    this.#fixture = fixture
    this.#words = words
  }

  async apply({ kind, pick, picks, isOrphan, plan }: Step): Promise<void> {
    const all = [...this.#model.tasks.values()]
    const one = all[pick % Math.max(1, all.length)]
    if (kind === 'submit') {
      const others = picks.filter(() => all.length > 0).map((other) => all[other % all.length]!.id)
      const needs = this.#words.hasNeeds ? [...new Set([...others, ...(isOrphan ? ['nobody'] : [])])] : []
      const delayed = { ...plan, isDelayed: plan.isDelayed && !this.#words.hasNeeds }
      this.#model.submit(await this.#words.submit(delayed, needs), delayed, needs)
    } else if (kind === 'die') await this.#die(1 + (pick % 2))
    else if (kind === 'run') return this.run(1 + (pick % 3))
    else if (one && !one.isHeld) await this.#changed(kind, one)
    this.#compare(await this.#words.seen())
  }

  /** Has workers handle whatever there is, and stops them once only tasks are left that wait for long. */
  async run(concurrency: number): Promise<void> {
    this.#model.run()
    const openCount = [...this.#model.tasks.values()].filter(({ state }) => state === 'waits').length
    const stop = await this.#words.start(concurrency, (id) => this.#outcomeOf(id))
    try {
      await expect.poll(() => this.#openCount(), { timeout: 30_000, interval: 5 }).toBe(openCount)
    } finally {
      await stop()
    }
    this.#compare(await this.#words.seen())
    const calls = [...this.#model.tasks.values()].map(({ id, calls: count }) => [id, count])
    expect(calls.map(([id]) => [id, this.#calls.get(id as string) ?? 0])).toEqual(calls)
  }

  async #changed(kind: 'cancel' | 'retry' | 'remove', task: ModelTask): Promise<void> {
    const { id } = task
    const refused = (isDone: boolean): string | undefined => (isDone ? undefined : 'TASK_STATE')
    if (kind === 'cancel') {
      const { topic } = this.#words
      await this.#fixture.commit((transaction) => this.#fixture.subject.tasks().cancel(transaction, topic, { externalId: id }))
      this.#model.cancel(task)
    } else if (kind === 'retry') expect(await this.#words.retry(id)).toBe(refused(this.#model.retry(task)))
    else if (this.#words.hasNeeds) expect(await this.#words.remove(id)).toBe(refused(this.#model.remove(task)))
  }

  /** A process takes some tasks and is gone. Those that are too late are decided by its poll. */
  async #die(size: number): Promise<void> {
    const dead = this.#fixture.subject.tasks()
    const held = await this.#fixture.commit(async (transaction) => {
      await dead.register(transaction)
      return dead.poll(transaction, this.#words.topic, { size })
    })
    await this.#fixture.commit(async (transaction) => void (await dead.unregister(transaction)))
    const page = await this.#fixture.page({ name: this.#words.topic })
    const late = page.filter(({ reason }) => reason === 'deadline').map(({ externalId }) => externalId!)
    this.#model.die(
      held.map(({ externalId }) => externalId!),
      late,
    )
  }

  /** How many tasks have not ended. */
  async #openCount(): Promise<number> {
    const counts = await this.#fixture.states({ name: this.#words.topic })
    const ended = new Set(['succeeded', 'failed', 'filtered'])
    return Object.entries(counts).reduce((sum, [state, count]) => sum + (ended.has(state) ? 0 : count), 0)
  }

  #outcomeOf(id: string): TryOutcome {
    const calls = this.#calls.get(id) ?? 0
    this.#calls.set(id, calls + 1)
    const { script } = this.#model.tasks.get(id)!.plan
    return script[Math.min(calls, script.length - 1)]!
  }

  #compare(seen: Awaited<ReturnType<Words['seen']>>): void {
    expect(seen).toEqual([...this.#model.tasks.values()].map((task) => this.#words.told(task)))
  }
}

const wordsOf = { asyncjobs: wordsOfAsyncJobs, TaskLib: wordsOfTaskLib }

describe.skipIf(!canRun)(`any history of tasks of a façade (${runs} of them, seed ${seed})`, () => {
  const fixture = useJobFixture()
  let count = 0

  test.each(['TaskLib', 'asyncjobs'] as const)(
    'ends as the model says, in the words of %s',
    { timeout: 600_000 },
    async (facade) => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 25, size: 'max' }), async (steps) => {
          await using stream = fixture.streamOf()
          const words = wordsOf[facade](() => fixture.streamOf(), stream, `WORDS${count++}`)
          await words.prepare()
          const world = new World(fixture, words)
          try {
            for (const one of steps) await world.apply(one)
            await world.run(2)
          } finally {
            await words.destroy()
          }
        }),
        { numRuns: runs, seed },
      )
    },
  )
})
