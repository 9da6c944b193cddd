/** One run: a producer and two nodes work, one fault after the other happens, and it is counted how long nothing went on and what became of the tasks. */
import { setTimeout as delay } from 'node:timers/promises'
import { until } from './until.ts'
import { openApplication } from './actors/application.ts'
import { Crew } from './crew.ts'
import { longestGap } from './gap.ts'
import { topic } from './orders.ts'
import type { Access, AvailabilityFault, Setup } from './setup.ts'

export interface AvailabilityOptions {
  readonly setup: Setup
  /** Faults go on in turn until this time is over; each happens once at least. */
  readonly seconds: number
  /** Which kinds, in this order. Default: all. */
  readonly kinds?: readonly string[]
  readonly statementTimeoutMs: number
  readonly rate: number
  readonly onProgress?: (line: string) => void
}

export interface Happening {
  readonly kind: string
  /** The longest time in which no push was committed, and in which no task was completed, in milliseconds. */
  readonly pushGapMs: number
  readonly doneGapMs: number
  /** The longest time from a push to its completion, of the tasks that were not done when the fault began. */
  readonly slowestMs: number
  /** The same two while what had failed came back, and how long that took. Undefined: nothing was to come back. */
  readonly return:
    | { readonly pushGapMs: number; readonly doneGapMs: number; readonly ms: number; readonly remark?: string }
    | undefined
  /** How often producers and nodes were told each code. */
  readonly errors: { readonly producer: Readonly<Record<string, number>>; readonly node: Readonly<Record<string, number>> }
}

export interface AvailabilityReport {
  readonly setup: string
  readonly statementTimeoutMs: number
  readonly faults: readonly Happening[]
  readonly pushed: number
  /** Confirmed pushes whose task was not done. */
  readonly lost: readonly string[]
  /** Tasks whose completion was committed more than once. */
  readonly twice: readonly string[]
  /** Tasks that are done and that nobody pushed. */
  readonly invented: readonly string[]
  /** How often handlers were given a task again, which is what at least once means. */
  readonly repeated: number
  /** Errors without a code, and processes that ended by themselves. */
  readonly wrong: readonly string[]
}

/** Work that is seen between two faults. */
const calm = 20
const patienceMs = 240_000
const askMs = 500
/** After what had failed is back, others may still notice. */
const afterMs = 2_000

export async function runAvailability(options: AvailabilityOptions): Promise<AvailabilityReport> {
  const { setup, seconds, statementTimeoutMs, rate, onProgress = () => {} } = options
  // A limit of the driver above that of the node concerns only the statements of handlers.
  const answerMs = 2 * statementTimeoutMs
  const faults = chosen(setup, options.kinds)
  await prepare(setup.access, answerMs)
  await using crew = new Crew({ access: setup.access, statementTimeoutMs, answerMs, rate })
  await Promise.all([crew.start('node'), crew.start('node'), crew.start('producer')])
  await untilCalm(crew)
  const happenings: Happening[] = []
  const endMs = performance.now() + seconds * 1_000
  for (let index = 0; index < faults.length || performance.now() < endMs; index++) {
    const fault = faults[index % faults.length]!
    onProgress(fault.kind)
    happenings.push(await happen(fault, setup, crew))
    onProgress(sayOf(happenings.at(-1)!))
  }
  await crew.rest()
  const wrong: string[] = []
  await until('all tasks are done', () => isDone(setup, crew), patienceMs).catch((error: Error) => wrong.push(error.message))
  await crew.stop()
  const effects = new Map(
    (await setup.ask('select task_key, count(*) as times from availability_effect group by task_key')).map((row) => [
      String(row['task_key']),
      Number(row['times']),
    ]),
  )
  return {
    setup: setup.name,
    statementTimeoutMs,
    faults: happenings,
    pushed: crew.pushes.length,
    lost: crew.pushes.map(({ key }) => key).filter((key) => !effects.has(key)),
    twice: [...effects].filter(([, times]) => times > 1).map(([key]) => key),
    invented: [...effects.keys()].filter((key) => !crew.asked.has(key)),
    repeated: crew.handled - effects.size,
    wrong: [...wrong, ...[...crew.unnamed].map((text) => `an error without a code: ${text}`), ...crew.exits],
  }
}

function chosen({ faults }: Setup, kinds: readonly string[] | undefined): readonly AvailabilityFault[] {
  if (!kinds || kinds.length === 0) return faults
  return kinds.map((kind) => {
    const found = faults.find((fault) => fault.kind === kind)
    if (!found) throw new Error(`There is no fault '${kind}'. There are: ${faults.map((fault) => fault.kind).join('; ')}`)
    return found
  })
}

