/**
 * Many connections work at random on one topic with a singular condition, while another looks for two active tasks of one identifier. In
 * the end no sample saw two such tasks, no statement failed, no poll waited for a lock, and no task is stuck.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { isTaskError, TaskDecision } from '@taskstream/task-api'
import type { HeldTask, TopicOptions } from '@taskstream/task-api'
import { raw, sql } from '@taskstream/task-sql'
import type { AnyTransaction, Session, Subject, Tasks } from '../subject.ts'

export interface HammerOptions {
  readonly topic: string
  readonly polling: Required<Pick<TopicOptions, 'order' | 'condition'>>
  readonly connections: number
  readonly identifiers: number
  /** Makes a repository with an owner of its own. Default: an unchanged repository of the subject; for a mutant, a changed one. */
  readonly tasks?: () => Tasks
  /** Whether to go on. Each connection asks before each of its steps. */
  readonly goOn: (report: HammerReport) => boolean
}

export interface HammerReport {
  polls: number
  polled: number
  empty: number
  pushed: number
  completed: number
  /** Owners that were taken for dead, and went on without knowing. */
  deaths: number
  /** Transactions that were rolled back after their work. */
  undone: number
  /** Repairs, recreations, promotions and similar verbs, run between the others. */
  interfered: number
  /** Completions refused because the task was no longer held. */
  lost: number
  samples: number
  /** The texts of statements that a sample saw waiting for a lock. */
  waits: string[]
  /** Samples that saw two active tasks of one identifier. */
  violations: number
  /** The messages of transactions that failed. */
  errors: string[]
  /**
   * Transactions without a poll that the database ended in favour of another, as it may: a deadlock. InnoDB asks every program to be ready for
   * that, however it orders its locks (https://dev.mysql.com/doc/refman/8.4/en/innodb-deadlocks-handling.html).
   */
  conflicts: string[]
  /** Transactions that were begun. */
  transactions: number
  slowestMs: number
  /** Rows and identifiers that a repair found wrong during the run. */
  repaired: number
  /** Ready tasks that no other task blocks, but that no poll found in the end. */
  stuck: number
}

const pick = <Value>(values: readonly Value[]): Value => values[Math.trunc(Math.random() * values.length)]!

export async function hammer(subject: Subject, options: HammerOptions): Promise<HammerReport> {
  const { topic, polling, connections, tasks = () => subject.tasks() } = options
  const report: HammerReport = {
    polls: 0,
    polled: 0,
    empty: 0,
    pushed: 0,
    completed: 0,
    deaths: 0,
    undone: 0,
    interfered: 0,
    lost: 0,
    samples: 0,
    violations: 0,
    waits: [],
    errors: [],
    conflicts: [],
    transactions: 0,
    slowestMs: 0,
    repaired: 0,
    stuck: 0,
  }
  const setUp = tasks()
  await subject.transactions(async (transaction) => {
    await setUp.register(transaction)
    await setUp.initialize(transaction, topic, polling)
  })
  let over = false
  const work = Promise.all(Array.from({ length: connections }, () => labour(subject, options, report)))
  const watch = sample(subject, topic, report, () => over)
  try {
    await work
  } finally {
    over = true
    await watch
  }
  report.stuck = await leftOver(subject, setUp, topic, polling)
  return report
}

/** Pushes, polls, completes and interferes on one connection, with one owner. */
async function labour(subject: Subject, options: HammerOptions, report: HammerReport): Promise<void> {
  const { topic, identifiers, goOn, tasks = () => subject.tasks() } = options
  const session = await subject.session()
  const owner = tasks()
  await inTransaction(session, report, 'register', (transaction) => owner.register(transaction))
  const creation = (): { identifier: string; maxTries: number; delayMs?: number; suspended?: boolean } => ({
    identifier: `i${Math.trunc(Math.random() * identifiers)}`,
    maxTries: 20,
    ...(Math.random() < 0.05 ? { delayMs: 2 } : {}),
    ...(Math.random() < 0.02 ? { suspended: true } : {}),
  })
  const push = async (insertion?: 'supersede' | 'replace' | 'delete'): Promise<void> => {
    const creations = Array.from({ length: pick([1, 2, 3, 20]) }, creation)
    const dawdle = Math.random() < 0.3 ? Math.random() * 20 : 0
    const done = await inTransaction(
      session,
      report,
      'push',
      (transaction) => owner.push(transaction, topic, creations, insertion ? { insertion } : {}),
      subject.writers === 1 ? 0 : dawdle,
      Math.random() < 0.05,
    )
    if (done) report.pushed += creations.length
  }
  /** Another owner takes this owner for dead and expires its tasks. This owner goes on without knowing. */
  const die = async (): Promise<void> => {
    await inTransaction(session, report, 'unregister', (transaction) => owner.unregister(transaction))
    const other = tasks()
    const then = pick(['ready', 'expired'] as const)
    await inTransaction(session, report, 'expire', (transaction) => other.expire(transaction, { olderThanMs: 600_000, then }))
    await inTransaction(session, report, 'register', (transaction) => owner.register(transaction))
    report.deaths++
  }
  const poll = async (): Promise<void> => {
    const size = pick([1, 1, 5, 20, 100])
    const undone = Math.random() < 0.03
    const held = await inTransaction<HeldTask[]>(
      session,
      report,
      'poll',
      (transaction) => owner.poll(transaction, topic, { size }) as HeldTask[] | Promise<HeldTask[]>,
      subject.writers > 1 && Math.random() < 0.05 ? Math.random() * 10 : 0,
      undone,
    )
    report.polls++
    if (!held || held.length === 0) report.empty++
    if (!held || undone) return
    report.polled += held.length
    if (Math.random() < 0.3) await delay(Math.random() * 3)
    if (Math.random() < 0.03) await die()
    await inTransaction(session, report, 'complete', async (transaction) => {
      if (Math.random() < 0.1) return owner.handBack(transaction, topic, held)
      const decisions = new Map(held.map((task) => [task, decide()]))
      const { completed, lost } = await owner.complete(transaction, topic, decisions)
      report.completed += completed.length
      report.lost += lost.length
    })
  }
  const interfere = (): Promise<unknown> =>
    inTransaction(session, report, 'interfere', async (transaction): Promise<unknown> => {
      const kind = Math.random()
      if (kind < 0.1) {
        const { corrected, noted, held } = await owner.repair(transaction, topic)
        return (report.repaired += corrected + noted + held)
      }
      const state = pick(['failed', 'suspended', 'delayed', 'succeeded', 'expired'] as const)
      if (kind < 0.3) return owner.recreate(transaction, topic, 'reset', { state, size: 3 })
      if (kind < 0.5) return owner.recreate(transaction, topic, pick(['append', 'supersede', 'replace']), { state, size: 3 })
      if (kind < 0.7) return owner.promoteDue(transaction, topic)
      if (kind < 0.8) return owner.redrive(transaction, topic, { limit: 5 })
      if (kind < 0.9) return owner.purge(transaction, topic, { limit: 20 })
      return owner.reclaim(transaction, topic, [])
    })
  while (goOn(report)) {
    const dice = Math.random()
    if (dice < 0.3) await push()
    else if (dice < 0.33) await push(pick(['supersede', 'replace', 'delete']))
    else if (dice < 0.9) await poll()
    else if (dice < 0.985) {
      await interfere()
      report.interfered++
    } else await die()
    await delay(0)
  }
}

