/**
 * Random histories of tasks that need others give the same states as a model. A failure prints its shortest history and its seed; TASKSTREAM_SEED runs
 * that seed again, and TASKSTREAM_RUNS sets the number of histories.
 */
import { TaskDecision } from '@taskstream/task-api'
import type { Settlement, Task, TaskInfo } from '@taskstream/task-api'
import { openFixture } from '@taskstream/task-testing/suite'
import type { Fixture } from '@taskstream/task-testing/suite'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { canRun, engine } from '../subject.ts'
import type { AnyTransaction } from '../subject.ts'
import { amountOf } from '../tiers.ts'

const runs = Number(process.env['TASKSTREAM_RUNS'] ?? amountOf('slowHistories'))
const seed = Number(process.env['TASKSTREAM_SEED'] ?? Math.trunc(Math.random() * 2 ** 31))

type State = 'ready' | 'blocked' | 'suspended' | 'failed' | 'filtered' | 'succeeded'
interface ModelTask {
  readonly sequence: number
  state: State
  readonly needs: readonly { readonly on: number; readonly tolerant: boolean }[]
}

const kinds = ['push', 'push needing', 'push needing', 'end', 'end', 'settle', 'settle', 'reset', 'cancel', 'purge'] as const
const decisions = { succeeded: 'success', failed: 'failure', filtered: 'filter', suspended: 'suspension' } as const
const step = fc.record({
  kind: fc.constantFrom(...kinds),
  pick: fc.nat(1_000),
  picks: fc.array(fc.record({ on: fc.nat(1_000), tolerant: fc.boolean() }), { minLength: 1, maxLength: 4 }),
  to: fc.constantFrom<keyof typeof decisions>('succeeded', 'succeeded', 'failed', 'filtered', 'suspended'),
  isKept: fc.integer({ min: 0, max: 4 }).map((number) => number > 0),
})
type Step = typeof step extends fc.Arbitrary<infer One> ? One : never

const isOpen = (state: State): boolean => ['ready', 'blocked', 'suspended'].includes(state)

class World {
  readonly #fixture: Fixture
  #tasks: ModelTask[] = []
  #pushed = 0

  constructor(fixture: Fixture) {
    this.#fixture = fixture
  }

