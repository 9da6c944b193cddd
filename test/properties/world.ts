/** Plays one history: the repository and the model both run each step, and then their rows are compared column by column. */
import { fingerprintOf } from '../../packages/task-sql/src/verbs/fingerprint.ts'
import { isDeepStrictEqual } from 'node:util'
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask, Repair, TaskAttempt, TaskEnding, TaskInfo, TopicOptions } from '@taskstream/task-api'
import { expect } from 'vitest'
import { codeOf } from '@taskstream/task-testing/suite'
import type { Fixture } from '@taskstream/task-testing/suite'
import { Model } from '../model.ts'
import type { Session, Subject, Tasks } from '../subject.ts'
import { claim } from './claims.ts'
import type { ModelPlace, ModelTopic } from './claims.ts'
import { become, filterStateOf, withoutHistory } from './rows.ts'
import type { ModelRow } from './rows.ts'
import type { Step } from './step.ts'
import { acts } from './verbs/acts.ts'
import { nothingWrong } from './verbs/maintain.ts'
import { unlocked, watch } from './waiting.ts'

/** One connection with an owner of its own, and everything it ever polled. */
export interface Party {
  readonly session: Session
  readonly tasks: Tasks
  readonly polled: HeldTask[]
  /** How many of the polled tasks are from before the open transaction. */
  kept: number
  /** Whether the open transaction waits for another. */
  isWaiting: () => Promise<boolean>
}

/** Whose turn it is, and to do what. */
export interface Turn extends Omit<Step, 'session'> {
  readonly session: number
  readonly party: Party
}

/** The sessions that a verb waits for. */
interface Waits {
  /** Returns the sessions that the verb must wait for. It is called again whenever one of them has ended. */
  readonly must?: () => readonly number[]
  /** Whether the verb may wait for other sessions too, where the model cannot tell. */
  readonly may?: boolean
}

export class World {
  readonly model: Model = new Model()
  readonly fixture: Fixture<Subject>
  readonly topic: ModelTopic
  readonly options: TopicOptions
  readonly keyed: boolean
  /** How many tasks were pushed. */
  pushed = 0
  readonly #parties: readonly Party[]
  /** A session that only looks. Where there is one connection, it is the session of the one party. */
  readonly #observer: Session
  readonly #clock: { now: number }
  /** Rows that sessions unlocked by their end while the last verb waited. The verb may have found them locked. */
  readonly letGo = new Set<number>()
  /** Where each poller has left the topic. */
  readonly #places = new Map<object, ModelPlace>()
  /** A verb that is under way and may wait for other sessions. */
  #waiting: { readonly session: number; readonly end: Promise<unknown> } | undefined

  constructor(
    fixture: Fixture<Subject>,
    parties: readonly Party[],
    observer: Session,
    clock: { now: number },
    options: TopicOptions,
  ) {
    const { order = 'fifo', condition = 'none', keyed = condition !== 'none' || order === 'shared' } = options
    this.topic = { order, condition }
    this.options = options
    this.keyed = keyed
    this.fixture = fixture
    this.#parties = parties
    this.#observer = observer
    this.#clock = clock
  }

  placeOf(tasks: object): ModelPlace {
    const place = this.#places.get(tasks) ?? { identifier: '', lap: 0, isKnown: true }
    this.#places.set(tasks, place)
    return place
  }

