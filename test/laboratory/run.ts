/** One run: processes work, faults are inflicted, everything is finished and stopped, and the checker judges what was recorded. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { FilterState, TaskCount } from '@taskstream/task-api'
import { allPeriodicTasks, periodicTasks } from '@taskstream/task-scheduler'
import type { PeriodicTaskInfo } from '@taskstream/task-scheduler'
import { join as joined, raw, sql } from '@taskstream/task-sql'
import type { Row, Statement } from '@taskstream/task-sql'
import { randomOf } from '../interleavings/random.ts'
import type { Subject } from '../subject.ts'
import { check } from './checker/check.ts'
import type { History, Left, Setting, Violation } from './checker/history.ts'
import { Index } from './checker/index.ts'
import { takeOvers } from './checker/nodes.ts'
import { readHistory } from './checker/read.ts'
import { Crew } from './crew.ts'
import type { Fault } from './fault.ts'
import { networkFaults } from './faults/network.ts'
import { processFaults } from './faults/processes.ts'
import { HistoryFile } from './history-file.ts'
import { inflictFaults } from './nemesis.ts'
import type { Inflicted } from './nemesis.ts'
import { leaseMs, optionsOf, patienceMs, timers, topics } from './setting.ts'
import type { Role } from './setting.ts'
import type { Site } from './site.ts'
import { createTables, writeTruth } from './tables.ts'

export interface LaboratoryOptions {
  readonly engine: 'postgres' | 'sqlite' | 'mariadb'
  readonly seconds: number
  readonly seed: number
  /** How many tasks are pushed in a second. */
  readonly rate?: number
  /** How many faults may be under way at a time. */
  readonly lanes?: number
  /** Whether to go on, for a minute at most, until every kind of fault has come about. Default true. */
  readonly isWhole?: boolean
  /** A fence of the product that is taken away. */
  readonly without?: string
  /** Where the history is kept. Default: a temporary folder, which is removed if there is no violation. */
  readonly folder?: string
  readonly onProgress?: (line: string) => void
}

export interface LaboratoryReport {
  readonly engine: string
  readonly seed: number
  readonly faults: Readonly<Record<string, Inflicted>>
  /** Kinds of faults that never came about. */
  readonly never: readonly string[]
  readonly pushed: number
  readonly effects: number
  readonly unknownPushes: number
  readonly terms: number
  readonly occurrences: number
  readonly takeOverMs: { readonly count: number; readonly median: number; readonly most: number }
  readonly drainMs: number
  readonly violations: readonly Violation[]
  readonly history: History
  /** Where the history is, if there are violations or a folder was given. */
  readonly folder: string | undefined
}

const crewOf: readonly Role[] = [
  'node',
  'node',
  'node',
  'producer',
  'producer',
  'scheduler',
  'scheduler',
  'leader',
  'leader',
  'leader',
  'operator',
  'jobs',
  'jobs',
]
const drainLimitMs = 120_000

const sites: Readonly<Record<LaboratoryOptions['engine'], () => Promise<Site>>> = {
  postgres: async () => (await import('./sites/postgres.ts')).openPostgresSite(),
  mariadb: async () => (await import('./sites/mariadb.ts')).openMariaDbSite(),
  sqlite: async () => (await import('./sites/sqlite.ts')).openSqliteSite(),
}

export async function runLaboratory(options: LaboratoryOptions): Promise<LaboratoryReport> {
  const { engine, seconds, seed, rate = 60, lanes = 3, isWhole = true, without, onProgress = () => {} } = options
  const random = randomOf(seed)
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), 'taskstream-laboratory-'))
  mkdirSync(folder, { recursive: true })
  const setting: Setting = { engine, seed, topics, leaseMs, patienceMs }
  writeFileSync(join(folder, 'setting.json'), JSON.stringify(setting))
  const history = new HistoryFile(join(folder, 'laboratory.events.jsonl'), 'laboratory')

  await using site = await sites[engine]()
  const { subject } = site
  const tasks = subject.tasks()
  await tasks.migrate(subject.transactions)
  await createTables(subject)
  await subject.transactions(async (transaction) => {
    for (const topic of topics) {
      const { limits, ...polling } = optionsOf(topic) as { limits?: object }
      await tasks.initialize(transaction, topic.name, polling)
      if (limits) await tasks.limit(transaction, topic.name, limits)
    }
    for (const { id, everySeconds } of timers)
      await periodicTasks(tasks).schedule(transaction, {
        id,
        timer: `*:*:0/${everySeconds}`,
        topic: 'ticks',
        misfire: 'catch-up',
      })
  })

  await using crew = new Crew({
    location: site.location,
    folder,
    history,
    random,
    rate: rate / 2,
    ...(without !== undefined && { without }),
  })
  site.meet(crew)
  for (const role of crewOf) await crew.start(role)
  while ([...crew.members].some(({ isReady }) => !isReady)) {
    if (crew.members.size < crewOf.length) throw new Error(`A process ended before it worked: see ${folder}`)
    await delay(50)
  }
  onProgress(`${crewOf.length} processes work`)
  const faults: readonly Fault[] = [...processFaults, ...(engine === 'sqlite' ? [] : networkFaults), ...site.faults]
  let count = 0
  const inflicted = await inflictFaults({
    faults,
    scene: { crew, random, pause: (fromMs, toMs) => delay(fromMs + random() * (toMs - fromMs)) },
    history,
    seconds,
    lanes,
    isWhole,
    onFault: (kind) => onProgress(`${++count} faults, the last: ${kind}`),
  })

  onProgress('no more faults: everything that was pushed is to be done')
  const { drainMs, left } = await finish(site, crew, onProgress)
  writeFileSync(join(folder, 'left.json'), JSON.stringify(left))
  await writeTruth(subject, folder, 'ticks')

  const recorded = readHistory(folder)
  onProgress(`${recorded.changes.length} changes of rows are checked`)
  const violations = check(recorded)
  const index = new Index(recorded)
  const over = takeOvers(index)
    .map(({ ms }) => ms)
    .toSorted((one, other) => one - other)
  const isKept = violations.length > 0 || options.folder !== undefined
  if (!isKept) rmSync(folder, { recursive: true, force: true })
  return {
    engine,
    seed,
    faults: inflicted,
    never: Object.keys(inflicted).filter((kind) => inflicted[kind]!.times === 0),
    pushed: index.asked.reduce((sum, { push, outcome }) => sum + (outcome === 'done' ? push.keys.length : 0), 0),
    unknownPushes: index.asked.filter(({ outcome }) => outcome === 'unknown').length,
    effects: recorded.effects.length,
    terms: new Set(recorded.led.map(({ term }) => term)).size,
    occurrences: recorded.changes.filter(({ topic, isNew }) => topic === 'ticks' && isNew).length,
    takeOverMs: { count: over.length, median: Math.round(over[over.length >> 1] ?? 0), most: Math.round(over.at(-1) ?? 0) },
    drainMs: Math.round(drainMs),
    violations,
    history: recorded,
    folder: isKept ? folder : undefined,
  }
}

