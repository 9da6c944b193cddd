/**
 * Random histories whose statements interleave on several connections, held against the model. A failure prints its shortest
 * history and its seed; TASKSTREAM_SEED runs it again, TASKSTREAM_RUNS runs more.
 */
import { TaskDecision } from '@taskstream/task-api'
import type { Completion, HeldTask, PushedTask } from '@taskstream/task-api'
import { raw, sql } from '@taskstream/task-sql'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { openFixture } from '../conformance/fixture.ts'
import type { Fixture } from '../conformance/fixture.ts'
import { Model } from '../model.ts'
import { canRun } from '../subject.ts'
import type { Session, Tasks } from '../subject.ts'

const runs = Number(process.env['TASKSTREAM_RUNS'] ?? 600)
const seed = Number(process.env['TASKSTREAM_SEED'] ?? Math.trunc(Math.random() * 2 ** 31))
const kinds = [
  'commit',
  'commit',
  'rollback',
  'push',
  'poll',
  'poll',
  'complete',
  'retry',
  'hand back',
  'release',
  'expire',
  'wait',
] as const

interface Step {
  readonly kind: (typeof kinds)[number]
  readonly session: number
  readonly size: number
}

const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom(...kinds),
  session: fc.nat(2),
  size: fc.integer({ min: 1, max: 4 }),
})

/** One connection with an owner of its own, and everything it ever polled. */
interface Party {
  readonly session: Session
  readonly tasks: Tasks
  readonly polled: HeldTask[]
  /** How much of it is from before the open transaction. */
  kept: number
}

class World {
  readonly model: Model = new Model()
  readonly it: Fixture
  readonly parties: readonly Party[]
  readonly clock: { now: number }
  #pushed = 0

  constructor(it: Fixture, parties: readonly Party[], clock: { now: number }) {
    this.it = it
    this.parties = parties
    this.clock = clock
  }

  async apply({ kind, session: index, size }: Step): Promise<void> {
    const session = index % this.parties.length
    const party = this.parties[session]
    if (!party) return
    const { model, it, clock } = this
    if (kind === 'wait') {
      clock.now += size * 10
      return
    }
    if (kind === 'expire') return this.#expire(party)
    if (!model.isOpen(session)) {
      if (model.open.length >= it.subject.writers) {
        // On SQLite the one writer's lock is taken, and another is told so.
        await expect(party.session.begin()).rejects.toThrow(/locked/)
        return
      }
      await party.session.begin()
      model.begin(session)
      party.kept = party.polled.length
    }
    if (kind === 'commit' || kind === 'rollback') {
      await party.session[kind]()
      // What a rolled-back poll returned was never held, and nobody may use it.
      if (kind === 'rollback') party.polled.length = party.kept
      return model[kind](session)
    }
    if (kind === 'push') return this.#push(session, party, size)
    if (kind === 'poll') return this.#poll(session, party, size)
    if (kind === 'release') return this.#release(session, party)
    return this.#letGo(kind, session, party, size)
  }