  get now(): Date {
    return new Date(this.#clock.now)
  }

  async apply({ session: index, ...step }: Step): Promise<void> {
    const session = index % this.#parties.length
    const party = this.#parties[session]!
    const { model } = this
    const { kind, size } = step
    if (kind === 'wait') return void (this.#clock.now += size * 10)
    if (!model.isOpen(session)) {
      if (model.open.length >= this.fixture.subject.writers) return this.#refused(party, step.pick)
      await this.#begin(session)
    }
    if (kind === 'commit' || kind === 'rollback') return this.#end(session, kind)
    await acts[kind](this, { ...step, session, party })
    await this.#look(session)
  }

  async #begin(session: number): Promise<void> {
    const { model, fixture } = this
    const party = this.#parties[session]!
    await party.session.begin()
    model.begin(session)
    party.kept = party.polled.length
    if (fixture.subject.writers === 1) return
    // While a session was alone, nobody learned which rows it has locked.
    const [first, ...others] = model.others(session)
    if (first !== undefined && others.length === 0) await this.#learnLocks(first)
    party.isWaiting = await watch(fixture.subject, party.session, this.#observer)
  }

  /** Expects that a session sees the rows that the model says. */
  async #look(session: number): Promise<void> {
    const { model } = this
    const [page] = await Promise.all([
      this.page(this.#parties[session]!.session),
      model.others(session).length > 0 ? this.#learnLocks(session) : undefined,
    ])
    this.#compare(page, session)
  }

  /** The rows that a session sees, with what their tasks return. */
  async page({ transaction }: Session): Promise<ModelRow[]> {
    const { tasks, topic } = this.fixture
    const rows: readonly TaskInfo[] = await tasks.page(transaction, topic, { size: 1000 })
    const endings: readonly (TaskEnding | undefined)[] = await tasks.endings(transaction, rows)
    return rows.map((row, index) => {
      const value = endings[index]?.value
      return value === undefined ? row : { ...row, value }
    })
  }

  #compare(page: readonly ModelRow[], session?: number): void {
    const rows = this.model.rows(session).map(withoutHistory)
    // This comparison is many times as fast as `toEqual`, which describes the difference.
    if (!isDeepStrictEqual(page, rows)) expect(page).toEqual(rows)
  }

  /**
   * Learns which rows the last verb has locked: rows that are locked, though the model knows of no lock. Under a condition, a
   * poll takes rows off the ready list that it does not return. MariaDB locks rows that it only looks up.
   */
  async #learnLocks(session: number): Promise<void> {
    const { model, fixture } = this
    const free = await unlocked(fixture.subject, this.#observer, fixture.topic)
    for (const { sequence } of model.rows()) {
      const lockers = model.lockers(undefined, sequence)
      if (free.has(sequence)) expect(lockers, `who has locked ${sequence}, which is free`).toEqual([])
      else if (lockers.length === 0) model.lock(session, sequence)
    }
  }

  /** Expects that a second writer is refused while another holds the write lock, as on SQLite. It still sees committed rows. */
  async #refused({ session, tasks, polled }: Party, pick: number): Promise<void> {
    const { topic } = this.fixture
    const { transaction } = session
    const attempts = [
      () => tasks.push(transaction, topic, 'a'),
      // Under a condition, and where identifiers share, a poll looks for tasks before it writes, so a poll that finds none is not refused.
      ...(this.topic.condition === 'none' && this.topic.order !== 'shared' ? [() => tasks.poll(transaction, topic)] : []),
      () => tasks.heartbeat(transaction),
      ...polled.slice(-1).map((task) => () => tasks.handBack(transaction, topic, [task])),
    ]
    const attempt = attempts[pick % 5]
    if (attempt) expect(await codeOf(attempt)).toBe('DATABASE_BUSY')
    else await expect(session.begin()).rejects.toThrow(/locked/)
    this.#compare(await this.page(session))
  }