  async apply({ kind, pick, picks, to, isKept }: Step): Promise<void> {
    const { tasks, topic } = this.#fixture
    const before = structuredClone(this.#tasks)
    await this.#fixture.subject
      .transactions(async (transaction) => {
        const one = this.#tasks[pick % Math.max(1, this.#tasks.length)]
        const itself = one && [{ topic, sequence: one.sequence, identifier: `t${one.sequence}` }]
        if (kind === 'push' || (kind === 'push needing' && !one)) await this.#push(transaction, false)
        else if (kind === 'push needing') {
          const sequence = await this.#push(transaction, true)
          const needs = picks.map(({ on, tolerant }) => ({ on: this.#tasks[on % (this.#tasks.length - 1)]!.sequence, tolerant }))
          const on = needs.map(({ on: needed, tolerant }, index) => ({
            need: `n${index}`,
            on: { topic, sequence: needed },
            tolerant,
          }))
          await tasks.depend(transaction, { topic, sequence }, on)
          this.#tasks[this.#tasks.length - 1] = { sequence, state: 'blocked', needs }
        } else if (kind === 'end') {
          const [held] = await tasks.poll(transaction, topic)
          const first = this.#tasks.find(({ state }) => state === 'ready')
          expect(held?.sequence).toBe(first?.sequence)
          if (!held) return
          await tasks.complete(transaction, topic, new Map([[held, TaskDecision[decisions[to]]()]]))
          first!.state = to
        } else if (kind === 'settle') {
          expect(await tasks.settle(transaction, topic)).toEqual(this.#settle())
        } else if (kind === 'reset' && one && one.state !== 'ready' && one.state !== 'blocked') {
          await tasks.recreate(transaction, topic, 'reset', await this.#named(transaction, itself!))
          one.state = one.needs.length > 0 ? 'blocked' : 'ready'
        } else if (kind === 'cancel' && one) {
          await tasks.cancel(transaction, topic, one.sequence)
          if (isOpen(one.state)) one.state = 'filtered'
        } else if (kind === 'purge') {
          await tasks.purge(transaction, topic)
          this.#purge()
        }
        if (!isKept) throw new Error('rolled back')
      })
      .catch((error: unknown) => {
        if ((error as Error).message !== 'rolled back') throw error
        this.#tasks = before
      })
    await this.#compare()
  }

  /** Ends everything that can end, and expects that nothing is blocked any more unless something it needs is set aside. */
  async settle(): Promise<void> {
    const fixture = this.#fixture
    for (let moved = true; moved;) {
      const { started, unreachable } = await fixture.commit<Settlement>((transaction) =>
        fixture.tasks.settle(transaction, fixture.topic),
      )
      expect({ started, unreachable }).toEqual(this.#settle())
      const held = await fixture.poll(100)
      await fixture.complete(held)
      for (const { sequence } of held) this.#tasks.find((task) => task.sequence === sequence)!.state = 'succeeded'
      moved = held.length > 0 || started + unreachable > 0
    }
    await this.#compare()
    const aside = new Set(this.#tasks.filter(({ state }) => isOpen(state)).map(({ sequence }) => sequence))
    for (const { state, needs } of this.#tasks) if (state === 'blocked') expect(needs.some(({ on }) => aside.has(on))).toBe(true)
  }

  async #push(transaction: AnyTransaction, suspended: boolean): Promise<number> {
    const { tasks, topic } = this.#fixture
    const [task] = await tasks.push(transaction, topic, { identifier: `p${this.#pushed++}`, suspended })
    this.#tasks.push({ sequence: task!.sequence, state: suspended ? 'suspended' : 'ready', needs: [] })
    return task!.sequence
  }

  async #named(transaction: AnyTransaction, [task]: readonly Task[]): Promise<Task[]> {
    const { tasks, topic } = this.#fixture
    const found: TaskInfo | undefined = await tasks.task(transaction, topic, task!.sequence)
    return [found!]
  }

  #settle(): Settlement {
    const stateOf = (sequence: number): State | undefined => this.#tasks.find((task) => task.sequence === sequence)?.state
    const waiting = this.#tasks.filter(({ state }) => state === 'blocked')
    const isMissed = ({ needs }: ModelTask): boolean =>
      needs.some(({ on, tolerant }) => !tolerant && [undefined, 'failed', 'filtered'].includes(stateOf(on)))
    const missing = waiting.filter(isMissed)
    const free = waiting.filter(
      (task) => !isMissed(task) && !task.needs.some(({ on }) => stateOf(on) !== undefined && isOpen(stateOf(on)!)),
    )
    for (const task of missing) task.state = 'failed'
    for (const task of free) task.state = 'ready'
    return { started: free.length, unreachable: missing.length }
  }

  #purge(): void {
    const needed = new Set(this.#tasks.filter(({ state }) => isOpen(state)).flatMap(({ needs }) => needs.map(({ on }) => on)))
    this.#tasks = this.#tasks.filter(({ state, sequence }) => state === 'ready' || state === 'blocked' || needed.has(sequence))
  }

  async #compare(): Promise<void> {
    const page = await this.#fixture.page()
    expect(page.map(({ sequence, state, blocked }) => [sequence, blocked ? 'blocked' : state])).toEqual(
      this.#tasks.map(({ sequence, state }) => [sequence, state]),
    )
  }
}

describe.skipIf(!canRun)(`any history of tasks that need others (${runs} of them, seed ${seed})`, () => {
  test('is one that the model knows, and leaves nothing blocked by what has ended', { timeout: 600_000 }, async () => {
    await using fixture = await openFixture(engine)
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40, size: 'max' }), async (steps) => {
        await fixture.nextTopic({ keyed: true })
        const world = new World(fixture)
        for (const one of steps) await world.apply(one)
        await world.settle()
        await fixture.commit((transaction) => fixture.tasks.purgeAll(transaction, fixture.topic))
      }),
      { numRuns: runs, seed },
    )
  })
})
