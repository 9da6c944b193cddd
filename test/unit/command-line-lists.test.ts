/** The lists of the command line: which columns each has, in which words, and which of them go first where there is no room. */
import type { ErrorGroup, HeldInfo, NodeInfo, TaskAttempt, TaskInfo, TopicLimits } from '@taskstream/task-api'
import type { Attention, AuditEntry, Change, Finding } from '@taskstream/task-operations'
import type { PeriodicTaskInfo } from '@taskstream/task-scheduler'
import { expect, test } from 'vitest'
import { actionColumns, attentionColumns, changeColumns } from '../../packages/task-cli/src/commands/attention.ts'
import { countColumns } from '../../packages/task-cli/src/commands/count.ts'
import { findingColumns } from '../../packages/task-cli/src/commands/doctor.ts'
import { errorColumns } from '../../packages/task-cli/src/commands/errors.ts'
import { limitColumns } from '../../packages/task-cli/src/commands/limits.ts'
import { nextColumns } from '../../packages/task-cli/src/commands/next.ts'
import { heldColumns, nodeColumns } from '../../packages/task-cli/src/commands/nodes.ts'
import { periodicColumns } from '../../packages/task-cli/src/commands/periodic.ts'
import { repairColumns } from '../../packages/task-cli/src/commands/repair.ts'
import { attemptColumns } from '../../packages/task-cli/src/commands/show.ts'
import { taskColumns } from '../../packages/task-cli/src/core/tasks.ts'
import type { Column } from '../../packages/task-cli/src/output/column.ts'
import { renderTable } from '../../packages/task-cli/src/output/table.ts'

const now = Date.UTC(2027, 0, 1, 12)
const ago = (ms: number): Date => new Date(now - ms)
const long = 'a-name-that-is-longer-than-any-column-would-be-on-a-terminal-of-our-days-0815'

const nodes = [
  {
    owner: `worker-7.shop.example.org:4711:0123456789ab`,
    name: 'worker-7',
    life: 'living',
    quiet: true,
    release: long,
    heartbeat: ago(4_000),
    started: ago(86_400_000),
    report: {
      kind: 'node',
      omitted: 3,
      topics: [
        { topic: 'invoices', busy: 2, concurrency: 8, ended: 40, failed: 1 },
        {
          topic: 'reminders',
          busy: 1,
          concurrency: 4,
          ended: 2,
          error: { activity: 'poll', message: 'no rights', since: ago(1) },
        },
      ],
    },
  },
  { owner: 'worker-8', name: 'worker-8', life: 'stopped', quiet: true, report: { kind: 'node', topics: [] } },
  { owner: 'worker-8/timers', name: 'worker-8', life: 'living', quiet: false, report: { kind: 'scheduler', topics: [] } },
  {
    owner: 'worker-9',
    name: 'worker-9',
    life: 'dead',
    quiet: false,
    report: {
      kind: 'node',
      error: { activity: 'heartbeat', message: long, since: ago(1) },
      topics: [{ topic: 'mail', busy: 0, concurrency: 1 }],
    },
  },
  { owner: 'worker-of-an-old-release', name: 'worker-of-an-old-release', life: 'silent', quiet: false },
] as unknown as readonly NodeInfo[]

const held = [
  { topic: 'invoices', sequence: 4_711, identifier: long, started: ago(61_000), attempt: 1 },
  { topic: long, sequence: 4_712, identifier: 'b', started: ago(9_000), attempt: 12 },
] as unknown as readonly HeldInfo[]

const wrong: readonly Attention[] = [
  { id: 'nodes', severity: 'crit', text: `${long} is dead`, command: `taskstream nodes ${long}` },
] as unknown as readonly Attention[]

const changed = [{ at: ago(60_000), kind: 'release', text: `${long} has come` }] as unknown as readonly Change[]

const actions = [
  { at: ago(5_000), action: 'cancel', topic: 'invoices', count: 3, actor: 'ann@db-1', note: long, undone: 'no', id: 'a-1' },
  { at: ago(6_000), action: 'node quiet', filter: { owner: long }, count: 1, actor: long, undone: 'yes', id: 'a-2' },
  { at: ago(7_000), action: 'timer pause', filter: { ids: ['report', 'bill'] }, count: 2, undone: 'partly', id: 'a-3' },
  { at: ago(8_000), action: 'purge', topic: long, count: 12_000, undone: 'no', id: 'a-4' },
] as unknown as readonly AuditEntry[]

