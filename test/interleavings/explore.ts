/** Runs one scenario in every order of its steps, and compares each step with a model. */
import { TaskDecision } from '@taskstream/task-api'
import type { Completion, HeldTask, PushedTask } from '@taskstream/task-api'
import { raw, sql } from '@taskstream/task-sql'
import { isPostgres } from '../subject.ts'
import type { Session, Subject, Tasks } from '../subject.ts'
import { Ledger } from './ledger.ts'
import type { LedgerRow } from './ledger.ts'
import { schedulesOf, toText } from './scenario.ts'
import type { Scenario, Schedule, Step } from './scenario.ts'

export interface Exploration {
  readonly schedules: number
  /** Each violation with its order of steps. */
  readonly violations: readonly string[]
}

export interface ExploreOptions {
  /** The most orders of each scenario. */
  readonly most: number
  /** Draws orders if there are more. Returns numbers from 0 to below 1. */
  readonly random: () => number
  /** Puts this process's clock ahead by so many milliseconds. */
  readonly pass: (ms: number) => void
  /** Whether to go on after a violation. */
  readonly all?: boolean
}

/** The size of the claim ledger's chunks on PostgreSQL, a power of two. */
const chunk = 8192

/** Runs a scenario's orders on sessions that are opened once. */
export async function explore(subject: Subject, scenario: Scenario, options: ExploreOptions): Promise<Exploration> {
  const names = Object.keys(scenario.connections)
  const sessions = new Map<string, Session>()
  for (const name of names) sessions.set(name, await subject.session())
  const violations: string[] = []
  const schedules = schedulesOf(scenario, options.most, subject.writers, options.random)
  let run = 0
  for (const schedule of schedules) {
    run++
    const play = new Play(subject, scenario, sessions, options.pass)
    try {
      await play.run(schedule)
    } catch (error) {
      violations.push(`${scenario.name}: ${error instanceof Error ? error.message : String(error)}\n  ${toText(schedule)}`)
      if (!options.all) break
    } finally {
      await play.close()
    }
  }
  await Promise.all([...sessions.values()].map((session) => session.close()))
  return { schedules: run, violations }
}

let topics = 0

/** One order of steps as it runs. */
class Play {
  readonly #subject: Subject
  readonly #scenario: Scenario
  readonly #sessions: ReadonlyMap<string, Session>
  readonly #pass: (ms: number) => void
  readonly #topic = `interleaving-${process.pid}-${topics++}`
  readonly #ledger = new Ledger()
  readonly #repositories: Map<string, Tasks> = new Map()
  /** The tasks that each connection has polled. Tasks of an undone poll are removed, as they were never held. */
  readonly #polled: Map<string, HeldTask[]> = new Map()
  /** How many of these tasks were polled before the open transaction, or before its savepoint. */
  readonly #before: Map<string, { readonly transaction: number; readonly savepoint: number }> = new Map()
  readonly #dead: Set<string> = new Set()
  #undertaker: Tasks | undefined

  constructor(subject: Subject, scenario: Scenario, sessions: ReadonlyMap<string, Session>, pass: (ms: number) => void) {
    this.#subject = subject
    this.#scenario = scenario
    this.#sessions = sessions
    this.#pass = pass
  }

  async run(schedule: Schedule): Promise<void> {
    await this.#prepare()
    for (const [connection, step] of this.#scenario.prelude) await this.#take(connection, step)
    for (const [connection, step] of schedule) await this.#take(connection, step)
    for (const connection of this.#sessions.keys()) if (this.#ledger.isOpen(connection)) await this.#take(connection, 'commit')
    await this.#settle()
  }

  /** Ends open transactions, so that the next order begins without any. */
  async close(): Promise<void> {
    for (const [connection, session] of this.#sessions) if (this.#ledger.isOpen(connection)) await session.rollback()
  }

  async #prepare(): Promise<void> {
    const { beforeBorder, connections } = this.#scenario
    await this.#commit(async (transaction) => {
      for (const { owner } of Object.values(connections)) {
        if (this.#repositories.has(owner)) continue
        const tasks = this.#subject.tasks({ owner })
        this.#repositories.set(owner, tasks)
        await tasks.register(transaction)
      }
      this.#undertaker = this.#subject.tasks({ owner: 'undertaker' })
      await this.#undertaker.register(transaction)
      await this.#undertaker.initialize(transaction, this.#topic, { order: this.#scenario.order ?? 'fifo' })
      if (beforeBorder !== undefined && isPostgres) {
        const next = sql`((last_value / ${chunk} + 1) * ${chunk} - 1 - ${beforeBorder}::int8)`
        await this.#subject.execute(
          transaction,
          sql`select setval('taskstream.task_sequence', (select case when ${next} > last_value then ${next} else ${next} + ${chunk} end from taskstream.task_sequence))`,
        )
      }
    })
  }