  async #push(session: number, { session: { transaction }, tasks }: Party, size: number): Promise<void> {
    const { it, clock } = this
    const creations = Array.from({ length: size }, (_, index) => ({
      identifier: `t${this.#pushed++}`,
      ...(index === 2 ? { due: new Date(clock.now + 15) } : {}),
    }))
    const pushed = (await tasks.push(transaction, it.topic, creations)) as PushedTask[]
    for (const [index, { sequence, identifier }] of pushed.entries()) {
      const { due } = creations[index] ?? {}
      this.model.write(session, {
        sequence,
        identifier,
        attempt: 0,
        state: due ? 'suspended' : 'ready',
        ...(due ? { due: due.getTime() } : {}),
      })
    }
  }

  async #poll(session: number, { session: { transaction }, tasks, polled }: Party, size: number): Promise<void> {
    const { model } = this
    const ready = model.rows(session).filter(({ state }) => state === 'ready')
    const free = ready.filter(({ sequence }) => !model.isLocked(session, sequence))
    const batch = (await tasks.poll(transaction, this.it.topic, { size })) as HeldTask[]
    const sequences = batch.map(({ sequence }) => sequence)
    // While another holds ready tasks, tasks that came back beyond those may be left for the next poll; never taken out of order.
    if (free.length === ready.length) expect(sequences).toEqual(free.slice(0, size).map(({ sequence }) => sequence))
    else expect(free.map(({ sequence }) => sequence).filter((sequence) => sequences.includes(sequence))).toEqual(sequences)
    for (const task of batch) {
      const row = model.row(session, task.sequence)!
      expect(task.attempt).toBe(row.attempt + 1)
      model.write(session, { ...row, state: 'active', owner: tasks.owner, attempt: task.attempt })
    }
    polled.push(...batch)
  }

  /** Completes, retries or hands back tasks of any age: what is no longer held must be refused, and nothing else. */
  async #letGo(
    kind: 'complete' | 'retry' | 'hand back',
    session: number,
    { session: { transaction }, tasks, polled }: Party,
    size: number,
  ): Promise<void> {
    const { model, it, clock } = this
    // The latest or the oldest it knows of each task: an owner can be stale to itself.
    const known = new Map((size % 2 ? polled : polled.toReversed()).map((task) => [task.sequence, task]))
    // A row that another transaction has written to would be waited for.
    const chosen = [...known.values()].filter(({ sequence }) => !model.isLocked(session, sequence)).slice(-size)
    const held = new Set(chosen.filter((task) => model.holds(session, tasks.owner, task)))
    const decision = kind === 'retry' ? TaskDecision.retry({ afterMs: 10 }) : TaskDecision.success()
    const decisions = new Map(chosen.map((task) => [task, decision]))
    const { completed, lost } = (await (kind === 'hand back'
      ? tasks.handBack(transaction, it.topic, chosen)
      : tasks.complete(transaction, it.topic, decisions))) as Completion
    expect(new Set(completed)).toEqual(held)
    expect(new Set(lost)).toEqual(new Set(chosen.filter((task) => !held.has(task))))
    for (const { sequence, identifier, attempt } of held) {
      const base = { sequence, identifier, attempt }
      if (kind === 'complete') model.write(session, { ...base, state: 'succeeded', owner: tasks.owner })
      else if (kind === 'retry') model.write(session, { ...base, state: 'suspended', due: clock.now + 10, owner: tasks.owner })
      else model.write(session, { ...base, state: 'ready' })
    }
  }

  async #release(session: number, { session: { transaction }, tasks }: Party): Promise<void> {
    const { model, clock } = this
    const due = model
      .rows(session)
      .filter(
        ({ state, due: at, sequence }) =>
          state === 'suspended' && (at ?? Infinity) <= clock.now && !model.isLocked(session, sequence),
      )
    expect(await tasks.release(transaction, this.it.topic)).toMatchObject({ released: due.length })
    for (const { sequence, identifier, attempt } of due) model.write(session, { sequence, identifier, attempt, state: 'ready' })
  }

  /** The owner dies and comes back to life: all that it holds, and nobody is writing to, is ready again. */
  async #expire({ tasks }: Party): Promise<void> {
    const { model, it } = this
    if (model.open.length >= it.subject.writers) return
    const table = raw(it.subject.engine === 'postgres' ? 'taskstream.task_owner' : 'task_owner')
    await it.commit(async (transaction) => {
      await it.subject.execute(transaction, sql`delete from ${table} where owner = ${tasks.owner}`)
      await it.tasks.expire(transaction, { olderThanMs: 1_000_000_000, then: 'ready' })
      await tasks.register(transaction)
    })
    for (const { sequence, identifier, attempt, state, owner } of model.rows()) {
      if (state === 'active' && owner === tasks.owner && !model.isLocked(undefined, sequence))
        model.write(undefined, { sequence, identifier, attempt, state: 'ready' })
    }
  }

  /** Ends every transaction, and holds what is there against the model. */
  async settle(): Promise<void> {
    for (const session of this.model.open) {
      await this.parties[session]?.session.commit()
      this.model.commit(session)
    }
    const rows = (await this.it.page()).map(({ identifier, state, attempt, owner }) => [
      identifier,
      state,
      attempt,
      state === 'active' ? owner : '',
    ])
    expect(rows).toEqual(
      this.model
        .rows()
        .map(({ identifier, state, attempt, owner }) => [identifier, state, attempt, state === 'active' ? owner : '']),
    )
    expect(await this.it.states()).toEqual(this.model.states())
  }
}

describe.skipIf(!canRun)(`any history of interleaved statements (${runs} of them, seed ${seed})`, () => {
  test('is one that the model knows', { timeout: 120_000 }, async () => {
    const clock = { now: Date.UTC(2026, 0, 1) }
    await using it = await openFixture(() => new Date(clock.now))
    const count = it.subject.connections === 1 ? 1 : 3
    const sessions = await Promise.all(Array.from({ length: count }, () => it.subject.session()))
    const owners = await Promise.all(Array.from({ length: count }, () => it.owner()))
    const history = fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 60, size: 'max' }), async (steps) => {
      await it.nextTopic()
      const parties = sessions.map((session, index) => ({ session, tasks: owners[index]!, polled: [], kept: 0 }))
      const world = new World(it, parties, clock)
      try {
        for (const one of steps) await world.apply(one)
        await world.settle()
      } finally {
        for (const session of world.model.open) await world.parties[session]?.session.rollback()
      }
    })
    await fc.assert(history, { numRuns: runs, seed, endOnFailure: false })
  })
})
