/**
 * Three processes work on eight topics while every fault happens to them. In the end each pushed task was done once, and in order.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { FilterState, PushedTask, TaskCount } from '@taskstream/task-api'
import { raw, sql } from '@taskstream/task-sql'
import type { Row } from '@taskstream/task-sql'
import type { Subject, Tasks } from '../subject.ts'
import { Crew } from './crew.ts'
import { randomOf, topics } from './topics.ts'

export interface StressOptions {
  readonly seconds: number
  readonly seed: number
  /** Called now and then with a line about the progress. */
  readonly onProgress?: (line: string) => void
}

export interface StressReport {
  readonly seed: number
  readonly pushed: number
  readonly effects: number
  /** How often each action on the workers took place. */
  readonly done: Readonly<Record<string, number>>
  readonly handled: number
  /** Completions that were refused, because other workers had taken the tasks. */
  readonly lost: number
  readonly returned: number
  readonly abandoned: number
  /** Errors that workers reported when they were asked to stop. */
  readonly errors: readonly string[]
  /** Each of these numbers must be 0. */
  readonly missing: number
  readonly twice: number
  readonly outOfOrder: number
  readonly unfinished: number
  readonly leaks: number
}

const leaseMs = 2_000
const backlog = 3_000
const finishMs = 90_000
/** A run takes so much longer if an action on the workers has not taken place yet. */
const patienceMs = 120_000

export async function stress(subject: Subject, { seconds, seed, onProgress = () => {} }: StressOptions): Promise<StressReport> {
  const random = randomOf(seed)
  const tasks = subject.tasks()
  await prepare(subject, tasks)
  using crew = new Crew(subject.location, leaseMs, random)
  await Promise.all([crew.start(), crew.start(), crew.start()])

  const endMs = performance.now() + seconds * 1_000
  const actions = Object.entries(actionsOn(subject, tasks, crew, random))
  const done = Object.fromEntries(actions.map(([name]) => [name, 0]))
  const goOn = (): boolean =>
    performance.now() < endMs || (Object.values(done).includes(0) && performance.now() < endMs + patienceMs)
  let pushed = 0
  const produce = async (): Promise<void> => {
    while (goOn()) {
      pushed += await push(subject, tasks, random)
      while (goOn() && pushed - (await count(subject)) > backlog) await delay(50)
    }
  }
  const harass = async (): Promise<void> => {
    while (goOn()) {
      // When the time is up, only actions that have not taken place yet are tried.
      const possible = performance.now() < endMs ? actions : actions.filter(([name]) => done[name] === 0)
      const [name, action] = possible[Math.floor(random() * possible.length)]!
      done[name] = done[name]! + Number(await action())
      onProgress(`${pushed} pushed, ${await count(subject)} done, ${JSON.stringify(done)}`)
      await delay(random() * 500)
    }
  }
  await Promise.all([produce(), harass()])
  for (const { name } of topics) await subject.transactions<boolean>((transaction) => tasks.activate(transaction, name))
  onProgress('finishing')
  const unfinished = await finish(subject, tasks)
  await crew.end()

  const effects = await subject.transactions((transaction) =>
    subject.execute(transaction, sql`select id, topic, identifier, sequence from effect order by id`),
  )
  const distinct = new Set(effects.map(({ topic, sequence }) => `${topic} ${sequence}`))
  const sum = (of: (report: (typeof crew.reports)[number]) => number): number =>
    crew.reports.reduce((total, report) => total + of(report), 0)
  return {
    seed,
    pushed,
    effects: effects.length,
    done,
    handled: sum(({ handled }) => handled),
    lost: sum(({ lost }) => lost),
    returned: sum(({ returned }) => returned),
    abandoned: sum(({ abandoned }) => abandoned),
    errors: [...new Set(crew.reports.flatMap(({ errors }) => errors))],
    missing: pushed - distinct.size,
    twice: effects.length - distinct.size,
    outOfOrder: disorder(effects),
    unfinished,
    leaks: crew.leaks,
  }
}

const ids = {
  postgres: raw('bigserial primary key'),
  sqlite: raw('integer primary key autoincrement'),
  mariadb: raw('bigint auto_increment primary key'),
  oracle: raw('number generated always as identity primary key'),
}

