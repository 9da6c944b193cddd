/** One run: processes work, faults are inflicted, everything is finished and stopped, and the checker judges what was recorded. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { periodicTasks } from '@taskstream/task-scheduler'
import { randomOf } from '../interleavings/random.ts'
import { check } from './checker/check.ts'
import type { History, Setting, Violation } from './checker/history.ts'
import { Index } from './checker/index.ts'
import { takeOvers } from './checker/nodes.ts'
import { readHistory } from './checker/read.ts'
import { Crew } from './crew.ts'
import type { Fault } from './fault.ts'
import { networkFaults } from './faults/network.ts'
import { processFaults } from './faults/processes.ts'
import { finish } from './finish.ts'
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
  /** A checkout of another release, made ready to run: every second process uses its packages. */
  readonly beside?: string
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
  /** How many processes used the packages of another release. */
  readonly others: number
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
/** Of these, one process lasts for the whole run, unless it is killed by what it does itself. */
const lasting: ReadonlySet<Role> = new Set(['node', 'producer', 'scheduler', 'leader', 'jobs'])

const sites: Readonly<Record<LaboratoryOptions['engine'], () => Promise<Site>>> = {
  postgres: async () => (await import('./sites/postgres.ts')).openPostgresSite(),
  mariadb: async () => (await import('./sites/mariadb.ts')).openMariaDbSite(),
  sqlite: async () => (await import('./sites/sqlite.ts')).openSqliteSite(),
}

export async function runLaboratory(options: LaboratoryOptions): Promise<LaboratoryReport> {
  const { engine, seconds, seed, rate = 60, lanes = 3, isWhole = true, without, beside, onProgress = () => {} } = options
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
    ...(beside !== undefined && { beside }),
  })
  site.meet(crew)
  for (const [index, role] of crewOf.entries()) await crew.start(role, 0, lasting.has(role) && crewOf.indexOf(role) === index)
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
    onQuiet: () => crew.sample(),
  })

  onProgress('no more faults: everything that was pushed is to be done')
  const { drainMs, left, open } = await finish(site, crew, onProgress)
  writeFileSync(join(folder, 'left.json'), JSON.stringify(left))
  if (open !== undefined) writeFileSync(join(folder, 'open.json'), JSON.stringify(open, undefined, 2))
  await writeTruth(site, folder, 'ticks')

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
    others: crew.others,
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
