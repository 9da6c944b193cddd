/** Breaks the leader of a group again and again, and judges by what the database holds. */
import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { raw, sql } from '@taskstream/task-sql'
import { openSilentProxy } from '../faults/silent-proxy.ts'
import type { SilentProxy } from '../faults/silent-proxy.ts'
import { randomOf } from '../interleavings/random.ts'
import type { Subject } from '../subject.ts'
import type { NodeOrders } from './orders.ts'

export type Fault = 'killed' | 'stopped' | 'stopped inside' | 'cut off' | 'leaves'

/** A writer of SQLite that stands still stops all others, and no network is between them. */
export function faultsOn(engine: Subject['engine']): readonly Fault[] {
  return engine === 'sqlite' ? ['killed', 'leaves'] : ['killed', 'stopped', 'stopped inside', 'cut off', 'leaves']
}

export interface LaboratoryOptions {
  readonly takeOvers: number
  readonly livenessCheckIntervalMs: number
  readonly heartbeatIntervalMs: number
  readonly seed: number
  /** Which fault comes next; the number of those before, and a random number from 0 to below 1. */
  readonly faultOf: (count: number, drawn: number) => Fault
  readonly onTakeOver?: (count: number) => void
}

export interface TakeOver {
  readonly fault: Fault
  /** From the fault until another node's term stands in the database. */
  readonly ms: number
}

export interface LaboratoryReport {
  readonly takeOvers: readonly TakeOver[]
  readonly commits: number
  /** Terms in which more than one node has committed. */
  readonly shared: number
  /** Commits of a lesser term after those of a greater one. */
  readonly late: number
  /** Take-overs that nobody has waited for: a leader was slow, or the machine was. */
  readonly unasked: number
}

interface Node {
  readonly taskId: string
  readonly process: ChildProcess
  readonly proxy: SilentProxy | undefined
}

const size = 3

/** Tables as another library has them, and one for the lines of leaders. */
export function laboratoryTables(engine: Subject['engine']): ReturnType<typeof raw>[] {
  const isMariaDb = engine === 'mariadb'
  const id = {
    postgres: 'bigint generated always as identity primary key',
    mariadb: 'bigint primary key auto_increment',
    sqlite: 'integer primary key autoincrement',
    oracle: '',
  }[engine]
  return [
    raw('create table token_holder (group_id varchar(255) primary key, task_id varchar(255), term integer)'),
    raw(
      `create table health_check (task_id varchar(255), group_id varchar(255), last_heartbeat timestamp${isMariaDb ? '(6)' : ''}, primary key (task_id, group_id))`,
    ),
    raw(`create table leader_commit (id ${id}, group_id varchar(255), task_id varchar(255), term integer)`),
  ]
}

export async function runLaboratory(subject: Subject, options: LaboratoryOptions): Promise<LaboratoryReport> {
  const { takeOvers: wanted, livenessCheckIntervalMs, heartbeatIntervalMs, seed, faultOf, onTakeOver } = options
  const groupId = randomUUID()
  const draw = randomOf(seed)
  const nodes = new Map<string, Node>()
  const failures: string[] = []
  const takeOvers: TakeOver[] = []
  let born = 0
  let over = false
  let unasked = 0

  const query = (statement: ReturnType<typeof sql>): Promise<readonly Readonly<Record<string, unknown>>[]> =>
    subject.transactions(async (transaction) => (await subject.execute(transaction, statement)) as never)
  const start = async (): Promise<void> => {
    const taskId = `node ${++born}`
    const proxy = /^\w+:\/\//.test(subject.location.at) ? await openSilentProxy(subject.location.at) : undefined
    const location = { ...subject.location, ...(proxy && { at: `${proxy.url}?connectTimeout=500` }) }
    const orders: NodeOrders = { location, groupId, taskId, livenessCheckIntervalMs, heartbeatIntervalMs }
    const process = fork(new URL('node.ts', import.meta.url), [JSON.stringify(orders)], {
      execArgv: ['--conditions=@taskstream/source'],
    })
    nodes.set(taskId, { taskId, process, proxy })
    process.once('close', (code, signal) => {
      if (over || !nodes.has(taskId)) return
      failures.push(`${taskId} ended with ${code ?? signal}`)
    })
  }
  const leader = async (): Promise<{ readonly taskId: string; readonly term: number } | undefined> => {
    const [row] = await query(sql`select task_id, term from token_holder where group_id = ${groupId}`)
    return row && { taskId: String(row['task_id']), term: Number(row['term']) }
  }
  const commitsIn = async (term: number): Promise<number> => {
    const [row] = await query(sql`select count(*) as written from leader_commit where group_id = ${groupId} and term = ${term}`)
    return Number(row!['written'])
  }
  /** The leader, once it has committed something. */
  const working = async (): Promise<{ readonly node: Node; readonly term: number }> => {
    for (;;) {
      if (failures.length > 0) throw new Error(failures.join('; '))
      const now = await leader()
      const node = now && nodes.get(now.taskId)
      if (now && node && (await commitsIn(now.term)) > 0) return { node, term: now.term }
      await delay(20)
    }
  }
  const remove = async ({ taskId, process, proxy }: Node): Promise<void> => {
    nodes.delete(taskId)
    process.kill('SIGKILL')
    await proxy?.[Symbol.asyncDispose]()
  }

  try {
    for (let count = 0; count < size; count++) await start()
    let before = (await working()).term
    while (takeOvers.length < wanted) {
      const { node, term } = await working()
      unasked += term - before
      const fault = faultOf(takeOvers.length, draw())
      await delay(Math.floor(draw() * heartbeatIntervalMs))
      const begunMs = performance.now()
      breakNode(node, fault)
      let next = await leader()
      for (; next!.term === term; next = await leader()) await delay(10)
      takeOvers.push({ fault, ms: performance.now() - begunMs })
      onTakeOver?.(takeOvers.length)
      before = next!.term
      await mend(node, fault)
    }
    await working()
  } finally {
    over = true
    for (const node of nodes.values()) await remove(node)
  }
  return { takeOvers, ...(await audit()), unasked }

  function breakNode({ taskId, process, proxy }: Node, fault: Fault): void {
    if (fault === 'killed' || fault === 'leaves') nodes.delete(taskId)
    if (fault === 'killed') process.kill('SIGKILL')
    else if (fault === 'stopped') process.kill('SIGSTOP')
    else if (fault === 'stopped inside') process.send('stand still inside')
    else if (fault === 'leaves') process.send('leave')
    else {
      proxy!.silence()
      proxy!.new = 'silent'
    }
  }

  async function mend(node: Node, fault: Fault): Promise<void> {
    if (fault === 'killed' || fault === 'leaves') {
      await remove(node)
      await start()
    } else if (fault === 'cut off') node.proxy!.new = 'forwarded'
    else node.process.kill('SIGCONT')
  }

  async function audit(): Promise<Pick<LaboratoryReport, 'commits' | 'shared' | 'late'>> {
    const rows = await query(sql`select id, task_id, term from leader_commit where group_id = ${groupId} order by id`)
    const byTerm = Map.groupBy(rows, ({ term }) => Number(term))
    const shared = [...byTerm.values()].filter((lines) => new Set(lines.map((line) => line['task_id'])).size > 1)
    let greatest = 0
    let late = 0
    for (const { term } of rows) {
      if (Number(term) < greatest) late++
      greatest = Math.max(greatest, Number(term))
    }
    return { commits: rows.length, shared: shared.length, late }
  }
}