async function prepare(access: Access, answerMs: number): Promise<void> {
  const { tasks, transactions, close } = openApplication(access, answerMs)
  try {
    await tasks.migrate(transactions)
    await transactions((transaction) => tasks.initialize(transaction, topic))
    const id = access.engine === 'mariadb' ? 'auto_increment' : 'generated always as identity'
    const table = `create table availability_effect (id bigint ${id} primary key, task_key varchar(50) not null)`
    await transactions((transaction) => (transaction as { query(text: string): Promise<unknown> }).query(table))
  } finally {
    await close()
  }
}

/** Waits until some tasks more have been pushed, and done. */
async function untilCalm(crew: Crew): Promise<void> {
  const { length } = crew.pushes
  await until('tasks are pushed and done', async () => {
    const fresh = crew.pushes.slice(length)
    return fresh.filter(({ key }) => crew.completed.has(key)).length >= calm
  })
}

async function happen({ kind, inflict }: AvailabilityFault, setup: Setup, crew: Crew): Promise<Happening> {
  const begunMs = Date.now()
  const errors = crew.errors.length
  const mend = await inflict()
  const inflictedMs = Date.now()
  const isAfter = ({ begunMs }: { readonly begunMs: number }): boolean => begunMs >= inflictedMs
  await until(`a task is pushed and done after "${kind}"`, async () =>
    crew.pushes.some((push) => isAfter(push) && crew.completed.has(push.key)),
  )
  const againMs = Date.now()
  await until(`all tasks are done after "${kind}"`, async () => {
    const missing = crew.undone(againMs)
    if (missing.length === 0) return true
    await askWhatIsDone(setup, crew, missing)
    return false
  })
  const slow = crew.pushes.filter((push) => push.committedMs < againMs && doneMs(push) >= begunMs)
  const slowestMs = Math.max(0, ...slow.map((push) => doneMs(push) - push.committedMs))
  const window = gapsOf(begunMs, againMs)
  let back: Happening['return']
  if (mend) {
    const mendMs = Date.now()
    const remark = await mend()
    const mendedMs = Date.now()
    await until('some time has passed', async () => Date.now() > mendedMs + afterMs)
    await untilCalm(crew)
    back = { ...gapsOf(mendMs, Date.now()), ms: mendedMs - mendMs, ...(typeof remark === 'string' && { remark }) }
  } else await untilCalm(crew)
  const seen = crew.errors.slice(errors)
  const codesOf = (who: 'producer' | 'node'): Record<string, number> => {
    const codes = seen.filter((each) => each.who === who).map(({ code }) => code)
    return Object.fromEntries([...new Set(codes)].map((code) => [code, codes.filter((each) => each === code).length]))
  }
  return { kind, ...window, slowestMs, return: back, errors: { producer: codesOf('producer'), node: codesOf('node') } }

  function doneMs({ key }: { readonly key: string }): number {
    return crew.completed.get(key) ?? 0
  }

  function gapsOf(fromMs: number, toMs: number): { pushGapMs: number; doneGapMs: number } {
    const committed = crew.pushes.map(({ committedMs }) => committedMs)
    return { pushGapMs: longestGap(committed, fromMs, toMs), doneGapMs: longestGap(crew.completedMs, fromMs, toMs) }
  }
}

/** A completion whose commit was not answered may have been committed, and then no node tells that it was. */
async function askWhatIsDone(setup: Setup, crew: Crew, keys: readonly string[]): Promise<void> {
  await delay(askMs)
  const list = keys.slice(0, 1_000).map((key) => `'${key}'`)
  const rows = await setup
    .ask(`select distinct task_key from availability_effect where task_key in (${list.join()})`)
    .catch(() => [])
  for (const row of rows) crew.complete(String(row['task_key']), Date.now())
}

async function isDone(setup: Setup, crew: Crew): Promise<boolean> {
  const [row] = await setup.ask('select count(distinct task_key) as done from availability_effect')
  return Number(row?.['done']) >= crew.pushes.length
}

function sayOf({ pushGapMs, doneGapMs, slowestMs, return: back }: Happening): string {
  const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`
  const whole = back
    ? `; back in ${seconds(back.ms)}, without a push for ${seconds(back.pushGapMs)}${back.remark ? `; ${back.remark}` : ''}`
    : ''
  return `  no push for ${seconds(pushGapMs)}, nothing done for ${seconds(doneGapMs)}, slowest task ${seconds(slowestMs)}${whole}`
}
