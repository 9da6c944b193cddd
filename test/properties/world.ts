/** One history: what each step does to the repository, and to the model that it is held against. */
import { TaskDecision } from '@taskstream/task-api'
import type {
  Repair,
  Completion,
  FilterState,
  HeldTask,
  Insertion,
  PollHold,
  PushedTask,
  RecreatedTask,
  TopicOptions,
} from '@taskstream/task-api'
import { raw, sql } from '@taskstream/task-sql'
import { expect } from 'vitest'
import type { Fixture } from '@taskstream/task-testing/suite'
import { ended, filterStateOf, Model, olderStates, ownerOf, without } from '../model.ts'
import type { Step } from './step.ts'
import type { ModelRow } from '../model.ts'
import type { Session, Tasks, Subject } from '../subject.ts'

/** One connection with an owner of its own, and everything it ever polled. */
export interface Party {
  readonly session: Session
  readonly tasks: Tasks
  readonly polled: HeldTask[]
  /** How much of it is from before the open transaction. */
  kept: number
}

const decisions: Readonly<Record<string, TaskDecision>> = {
  complete: TaskDecision.success(),
  retry: TaskDecision.retry({ afterMs: 10 }),
  fail: TaskDecision.failure(),
  suspend: TaskDecision.suspension(),
}

export class World {
  readonly model: Model
  readonly it: Fixture<Subject>
  readonly parties: readonly Party[]
  readonly clock: { now: number }
  readonly #keyed: boolean
  /** Sessions whose transaction has joined: another that joins would wait for it. */
  readonly #joined: Set<number> = new Set()
  #pushed = 0

  constructor(it: Fixture<Subject>, parties: readonly Party[], clock: { now: number }, options: TopicOptions) {
    const { order = 'fifo', condition = 'none', keyed = condition !== 'none' } = options
    this.model = new Model({ order, condition })
    this.it = it
    this.parties = parties
    this.clock = clock
    this.#keyed = keyed
  }

  async apply({ kind, session: index, size, pick }: Step): Promise<void> {
    const session = index % this.parties.length
    const party = this.parties[session]!
    const { model, it, clock } = this
    if (kind === 'wait') return void (clock.now += size * 10)
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
      this.#joined.delete(session)
      // What a rolled-back poll returned was never held, and nobody may use it.
      if (kind === 'rollback') party.polled.length = party.kept
      return model[kind](session)
    }
    if (kind === 'push') return this.#push(session, party, size, pick, 'append')
    const unsure = this.#othersMayPoll
    if (kind === 'insert') {
      if (unsure) return
      const insertion = (['supersede', 'replace', 'delete'] as const)[pick % 3]!
      return this.#keyed ? this.#push(session, party, size, pick, insertion) : undefined
    }
    if (kind === 'poll') return void (await this.#poll(session, party, size))
    if (kind === 'take') return this.#take(session, party, size, pick)
    if (kind === 'release') return this.#release(session, party)
    if (kind === 'recreate' || kind === 'reset') return this.#recreate(kind, session, party, size, pick)
    if (kind === 'reassign') return this.#reassign(session, party, pick)
    if (kind === 'redrive') return this.#redrive(session, party, size)
    if (kind === 'junction') return this.#junction(session, party, pick)
    if (kind === 'purge' && !(unsure && pick % 4 === 0)) return this.#purge(session, party, size, pick)
    if (kind !== 'purge') return this.#letGo(kind, session, party, size)
  }