/** Lets the processes finish what is to be done, and stops them in phases. */
async function finish(site: Site, crew: Crew, onProgress: (line: string) => void): Promise<{ drainMs: number; left: Left }> {
  const { subject } = site
  const tasks = subject.tasks()
  const numberOf = async (statement: Statement): Promise<number> => {
    const [row] = (await subject.transactions((transaction) => subject.execute(transaction, statement))) as readonly Row[]
    return Number(row?.['number'])
  }
  const begunMs = performance.now()
  await crew.stopAll('operator', 'producer')
  for (const { name } of topics) await subject.transactions<boolean>((transaction) => tasks.activate(transaction, name))
  // A node must be there, whoever was last killed.
  for (const role of ['node', 'jobs'] as const) if (!crew.any(role)) await crew.start(role)
  await crew.rest('jobs')
  const nowMs = Date.now()
  for (let late = Infinity; late > 0 && performance.now() < begunMs + drainLimitMs;) {
    const infos = await subject.transactions<PeriodicTaskInfo[]>((transaction) => allPeriodicTasks(tasks)(transaction))
    late = infos.filter(({ due }) => due!.getTime() <= nowMs).length
    await delay(100)
  }
  await crew.stopAll('scheduler')
  let unfinished = Infinity
  for (; unfinished > 0 && performance.now() < begunMs + drainLimitMs; await delay(100)) {
    const counts = await subject.transactions<ReadonlyMap<string, ReadonlyMap<FilterState, TaskCount>>>((transaction) =>
      tasks.count(transaction),
    )
    const strict = new Set(topics.filter((topic) => topic.strict).map(({ name }) => name))
    const isOpen = (topic: string, state: FilterState): boolean =>
      state === 'active' || state === 'ready' || state === 'delayed' || (strict.has(topic) && state !== 'succeeded')
    unfinished = [...counts].reduce(
      (sum, [topic, states]) =>
        sum + [...states].reduce((open, [state, { count }]) => open + (isOpen(topic, state) ? count : 0), 0),
      0,
    )
    onProgress(`${unfinished} tasks are not done`)
  }
  const drainMs = performance.now() - begunMs
  // While a node lives it deletes the notes of chunks that polls have passed.
  let holdings = Infinity
  for (let tries = 0; holdings > 0 && tries < 50; tries++, await delay(100))
    holdings =
      subject.engine === 'postgres'
        ? await numberOf(
            sql`select count(*) as number from taskstream.task_holding h join taskstream.task_topic p on p.topic = h.topic
                 where p.listing or (h.chunk + 1) << 13 <= p.floor`,
          )
        : 0
  const last = [...crew.members].flatMap(({ owner }) => (owner === undefined ? [] : [owner]))
  await crew.stopAll('node', 'jobs', 'leader')
  const left: Left = {
    connections: await site.connections(),
    processes: crew.leaks,
    unfinished,
    // Those that were killed are forgotten after a day.
    owners: await numberOf(
      sql`select count(*) as number from ${tableOf(subject, 'task_owner')} where owner in (${joined([sql`${''}`, ...last.map((owner) => sql`${owner}`)], ', ')})`,
    ),
    holdings,
    slots: await numberOf(sql`select coalesce(sum(slots), 0) as number from ${tableOf(subject, 'task_slot')}`),
  }
  return { drainMs, left }
}

function tableOf(subject: Subject, name: string): ReturnType<typeof raw> {
  return raw(subject.engine === 'postgres' ? `taskstream.${name}` : name)
}