async function prepare(subject: Subject, tasks: Tasks): Promise<void> {
  await subject.transactions(async (transaction) => {
    const id = ids[subject.engine]
    const [text, number] = subject.engine === 'oracle' ? [raw('varchar2(1000)'), raw('number(16)')] : [raw('text'), raw('bigint')]
    await subject.execute(
      transaction,
      sql`create table effect (id ${id}, topic ${text}, identifier ${text}, sequence ${number}, attempt integer)`,
    )
    for (const { name, options } of topics) await tasks.initialize(transaction, name, options)
  })
}

/** Pushes tasks, and sometimes rolls the push back. @returns how many tasks were committed */
async function push(subject: Subject, tasks: Tasks, random: () => number): Promise<number> {
  const { name } = topics[Math.floor(random() * topics.length)]!
  const creations = Array.from({ length: 1 + Math.floor(random() * 30) }, () => ({
    identifier: `id-${Math.floor(random() * 10)}`,
    priority: Math.floor(random() * 3),
  }))
  const undo = new Error('rolled back')
  const rolledBack = random() < 0.1
  try {
    await subject.transactions(async (transaction) => {
      await (tasks.push(transaction, name, creations) as Promise<PushedTask[]>)
      if (rolledBack) throw undo
    })
    return creations.length
  } catch (error) {
    // Nobody cuts the producer's own connections, so any other error fails the run.
    if (error !== undo) throw error
    return 0
  }
}

function actionsOn(
  subject: Subject,
  tasks: Tasks,
  crew: Crew,
  random: () => number,
): Readonly<Record<string, () => Promise<boolean | number>>> {
  const any = (): string => topics[Math.floor(random() * topics.length)]!.name
  return {
    kill: () => crew.kill(),
    stop: () => crew.stop(),
    nap: () => crew.sleep(random() * leaseMs),
    'sleep past the lease': () => crew.sleep((1 + random()) * leaseMs),
    pause: async () => {
      const topic = any()
      const paused = await subject.transactions<boolean>((transaction) => tasks.deactivate(transaction, topic))
      await delay(random() * 1_000)
      await subject.transactions<boolean>((transaction) => tasks.activate(transaction, topic))
      return paused
    },
    ...(subject.engine === 'postgres'
      ? {
          'listener cut': () => cut(subject, 'listener'),
          'connections cut': () => cut(subject, ''),
        }
      : {}),
  }
}

/** Lets the server end the listeners' connections, or some of the workers' pools. @returns how many it ended */
async function cut(subject: Subject, application: string): Promise<number> {
  const [row] = await subject.transactions<readonly Row[]>((transaction) =>
    subject.execute(
      transaction,
      sql`select count(*) filter (where pg_terminate_backend(pid)) as cut
            from pg_stat_activity
           where datname = current_database() and pid <> pg_backend_pid()
             and case when ${application} = 'listener' then application_name = 'listener' else application_name = 'worker' and random() < 0.3 end`,
    ),
  )
  return Number(row?.['cut'])
}

async function count(subject: Subject): Promise<number> {
  const rows = await subject.transactions<readonly Row[]>((transaction) =>
    subject.execute(transaction, sql`select count(*) as effects from effect`),
  )
  return Number(rows[0]?.['effects'])
}

/** @returns how many tasks are not done after a long wait */
async function finish(subject: Subject, tasks: Tasks): Promise<number> {
  const endMs = performance.now() + finishMs
  for (;;) {
    const counts = await subject.transactions<ReadonlyMap<string, ReadonlyMap<FilterState, TaskCount>>>((transaction) =>
      tasks.count(transaction),
    )
    let open = 0
    for (const states of counts.values())
      for (const [state, { count: number }] of states) if (state !== 'succeeded') open += number
    if (open === 0 || performance.now() > endMs) return open
    await delay(100)
  }
}

/** Counts the tasks that took effect after a later task of their identifier. */
function disorder(effects: readonly Row[]): number {
  const singular = new Set(topics.filter(({ options }) => options.condition).map(({ name }) => name))
  const last = new Map<string, number>()
  let count = 0
  for (const { topic, identifier, sequence } of effects) {
    if (!singular.has(String(topic))) continue
    const key = `${topic} ${identifier}`
    if (Number(sequence) < (last.get(key) ?? 0)) count++
    last.set(key, Number(sequence))
  }
  return count
}
