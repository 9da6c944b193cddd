/** The end of a run: what was pushed is done, everybody is stopped in phases, and what is left is counted. */
import { setTimeout as delay } from 'node:timers/promises'
import type { FilterState, TaskCount } from '@taskstream/task-api'
import { allPeriodicTasks } from '@taskstream/task-scheduler'
import type { PeriodicTaskInfo } from '@taskstream/task-scheduler'
import { raw, sql } from '@taskstream/task-sql'
import type { Row, Statement } from '@taskstream/task-sql'
import type { Left } from './checker/history.ts'
import type { Crew } from './crew.ts'
import { topics } from './setting.ts'
import type { Site } from './site.ts'

const drainLimitMs = 120_000
/** How often it is looked whether what living nodes tidy up is gone, every 100 ms. */
const mostLooks = 300
/** A keyed topic has so many lock stripes on PostgreSQL and MariaDB. SQLite has one writer, and none. */
const stripesOfTopic = 2_048

/** Lets the processes finish what is to be done, and stops them in phases. */
export async function finish(
  site: Site,
  crew: Crew,
  onProgress: (line: string) => void,
): Promise<{ readonly drainMs: number; readonly left: Left; readonly open: unknown }> {
  const { subject } = site
  const tasks = subject.tasks()
  const look = rowsOf(site)
  // Who ended while there were faults may have left a row, which is forgotten after a day.
  const [gone, nameless] = [new Set(crew.gone), crew.nameless]
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
  // What polls and maintenance tidy up goes while a node lives.
  const living = (): string[] => [...crew.members].flatMap(({ owner }) => owner ?? [])
  const tidied = async (): Promise<Pick<Left, 'turns'> & Record<'holdings' | 'slots', readonly Row[]>> => ({
    holdings: await holdingsOf(site, living()),
    turns: (await look('task_turn', 'topic')).length,
    slots: await look('task_slot', 'owner'),
  })
  const isLiving = ({ owner }: Row): boolean => living().includes(String(owner))
  let now = await tidied()
  for (let looks = 0; looks < mostLooks && (now.holdings.length > 0 || now.turns > 0 || !now.slots.every(isLiving)); looks++) {
    await delay(100)
    now = await tidied()
  }
  // What the server says of itself tells a lock that nobody gives up from work that nobody takes.
  const open =
    unfinished > 0 || now.turns > 0 || now.holdings.length > 0
      ? {
          server: await site.describe?.().catch(String),
          turns: await look('task_turn', '*'),
          holdings: now.holdings,
        }
      : undefined
  await crew.stopAll('node', 'jobs', 'leader')
  const owners = await look('task_owner', 'owner')
  const left: Left = {
    connections: await site.connections(),
    processes: crew.leaks,
    unfinished,
    owners: Math.max(0, owners.filter(({ owner }) => !gone.has(String(owner))).length - nameless),
    holdings: now.holdings.length,
    turns: (await look('task_turn', 'topic')).length,
    slots: (await look('task_slot', 'owner')).length,
    lanes: await lanesOf(site),
  }
  return { drainMs, left, open }
}

function rowsOf({ subject }: Site): (table: string, column: string) => Promise<readonly Row[]> {
  const schema = subject.engine === 'postgres' ? 'taskstream.' : ''
  return (table, column) => ask(subject, sql`select ${raw(column)} from ${raw(`${schema}${table}`)}`)
}

async function ask(subject: Site['subject'], statement: Statement): Promise<readonly Row[]> {
  return (await subject.transactions((transaction) => subject.execute(transaction, statement))) as readonly Row[]
}

/**
 * Notes of chunks that polls have passed, or that are further behind a living process's claim than its next poll lets them be. Who is killed
 * after the last claim in a topic takes along what it has learned: its notes then stay until somebody claims there again. So it is after the
 * server's end: what a process has learned of it counts no more, and two seconds of claims teach it anew.
 */
async function holdingsOf({ subject }: Site, living: readonly string[]): Promise<readonly Row[]> {
  if (subject.engine !== 'postgres') return []
  return ask(
    subject,
    sql`select h.*, p.floor, p.listing from taskstream.task_holding h join taskstream.task_topic p on p.topic = h.topic
         where p.listing
            or (h.chunk + 1) << 13 <= p.floor
            or exists (select from taskstream.task t
                        where t.topic = h.topic and t.sequence >> 13 >= h.chunk + 4 and t.owner = any (${`{${living.join(',')}}`}::text[])
                          and t.started > interval '2 seconds'
                              + greatest(pg_postmaster_start_time(), (select checkpoint_time from pg_control_checkpoint())))`,
  )
}

/** How many lock stripes there are too many or too few, over all topics. */
async function lanesOf(site: Site): Promise<number> {
  if (site.subject.engine === 'sqlite') return 0
  const found = Map.groupBy(await rowsOf(site)('task_lane', 'topic'), ({ topic }) => String(topic))
  const expected = new Map(topics.filter(({ keyed }) => keyed).map(({ name }) => [name, stripesOfTopic]))
  return [...new Set([...found.keys(), ...expected.keys()])].reduce(
    (sum, topic) => sum + Math.abs((found.get(topic)?.length ?? 0) - (expected.get(topic) ?? 0)),
    0,
  )
}