  #commit<Result>(work: (transaction: Session['transaction']) => Promise<Result>): Promise<Result> {
    return this.#subject.transactions(work)
  }

  async #take(connection: string, step: Step): Promise<void> {
    const session = this.#sessions.get(connection)!
    if (step === 'begin') return this.#begin(connection)
    if (step === 'commit' || step === 'rollback') {
      await session[step]()
      if (step === 'commit') return this.#ledger.commit(connection, isPostgres && this.#scenario.order !== 'lifo')
      this.#ledger.rollback(connection)
      return this.#discard(connection, 'transaction')
    }
    if (step.endsWith('savepoint')) return this.#savepoint(connection, step)
    if (step === 'wait') return this.#pass(1_000)
    if (step === 'expire') return this.#expire()
    if (step === 'die') return this.#die(connection)
    const alone = !this.#ledger.isOpen(connection)
    if (alone) await this.#begin(connection)
    const [verb, size] = step.split(' ')
    if (verb === 'push') await this.#push(connection, Number(size))
    else if (verb === 'poll' || verb === 'take') await this.#poll(connection, Number(size), verb === 'take')
    else await this.#letGo(connection, step)
    if (alone) await this.#take(connection, 'commit')
  }

  async #begin(connection: string): Promise<void> {
    await this.#sessions.get(connection)!.begin()
    this.#ledger.begin(connection)
    const { length } = this.#polled.get(connection) ?? []
    this.#before.set(connection, { transaction: length, savepoint: length })
  }

  #discard(connection: string, since: 'transaction' | 'savepoint'): void {
    this.#polled.get(connection)?.splice(this.#before.get(connection)![since])
  }

  async #savepoint(connection: string, step: Step): Promise<void> {
    await this.#subject.execute(this.#sessions.get(connection)!.transaction, raw(`${step} here`))
    if (step === 'savepoint') {
      this.#ledger.savepoint(connection)
      const savepoint = this.#polled.get(connection)?.length ?? 0
      this.#before.set(connection, { ...this.#before.get(connection)!, savepoint })
    } else if (step === 'release savepoint') this.#ledger.releaseSavepoint(connection)
    else {
      this.#ledger.rollbackToSavepoint(connection)
      this.#discard(connection, 'savepoint')
    }
  }

  #tasksOf(connection: string): Tasks {
    return this.#repositories.get(this.#scenario.connections[connection]!.owner)!
  }

  async #push(connection: string, count: number): Promise<void> {
    const creations = Array.from({ length: count }, (_, index) => `${connection} ${index}`)
    const pushed = (await this.#tasksOf(connection).push(
      this.#sessions.get(connection)!.transaction,
      this.#topic,
      creations,
    )) as PushedTask[]
    for (const { sequence } of pushed) this.#ledger.write(connection, { sequence, state: 'ready', attempt: 0 })
  }

  /** The ready tasks in the order of the topic. */
  #readyFor(connection: string): LedgerRow[] {
    const ready = this.#ledger.rows(connection).filter(({ state }) => state === 'ready')
    return this.#scenario.order === 'lifo' ? ready.toReversed() : ready
  }

  /** Expects the first ready tasks that no other connection works on. */
  async #poll(connection: string, size: number, lent: boolean): Promise<void> {
    const tasks = this.#tasksOf(connection)
    const { transaction } = this.#sessions.get(connection)!
    const batch = (await tasks.poll(transaction, this.#topic, { size, ...(lent && { hold: 'transaction' }) })) as HeldTask[]
    const ready = this.#readyFor(connection)
    const found = batch.map(({ sequence }) => sequence)
    const expected = ready
      .map(({ sequence }) => sequence)
      .filter(
        (sequence) =>
          !this.#isKeptFrom(connection, sequence) ||
          (!this.#ledger.isLockedByOthers(connection, sequence) && found.includes(sequence)),
      )
    check(`${connection}: poll ${size}`, found, expected.slice(0, size))
    for (const { sequence, attempt } of batch)
      this.#ledger.write(connection, { sequence, state: 'active', owner: tasks.owner, attempt }, lent)
    this.#polled.set(connection, [...(this.#polled.get(connection) ?? []), ...batch])
  }

  /**
   * Whether another connection has locked the row, or may still have. PostgreSQL unlocks rows that a savepoint had locked; others
   * may not.
   */
  #isKeptFrom(connection: string, sequence: number): boolean {
    if (this.#ledger.isLockedByOthers(connection, sequence)) return true
    return !isPostgres && this.#ledger.mayBeLockedByOthers(connection, sequence)
  }

  async #letGo(connection: string, step: Step): Promise<void> {
    const tasks = this.#tasksOf(connection)
    const { transaction } = this.#sessions.get(connection)!
    const last = new Map((this.#polled.get(connection) ?? []).map((task) => [task.sequence, task]))
    // A row that another connection has changed is left out, as the verb would wait for its transaction.
    const known = [...last.values()].filter(({ sequence }) => !this.#isKeptFrom(connection, sequence))
    const { completed } = (await (step === 'complete'
      ? tasks.complete(transaction, this.#topic, new Map(known.map((task) => [task, TaskDecision.success()])))
      : tasks.handBack(transaction, this.#topic, known))) as Completion
    const held = known.filter(({ sequence, attempt }) => {
      const row = this.#ledger.row(connection, sequence)
      return row?.state === 'active' && row.owner === tasks.owner && row.attempt === attempt
    })
    const sequencesOf = (some: readonly HeldTask[]): number[] =>
      some.map(({ sequence }) => sequence).toSorted((left, right) => left - right)
    check(`${connection}: ${step}`, sequencesOf(completed), sequencesOf(held))
    for (const { sequence, attempt } of held)
      this.#ledger.write(connection, { sequence, attempt, state: step === 'complete' ? 'done' : 'ready' })
  }

  async #die(connection: string): Promise<void> {
    const { owner } = this.#scenario.connections[connection]!
    if (this.#ledger.isOpen(connection)) await this.#take(connection, 'rollback')
    this.#dead.add(owner)
    const tasks = this.#repositories.get(owner)!
    await this.#commit(async (transaction) => tasks.unregister(transaction))
  }

  async #expire(): Promise<void> {
    // The only writer is busy, and expiring would wait for its transaction.
    if ([...this.#sessions.keys()].filter((name) => this.#ledger.isOpen(name)).length >= this.#subject.writers) return
    await this.#commit(async (transaction) =>
      this.#undertaker!.expire(transaction, { olderThanMs: 1_000_000_000, then: 'ready' }),
    )
    const dead = new Set([...this.#dead].map((owner) => this.#repositories.get(owner)!.owner))
    this.#ledger.begin('undertaker')
    for (const { owner, ...row } of this.#ledger.rows('undertaker')) {
      if (row.state !== 'active' || !dead.has(owner!) || this.#ledger.isLockedByOthers('undertaker', row.sequence)) continue
      this.#ledger.write('undertaker', { ...row, state: 'ready' })
    }
    this.#ledger.commit('undertaker', false)
  }

  /** When all connections have ended, each living process and a new one must find all ready tasks. */
  async #settle(): Promise<void> {
    await this.#expire()
    const living = [...this.#repositories].filter(([owner]) => !this.#dead.has(owner))
    const expected = this.#readyFor('nobody').map(({ sequence }) => sequence)
    for (const [owner, tasks] of [...living, ['a new process', this.#undertaker!] as const]) {
      const rolledBack = new Error('rolled back')
      let found: number[] = []
      // Each process polls twice, because the first poll may learn something on which the second relies.
      for (let again = 0; again < 2; again++) {
        await this.#commit(async (transaction) => {
          const batch: HeldTask[] = await tasks.poll(transaction, this.#topic, { size: 100 })
          found = batch.map(({ sequence }) => sequence)
          throw rolledBack
        }).catch((error: unknown) => {
          if (error !== rolledBack) throw error
        })
        check(`${owner}, in the end`, found, expected)
      }
    }
    const states = await this.#commit(async (transaction) => this.#undertaker!.page(transaction, this.#topic))
    const told = (states as { sequence: number; state: string }[]).map(({ sequence, state }) => `${sequence} ${state}`)
    const model = this.#ledger
      .rows('nobody')
      .map(({ sequence, state }) => `${sequence} ${state === 'done' ? 'succeeded' : state}`)
    check('the states in the end', told, model)
  }
}

function check(what: string, found: readonly unknown[], expected: readonly unknown[]): void {
  if (found.join() !== expected.join()) throw new Error(`${what}: found [${found.join(' ')}] instead of [${expected.join(' ')}]`)
}