  /** A poll under a condition may be working on ready tasks that it does not take. */
  get #othersMayPoll(): boolean {
    return this.model.topic.condition !== 'none' && this.model.open.length > 1
  }

  async #push(session: number, party: Party, size: number, pick: number, insertion: Insertion): Promise<void> {
    const { model, it, clock } = this
    const first = this.#pushed
    this.#pushed += size
    const creations = Array.from({ length: size }, (_, index) => ({
      identifier: this.#keyed ? `i${(pick + index * (pick % 3)) % 4}` : `t${first + index}`,
      priority: this.model.topic.order === 'priority' ? ((first + index * pick) % 3) - 1 : 0,
      ...(index === 2 ? { due: new Date(clock.now + 15) } : {}),
      ...(index === 3 ? { suspended: true } : {}),
    }))
    const tasks = (await party.tasks.push(party.session.transaction, it.topic, creations, { insertion })) as PushedTask[]
    const last = new Map(creations.map((creation) => [creation.identifier, creation]))
    const kept = insertion === 'delete' ? creations.filter((creation) => last.get(creation.identifier) === creation) : creations
    expect(tasks.map(({ identifier }) => identifier)).toEqual(kept.map(({ identifier }) => identifier))
    const lowest = Math.min(...tasks.map(({ sequence }) => sequence))
    if (insertion !== 'append') this.#removeOlder(session, insertion, [...last.keys()], lowest)
    for (const [index, { sequence }] of tasks.entries()) {
      const { identifier, priority, due, suspended } = kept[index]!
      const redundant = insertion !== 'append' && last.get(identifier) !== kept[index]
      const state = redundant ? 'redundant' : due || suspended ? 'suspended' : 'ready'
      model.write(session, {
        sequence,
        identifier,
        priority,
        state,
        attempt: 0,
        ...(due && !redundant ? { due: due.getTime() } : {}),
      })
    }
  }

  #removeOlder(session: number, insertion: Exclude<Insertion, 'append'>, identifiers: readonly string[], before: number): void {
    const { model } = this
    for (const row of model.rows(session)) {
      if (row.sequence >= before || !identifiers.includes(row.identifier) || !olderStates[insertion].includes(filterStateOf(row)))
        continue
      if (model.isLocked(session, row.sequence)) continue
      if (insertion === 'delete') model.remove(session, row.sequence)
      else model.write(session, without(row, 'redundant'))
    }
  }

  async #poll(session: number, party: Party, size: number, hold: PollHold = 'lease'): Promise<readonly HeldTask[]> {
    const { model } = this
    const {
      session: { transaction },
      tasks,
      polled,
    } = party
    const alone = model.open.length === 1
    const expected = model.pollable(session, size)
    const batch = (await tasks.poll(transaction, this.it.topic, { size, hold })) as HeldTask[]
    const sequences = batch.map(({ sequence }) => sequence)
    const free = model.rows(session).every(({ sequence, state }) => state !== 'ready' || !model.isLocked(session, sequence))
    if (alone || (free && model.topic.condition === 'none')) expect(sequences).toEqual(expected.map(({ sequence }) => sequence))
    for (const { sequence, attempt } of batch) {
      const row = model.row(session, sequence)!
      expect(model.isLocked(session, sequence)).toBe(false)
      expect(attempt).toBe(row.attempt + 1)
      // Others may keep tasks from a poll, but not make it take what it may not: neither by what it sees, nor by what it cannot.
      expect(row.state).toBe('ready')
      expect(model.mayTake(model.rows(session), row)).toBe(true)
      if (model.topic.condition !== 'none') {
        for (const other of model.open) {
          if (other === session) continue
          const taken = model
            .written(other)
            .filter(({ state, identifier }) => state === 'active' && identifier === row.identifier)
          expect(taken).toEqual([])
        }
      }
      model.write(session, { ...row, state: 'active', owner: tasks.owner, attempt })
    }
    polled.push(...batch)
    return batch
  }

  /** Polls what is to be completed in the same transaction, twice at least; the second poll must not bring it again. */
  async #take(session: number, party: Party, size: number, pick: number): Promise<void> {
    const { model, it } = this
    const first = await this.#poll(session, party, size, 'transaction')
    const second = await this.#poll(session, party, size, pick % 2 ? 'transaction' : 'lease')
    const batch = [...first, ...second]
    const decisions = new Map(batch.map((task) => [task, TaskDecision.success()]))
    expect(await party.tasks.complete(party.session.transaction, it.topic, decisions)).toEqual({
      completed: batch.toSorted((left, right) => left.sequence - right.sequence),
      lost: [],
    })
    for (const { sequence } of batch) model.write(session, { ...model.row(session, sequence)!, state: 'succeeded' })
  }

  /** Completes, retries or hands back tasks of any age: what is no longer held must be refused, and nothing else. */
  async #letGo(kind: string, session: number, { session: { transaction }, tasks, polled }: Party, size: number): Promise<void> {
    const { model, it, clock } = this
    // The latest or the oldest it knows of each task: an owner can be stale to itself.
    const known = new Map((size % 2 ? polled : polled.toReversed()).map((task) => [task.sequence, task]))
    // A row that another transaction has written to would be waited for.
    const free = [...known.values()].filter(({ sequence }) => !model.isLocked(session, sequence))
    const isHeld = (task: HeldTask): boolean => model.holds(session, tasks.owner, task)
    // MariaDB locks a row to see that it is not held any more, and an open poll may have taken it off the list: that would be waited for.
    const mayWait = it.subject.engine === 'mariadb' && this.#othersMayPoll
    const chosen = free.filter((task) => !mayWait || isHeld(task)).slice(-size)
    const held = new Set(chosen.filter(isHeld))
    const decision = decisions[kind]
    const { completed, lost } = (await (decision
      ? tasks.complete(transaction, it.topic, new Map(chosen.map((task) => [task, decision])))
      : tasks.handBack(transaction, it.topic, chosen))) as Completion
    expect(new Set(completed)).toEqual(held)
    expect(new Set(lost)).toEqual(new Set(chosen.filter((task) => !held.has(task))))
    for (const { sequence } of held) {
      const row = model.row(session, sequence)!
      if (kind === 'retry') model.write(session, { ...row, state: 'suspended', due: clock.now + 10 })
      else if (decision) model.write(session, { ...row, state: decision.state })
      else model.write(session, without(row, 'ready'))
    }
  }

  async #release(session: number, { session: { transaction }, tasks }: Party): Promise<void> {
    const { model, clock } = this
    const due = this.#free(session, (row) => filterStateOf(row) === 'delayed' && row.due! <= clock.now)
    expect(await tasks.release(transaction, this.it.topic)).toMatchObject({ released: due.length })
    for (const row of due) model.write(session, without(row, 'ready'))
  }

  /** Rows that a session sees and nobody else is working on. */
  #free(session: number, which: (row: ModelRow) => boolean): ModelRow[] {
    return this.model.rows(session).filter((row) => which(row) && !this.model.isLocked(session, row.sequence))
  }

  async #recreate(kind: 'recreate' | 'reset', session: number, party: Party, size: number, pick: number): Promise<void> {
    const { model, it } = this
    const state = (['expired', 'failed', 'suspended', 'succeeded', 'delayed'] as const)[pick % 5]!
    const removes = this.#keyed && (model.topic.condition === 'none' || model.open.length === 1)
    const how = kind === 'reset' ? 'reset' : removes ? (['append', 'supersede', 'replace'] as const)[pick % 3]! : 'append'
    const chosen = this.#free(session, (row) => filterStateOf(row) === state).slice(0, size)
    const made = (await party.tasks.recreate(party.session.transaction, it.topic, how, { state, size })) as RecreatedTask[]
    expect(made.map(({ from }) => from.sequence)).toEqual(chosen.map(({ sequence }) => sequence))
    for (const row of chosen) model.write(session, without(row, how === 'reset' ? 'ready' : 'recreated'))
    if (how === 'reset' || made.length === 0) return
    const identifiers = chosen.map(({ identifier }) => identifier)
    if (how !== 'append') this.#removeOlder(session, how, identifiers, Math.min(...made.map(({ to }) => to.sequence)))
    for (const [index, { to }] of made.entries()) {
      const { identifier, priority } = chosen[index]!
      const state = how === 'append' || identifiers.lastIndexOf(identifier) === index ? 'ready' : 'redundant'
      model.write(session, { sequence: to.sequence, identifier, priority, state, attempt: 0 })
    }
  }

  async #reassign(session: number, { session: { transaction }, tasks }: Party, pick: number): Promise<void> {
    const { model, it } = this
    const from = (['failed', 'suspended', 'expired', 'delayed'] as const)[pick % 4]!
    const rows = model.rows(session).filter((row) => filterStateOf(row) === from)
    // It waits for what others are working on, whether or not it still sees it so.
    if (model.open.length > 1) return
    const count = await tasks.reassignAll(transaction, it.topic, { from, to: pick % 2 ? 'success' : 'filter' })
    expect(count).toBe(rows.length)
    for (const row of rows) model.write(session, { ...without(row, pick % 2 ? 'succeeded' : 'filtered'), ...ownerOf(row) })
  }

  async #redrive(session: number, { session: { transaction }, tasks }: Party, size: number): Promise<void> {
    const failed = this.#free(session, ({ state }) => state === 'failed').slice(0, size)
    expect(await tasks.redrive(transaction, this.it.topic, { limit: size })).toMatchObject({ count: failed.length })
    for (const row of failed) this.model.write(session, without(row, 'ready'))
  }

  async #junction(session: number, { session: { transaction }, tasks }: Party, pick: number): Promise<void> {
    const { model, it } = this
    if (!this.#keyed || model.open.length > 1) return
    this.#joined.add(session)
    const kind = pick % 2 ? 'eternal' : 'singular'
    const group = [`i${pick % 4}`, `i${(pick + 1) % 4}`]
    const waits = (row: ModelRow): boolean => filterStateOf(row) === 'suspended'
    const rows = model.rows(session)
    const met = group.every((identifier) =>
      rows.some((row) => row.identifier === identifier && (kind === 'singular' ? waits(row) : row.state !== 'redundant')),
    )
    const started = rows.filter((row) => met && group.includes(row.identifier) && waits(row))
    expect(await tasks.junction(transaction, it.topic, kind, [group])).toEqual(
      new Set(started.map(({ identifier }) => identifier)),
    )
    for (const row of started) model.write(session, { ...without(row, 'ready'), ...ownerOf(row) })
  }

  async #purge(session: number, { session: { transaction }, tasks }: Party, size: number, pick: number): Promise<void> {
    // Without any, those that have ended are meant.
    const states: readonly FilterState[] | undefined = [['ready' as const], ended, undefined, ['delayed' as const]][pick % 4]
    const rows = this.#free(session, (row) => (states ?? ended).includes(filterStateOf(row))).slice(0, size)
    expect(await tasks.purge(transaction, this.it.topic, { ...(states && { states }), limit: size })).toBe(rows.length)
    for (const { sequence } of rows) this.model.remove(session, sequence)
  }

  /** The owner dies and comes back to life: all that it holds, and nobody is writing to, is ready again. */
  async #expire({ tasks }: Party): Promise<void> {
    const { model, it } = this
    if (model.open.length >= it.subject.writers) return
    const table = raw(it.subject.engine === 'postgres' ? 'taskstream.task_owner' : 'task_owner')
    const then = this.#pushed % 2 ? 'ready' : 'expired'
    await it.commit(async (transaction) => {
      await it.subject.execute(transaction, sql`delete from ${table} where owner = ${tasks.owner}`)
      await it.tasks.expire(transaction, { olderThanMs: 1_000_000_000, then })
      await tasks.register(transaction)
    })
    for (const row of model.rows()) {
      if (row.state !== 'active' || row.owner !== tasks.owner || model.isLocked(undefined, row.sequence)) continue
      model.write(undefined, then === 'ready' ? without(row, 'ready') : { ...row, state: 'expired' })
    }
  }

  /** Ends every transaction, holds what is there against the model, and then drains: nothing that may be polled is left. */
  async settle(): Promise<void> {
    const { model, it } = this
    for (const session of model.open) {
      await this.parties[session]?.session.commit()
      model.commit(session)
    }
    const told = (rows: readonly { identifier: string; state: string; attempt: number; owner?: string }[]): unknown[] =>
      rows.map(({ identifier, state, attempt, owner }) => [identifier, state, attempt, state === 'active' ? owner : ''])
    expect(told(await it.page())).toEqual(told(model.rows()))
    expect(await it.states()).toEqual(model.states())
    const repaired = await it.commit<Repair>((transaction) => it.tasks.repair(transaction, it.topic))
    expect(repaired).toEqual({ topics: 1, corrected: 0, listed: 0, noted: 0, held: 0, left: 0, sequence: 'ahead' })
    for (let expected = model.pollable(undefined, 100); ; expected = model.pollable(undefined, 100)) {
      const batch = await it.poll(100)
      expect(batch.map(({ sequence }) => sequence)).toEqual(expected.map(({ sequence }) => sequence))
      if (batch.length === 0) return
      await it.complete(batch)
      for (const row of expected) model.write(undefined, { ...row, state: 'succeeded' })
    }
  }
}