const errors = [
  {
    topic: 'invoices',
    count: 12,
    open: 3,
    pending: 9,
    error: `TypeError: ${long}`,
    first: ago(86_400_000),
    firstRelease: '2.1.0',
    last: ago(9_000),
    lastSequence: 4_711,
    fingerprint: '0123abcd',
    releases: ['2.1.0'],
  },
  {
    topic: long,
    count: 1,
    open: 0,
    pending: 0,
    error: 'no',
    first: ago(1),
    firstRelease: long,
    last: ago(1),
    lastSequence: 1,
    fingerprint: 'f',
  },
] as unknown as readonly ErrorGroup[]

const limits: readonly (readonly [string, TopicLimits])[] = [
  [
    'mail',
    { total: 10, rate: { count: 100, perMs: 60_000 }, maxEntries: { count: 5_000, whenFull: 'drop-oldest' }, deadLetter: 'dead' },
  ],
  [long, { deadLetter: long }],
]

const counts = [
  { topic: long, state: 'ready', count: 1_000, isLeast: true, bound: 4_711 },
  { topic: 'mail', state: 'delayed', count: 7, bound: 9 },
] as const

const next = [
  { what: 'ready', topic: 'invoices', sequence: 4_711, identifier: long, at: ago(61_000) },
  { what: 'timer', topic: long, identifier: 'report', at: new Date(now + 61_000) },
] as const

const repaired = [{ topic: long, corrected: 1, listed: 2, noted: 3, held: 4, left: 5 }]

const findings = [
  { check: 'clock', severity: 'warn', measured: `2 s behind ${long}`, threshold: '1 s' },
  { check: 'backlog', severity: 'crit', measured: '7', threshold: long },
] as unknown as readonly Finding[]

const timers = [
  {
    scope: 'shop',
    id: 'report',
    timer: 'Mon..Fri 09:00 Europe/Oslo',
    topic: 'reports',
    status: 'ended',
    note: 'never again',
    fired: 7,
    skipped: 1,
    summary: long,
  },
  {
    scope: 'shop',
    id: 'bill',
    timer: 'every 5m',
    topic: 'bills',
    status: 'active',
    next: new Date(now + 61_000),
    fired: 0,
    skipped: 0,
  },
] as unknown as readonly PeriodicTaskInfo[]

const attempts = [
  { attempt: 1, outcome: 'failed', ended: ago(61_000), reason: 'tries', error: `Error: ${long}`, owner: 'worker-7' },
  { attempt: 12, outcome: 'lost', ended: ago(9_000), owner: long },
] as unknown as readonly TaskAttempt[]

const tasks = [
  {
    sequence: 4_711,
    identifier: long,
    state: 'failed',
    reason: 'tries',
    tries: 3,
    maxTries: 3,
    created: ago(300_000),
    started: ago(70_000),
    completed: ago(61_000),
    deadline: ago(5_000),
    owner: long,
    reference: long,
    priority: -3,
    attempt: 4,
    externalId: long,
  },
  {
    sequence: 4_712,
    identifier: 'b',
    state: 'suspended',
    due: new Date(now + 61_000),
    tries: 0,
    created: ago(2_000),
    priority: 0,
  },
  { sequence: 4_713, identifier: 'c', state: 'ready', blocked: true, tries: 0, created: ago(1_000), priority: 12, attempt: 0 },
] as unknown as readonly TaskInfo[]

/** The list as wide as it would be, and on terminals that are ever narrower, as long as another column goes. */
function forms<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string {
  const style = { ages: true, utc: true, now, headers: true }
  const all = [renderTable(columns, rows, { ...style, width: Infinity, ages: false }).join('\n')]
  let head: string | undefined
  for (let width = 200; width >= 16; width--) {
    const lines = renderTable(columns, rows, { ...style, width })
    const names = lines[0]!.split(/ {2,}/).join(' ')
    if (names !== head) all.push(`on ${width} columns:\n${lines.join('\n')}`)
    head = names
  }
  return `${all.join('\n\n')}\n`
}

test.each<[string, string]>([
  ['tasks', forms(taskColumns, tasks)],
  ['nodes', forms(nodeColumns, nodes)],
  ['held', forms(heldColumns, held)],
  ['attention', forms(attentionColumns, wrong)],
  ['changes', forms(changeColumns, changed)],
  ['audit', forms(actionColumns, actions)],
  ['errors', forms(errorColumns, errors)],
  ['limits', forms(limitColumns, limits)],
  ['count', forms(countColumns(1_000, false), counts)],
  ['count-exact', forms(countColumns(1_000, true), counts)],
  ['next', forms(nextColumns, next)],
  ['repair', forms(repairColumns, repaired)],
  ['doctor', forms(findingColumns, findings)],
  ['periodic', forms(periodicColumns, timers)],
  ['attempts', forms(attemptColumns, attempts)],
])('the list of %s has its columns on any terminal', async (name, lines) => {
  await expect(lines).toMatchFileSnapshot(`command-line-tables/${name}.txt`)
})