  /** Ends a transaction, and expects that others then see the rows that the model says. */
  async #end(session: number, how: 'commit' | 'rollback'): Promise<void> {
    const party = this.#parties[session]!
    await party.session[how]()
    // What a rolled-back poll returned was never held, and nobody may use it.
    if (how === 'rollback') party.polled.length = party.kept
    this.model[how](session)
    this.#compare(await this.page(this.#observer))
  }

  /**
   * Runs a verb. While the verb waits for other sessions, their transactions are ended one after the other. Each ends only when
   * the server says that the verb waits, as the verb goes on from what these transactions leave.
   */
  async run<Result>({ session, pick }: Turn, verb: () => Result | Promise<Result>, { must, may }: Waits = {}): Promise<Result> {
    const { model, fixture } = this
    this.letGo.clear()
    if (fixture.subject.writers === 1 || model.others(session).length === 0) return verb()
    const { isWaiting } = this.#parties[session]!
    const state = { isDone: false }
    const end = Promise.resolve(verb()).finally(() => (state.isDone = true))
    end.catch(() => {})
    this.#waiting = { session, end }
    // Drawn for each session that ends, and not for each look: the same history ends the same way again.
    for (let draw = pick; ;) {
      const waits = await isWaiting()
      if (!waits && !state.isDone) continue
      const expected = must?.() ?? []
      if (state.isDone) {
        const result = await end
        expect(expected, 'whom it has not waited for').toEqual([])
        this.#waiting = undefined
        return result
      }
      const blockers = expected.length > 0 ? expected : may ? model.others(session) : []
      expect(blockers, 'whom it waits for').not.toEqual([])
      const blocker = blockers[draw % blockers.length]!
      for (const sequence of model.lockedBy(blocker)) this.letGo.add(sequence)
      await this.#end(blocker, draw++ % 3 === 0 ? 'rollback' : 'commit')
    }
  }

  /** Ends every transaction, and then polls and completes until nothing may be polled any more. */
  async settle(): Promise<void> {
    const { model, fixture, topic, now } = this
    for (const session of model.open) await this.#end(session, 'commit')
    const states = Map.groupBy(model.rows(), filterStateOf)
    expect(await fixture.states()).toEqual(Object.fromEntries([...states].map(([state, { length }]) => [state, length])))
    const repaired = await fixture.commit<Repair>((transaction) => fixture.tasks.repair(transaction, fixture.topic))
    expect(repaired).toEqual(nothingWrong)
    for (let left = true; left;) {
      const { taken, late } = claim(topic, model.rows(), 100, now, () => true, this.placeOf(fixture.tasks))
      const batch = await fixture.poll(100)
      expect(batch.map(({ sequence }) => sequence)).toEqual(taken.map(({ sequence }) => sequence))
      await fixture.complete(batch)
      const { owner } = fixture.tasks
      for (const row of late) model.write(undefined, become.late(become.taken(row, owner, now), now))
      for (const row of taken) model.write(undefined, become.decided(become.taken(row, owner, now), TaskDecision.success(), now))
      this.#compare(await this.page(this.#observer))
      left = batch.length > 0
    }
    await this.#compareAttempts()
  }

  /** Expects that every task has the history of attempts that the model says. */
  async #compareAttempts(): Promise<void> {
    const { model, fixture } = this
    const found = await fixture.commit(async (transaction) => {
      const all: [number, readonly TaskAttempt[]][] = []
      for (const { sequence } of model.rows())
        all.push([sequence, await fixture.tasks.attempts(transaction, fixture.topic, sequence)])
      return all
    })
    expect(found).toEqual(model.rows().map(({ sequence, history = [] }) => [sequence, history.map(withKind)]))
  }

  /** Leaves no transaction open, and no task that an `expire` of the next history would find. */
  async close(): Promise<void> {
    const { model, fixture } = this
    const waiting = this.#waiting
    for (const session of model.open) if (session !== waiting?.session) await this.#parties[session]?.session.rollback()
    await waiting?.end.catch(() => {})
    if (waiting) await this.#parties[waiting.session]?.session.rollback()
    await fixture.commit((transaction) => fixture.tasks.purgeAll(transaction, fixture.topic))
  }
}

/** The fingerprint of an attempt, as of a model's error without a stack. */
function withKind(attempt: TaskAttempt): TaskAttempt {
  if (attempt.outcome === 'lost') return { ...attempt, fingerprint: 'lost' }
  return attempt.error === undefined ? attempt : { ...attempt, fingerprint: fingerprintOf(attempt.error, undefined) }
}
