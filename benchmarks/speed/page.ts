/** The tables of docs/performance.md that come from one kept run. */
import type { Row } from './rows.ts'
import { isPeer } from './subjects.ts'

/** What a run prints with `--json`. */
export interface Run {
  readonly machine: { readonly cpus: number; readonly model?: string; readonly node: string; readonly syncOff: boolean }
  /** Of the server and of the peers, as they were installed. */
  readonly versions: Readonly<Record<string, string>>
  /** The day of the run, as `2026-11-27`. */
  readonly date: string
  readonly size: string
  readonly seconds: number
  /** The scenarios that were asked for. Absent or empty: all. */
  readonly only?: readonly string[]
  readonly rows: readonly Row[]
}

/** The names of rows, in their order. A run may lack some. */
const names: Readonly<Record<string, string>> = {
  'push-single': 'push one task in the caller’s transaction, a second',
  'push-10': 'push by ten producers that share transactions (`node.submit`)',
  'push-batch': 'push a thousand at a time',
  'drain-1': 'drain, one process, leased',
  'drain-2': 'drain, two processes',
  'drain-transactional': 'drain, one process, transactional',
  'drain-defaults': 'drain, one process, everybody’s defaults',
  'drain-write': 'drain, handlers write a row',
  'drain-wait': 'drain, handlers wait a millisecond',
  'drain-fail': 'drain, a tenth fails for good',
  'drain-fail-once': 'drain, a tenth fails once',
  'drain-topics': 'drain of a hundred topics',
  'drain-10': 'drain, ten processes',
  'payload-100B': 'push and drain, 100 bytes',
  'payload-10kB': 'push and drain, 10 kB',
  'payload-1MB': 'push and drain, 1 MB',
  latency: 'idle push to handler, p50 ms',
  'latency-p95': 'idle push to handler, p95 ms',
  'latency-p99': 'idle push to handler, p99 ms',
  'jobs-push': 'push one typed job in the caller’s transaction',
  'jobs-drain': 'drain of typed jobs',
  'jobs-drain, each with a write': 'drain of typed jobs, each commits a row',
  'connections-1': 'push one by one, no transaction of the caller’s, 1 connection',
  'connections-4': 'the same, 4 connections',
  'connections-16': 'the same, 16 connections',
  'identifiers-100k': 'singular topics, drain, 100 000 identifiers',
  'identifiers-1000': 'singular topics, drain, 1000 identifiers',
  'identifiers-1': 'singular topics, drain, one identifier',
  'identifiers-blocked': 'singular topics, ms of an empty poll, 50 000 tasks blocked behind one',
  'held-snapshot': 'drain with a held snapshot, relative to without',
  'history-growth': 'drain beside a million finished rows in a thousand topics, relative to without',
  'backlog-growth': 'cost of a poll of 100 at a million ready rows, relative to ten thousand',
  memory: 'memory of a drain, MiB, with `--max-semi-space-size=4`',
  'memory-default': 'memory of a drain, MiB, without',
  'sqlite-push': 'SQLite file, push a thousand at a time',
  'sqlite-drain': 'SQLite file, drain',
}

/** What it was run on, and its table. @param without beginnings of names of scenarios that the table leaves out */
export function pageOf(run: Run, without: readonly string[] = []): string {
  const { machine, versions, date, size, seconds } = run
  const command = `npm run bench -- ${size === 'quick' ? '--quick ' : ''}${machine.syncOff ? '--sync-off ' : ''}--json${(run.only ?? []).map((name) => ` --only ${name}`).join('')}`
  const on = `${machine.cpus} cores${machine.model === undefined ? '' : ` (${machine.model.trim()})`}`
  // The package of the server's binaries counts its own releases behind a hyphen.
  const what = Object.entries(versions).map(([name, version]) => `${name} ${version.replace(/-.*/, '')}`)
  const head = [
    '',
    'taskstream',
    'pg-boss',
    'graphile-worker',
    'BullMQ with AOF, no peer',
    'limit',
    '×',
    'its spread',
    'our µs a task, process / server',
    'WAL bytes',
  ]
  const lines = [...Map.groupBy(run.rows, ({ scenario }) => scenario)]
    .filter(([scenario]) => scenario in names && !without.some((name) => scenario.startsWith(name)))
    .toSorted(([one], [other]) => order.indexOf(one) - order.indexOf(other))
    .map(([scenario, rows]) => lineOf(names[scenario]!, rows))
  return [
    `\`${command}\`, ${Math.round(seconds / 60)} minutes, ${date}, on ${on}; Node.js ${machine.node}, ${what.join(', ')}.`,
    '',
    rowOf(head),
    rowOf(head.map(() => '---')),
    ...lines,
  ].join('\n')
}

const order = Object.keys(names)

function lineOf(name: string, rows: readonly Row[]): string {
  const of = (subject: string): Row | undefined => rows.find((row) => row.subject === subject)
  const own = of('taskstream')
  const told = (row: Row | undefined): string => (row ? figure(row.median) : '')
  const hasPeer = rows.some(({ subject }) => isPeer(subject))
  const costs = own?.processUs == null ? '' : `${own.processUs.toFixed(1)} / ${(own.serverUs ?? 0).toFixed(1)}`
  return rowOf([
    name,
    own ? `**${figure(own.median)}**` : '',
    told(of('pg-boss')),
    told(of('graphile-worker')),
    told(of('BullMQ, AOF')),
    told(of('limit')),
    hasPeer && own?.ratioToBestPeer ? own.ratioToBestPeer.toFixed(2) : '',
    hasPeer && own?.ratioSpread ? `${Math.round(own.ratioSpread * 100)} %` : '',
    costs,
    own?.logBytes == null ? '' : figure(Math.round(own.logBytes)),
  ])
}

function rowOf(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`
}

function figure(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString('en').replaceAll(',', ' ') : value.toFixed(2)
}