function decide(): TaskDecision {
  const dice = Math.random()
  if (dice < 0.75) return TaskDecision.success()
  if (dice < 0.85) return TaskDecision.retry({ afterMs: 1 })
  return dice < 0.95 ? TaskDecision.failure('hammer') : TaskDecision.suspension()
}

/** Runs `work` in a transaction. @returns its result, or undefined if the transaction was rolled back or failed */
async function inTransaction<Result>(
  session: Session,
  report: HammerReport,
  verb: string,
  work: (transaction: AnyTransaction) => Result | Promise<Result>,
  dawdleMs = 0,
  undo = false,
): Promise<Result | undefined> {
  await begin(session)
  report.transactions++
  try {
    const start = performance.now()
    const result = await work(session.transaction)
    report.slowestMs = Math.max(report.slowestMs, performance.now() - start)
    if (dawdleMs > 0) await delay(dawdleMs)
    await session[undo ? 'rollback' : 'commit']()
    if (undo) report.undone++
    return undo ? undefined : result
  } catch (error) {
    const isConflict = isTaskError(error, 'TRANSACTION_CONFLICT') && verb !== 'poll'
    report[isConflict ? 'conflicts' : 'errors'].push(`${verb}: ${error instanceof Error ? error.message : String(error)}`)
    await session.rollback().catch(() => {})
    return undefined
  }
}

/** Begins a transaction. On SQLite it tries again while another connection is writing. */
async function begin(session: Session): Promise<void> {
  for (;;) {
    try {
      return await session.begin()
    } catch (error) {
      if (!/locked/.test(String(error))) throw error
      await delay(Math.random() * 2)
    }
  }
}

async function sample(subject: Subject, topic: string, report: HammerReport, over: () => boolean): Promise<void> {
  const session = await subject.session()
  const table = raw(subject.engine === 'postgres' ? 'taskstream.task' : 'task')
  while (!over()) {
    const twice = await subject.execute(
      session.transaction,
      sql`select identifier from ${table} where topic = ${topic} and state = 0 group by identifier having count(*) > 1`,
    )
    if (subject.engine === 'postgres') {
      const waiting = await subject.execute(
        session.transaction,
        sql`select query from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
      )
      report.waits.push(...waiting.map(({ query }) => String(query).trim().replace(/\s+/g, ' ')))
    }
    report.samples++
    if (twice.length > 0) report.violations++
    await delay(0)
  }
}

/** Polls until nothing is found, then counts the ready tasks that the condition, read plainly, does not block. */
async function leftOver(subject: Subject, tasks: Tasks, topic: string, polling: HammerOptions['polling']): Promise<number> {
  const table = raw(subject.engine === 'postgres' ? 'taskstream.task' : 'task')
  const before = raw(polling.order === 'lifo' ? '>' : '<')
  const most = { none: 1, 'singular-by-identifier': 1 } as Readonly<Record<string, number>>
  const failed = most[polling.condition] ?? (polling.condition.endsWith('suspend-on-failure') ? 3 : 4)
  for (let found = 1; found > 0;) {
    found = await subject.transactions(async (transaction) => {
      const held = (await tasks.poll(transaction, topic, { size: 1_000 })) as HeldTask[]
      await tasks.complete(transaction, topic, new Map(held.map((task) => [task, TaskDecision.success()])))
      return held.length
    })
  }
  const rows = await subject.transactions((transaction) =>
    subject.execute(
      transaction,
      sql`
        select count(*) as count
          from ${table} c
         where c.topic = ${topic}
           and c.state = 1
           and not exists (
               select 1
                 from ${table} b
                where b.topic = c.topic
                  and b.identifier = c.identifier
                  and b.sequence <> c.sequence
                  and (b.state = 0
                       or (b.sequence ${before} c.sequence
                           and (b.state = 1 or (b.state = 4 and b.due is not null) or b.state between 2 and ${failed}))))`,
    ),
  )
  return Number(rows[0]?.['count'])
}
