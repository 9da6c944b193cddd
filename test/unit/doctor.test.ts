/** How the doctor judges what it has measured, and how it says so. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { TaskError } from '@taskstream/task-api'
import { bundleOf, checkNames, checksTable, isAtLeast, thresholds } from '@taskstream/task-operations'
import type { CheckName, Severity } from '@taskstream/task-operations'
import { lookNames } from '@taskstream/task-sql'
import { mariadb, mysql } from '@taskstream/task-sql/mysql2'
import { sqlite } from '@taskstream/task-sql/node-sqlite'
import { postgres } from '@taskstream/task-sql/pg'
import { existsSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { duration, inUnit, inWords } from '../../packages/task-operations/src/core/units.ts'
import { checks } from '../../packages/task-operations/src/doctor/checks.ts'
import { unreachable } from '../../packages/task-operations/src/doctor/examine.ts'
import { judge } from '../../packages/task-operations/src/doctor/judge.ts'

const docs = join(import.meta.dirname, '..', '..', 'docs')
const minute = 60_000

test('a server that has no connection left is told apart from one that is not there', () => {
  const busy = unreachable(new TaskError('DATABASE_BUSY', 'No connection is free'))
  expect(busy).toMatchObject({
    check: 'reachable',
    severity: 'crit',
    remedy: checks.connections.remedy,
    page: checks.connections.page,
  })
  const gone = unreachable(new TaskError('DATABASE_UNAVAILABLE', 'The database cannot be reached'))
  expect(gone).toMatchObject({
    check: 'reachable',
    severity: 'crit',
    remedy: checks.reachable.remedy,
    page: checks.reachable.page,
  })
})

test('a server that takes a connection and says nothing has been sent nothing', () => {
  const silent = postgres().classify(new Error('Connection terminated due to connection timeout'))
  expect(silent).toMatchObject({
    code: 'DATABASE_UNAVAILABLE',
    message: expect.stringContaining('nothing was sent to it') as string,
  })
  const lost = postgres().classify(new Error('Connection terminated unexpectedly'))
  expect(lost).toMatchObject({ code: 'DATABASE_UNAVAILABLE', message: expect.stringContaining('went away') as string })
})

describe('a threshold', () => {
  test.each<[CheckName, number, Severity]>([
    ['round-trip', 20, 'ok'],
    ['round-trip', 20.1, 'warn'],
    ['round-trip', 201, 'crit'],
    ['clock', 2_001, 'warn'],
    ['clock', 10_001, 'crit'],
    ['nobody-processes', minute + 1, 'warn'],
    ['nobody-processes', 10 * minute + 1, 'crit'],
    ['node-failing', 0, 'ok'],
    ['node-failing', 0.5, 'warn'],
    ['node-failing', 1, 'crit'],
    ['release-skew', 60 * minute + 1, 'warn'],
    ['options-unlike', 1, 'warn'],
    ['event-loop', 1_001, 'warn'],
    ['event-loop', 5_001, 'crit'],
    ['paused', 24 * 60 * minute + 1, 'warn'],
    ['overdue', 10_001, 'warn'],
    ['overdue', 5 * minute + 1, 'crit'],
    ['owner-silent', 1.1, 'warn'],
    ['owner-silent', 3.1, 'crit'],
    ['timer-overdue', minute + 1, 'warn'],
    ['timer-overdue', 10 * minute + 1, 'crit'],
    ['retry-endless', 1_000, 'ok'],
    ['retry-endless', 1_001, 'warn'],
    ['identifier-blocked', 60 * minute + 1, 'warn'],
    ['identifier-blocked', 24 * 60 * minute + 1, 'crit'],
    ['history', 10_000_001, 'warn'],
    ['history', 100_000_001, 'crit'],
    ['attempts', 5_000_001, 'warn'],
    ['transaction-open', minute, 'ok'],
    ['transaction-open', minute + 1, 'warn'],
    ['transaction-open', 15 * minute + 1, 'crit'],
    ['transaction-prepared', 15 * minute + 1, 'crit'],
    ['replication-slot', minute + 1, 'warn'],
    ['lock-waits', 5_001, 'warn'],
    ['connections', 0.81, 'warn'],
    ['connections', 0.96, 'crit'],
    ['postgres-version', 14, 'warn'],
    ['postgres-version', 15, 'ok'],
    ['mariadb-version', 10.05, 'warn'],
    ['mariadb-version', 11.04, 'ok'],
    ['mysql-version', 5.07, 'warn'],
    ['wraparound', 1_200_000_001, 'warn'],
    ['wraparound', 1_800_000_001, 'crit'],
    ['partition-locks', 0.81, 'warn'],
    ['history-list', 100_001, 'warn'],
    ['history-list', 1_000_001, 'crit'],
    ['cluster-flow', 0.11, 'warn'],
    ['busy-timeout', 4_999, 'warn'],
    ['busy-timeout', 5_000, 'ok'],
    ['wal-size', 64 * 2 ** 20 + 1, 'warn'],
    ['wal-size', 2 ** 30 + 1, 'crit'],
    ['free-space', 0.09, 'warn'],
    ['free-space', 0.01, 'crit'],
    ['read-only', 1, 'warn'],
    ['fsync', 1, 'crit'],
    ['synchronous-commit', 1, 'notice'],
    ['storage-engine', 1, 'crit'],
    ['collation', 1, 'warn'],
    ['flush-log', 1, 'notice'],
    ['cluster-state', 1, 'crit'],
    ['integrity', 1, 'crit'],
  ])('of %s makes %d %s', (name, value, severity) => {
    expect(judge(name, thresholds[name], [{ value }]).severity).toBe(severity)
  })

  test.each<[CheckName, number, Severity]>([
    ['hot-updates', 99_999, 'ok'],
    ['hot-updates', 100_000, 'notice'],
    ['never-analysed', 10_000, 'warn'],
    ['failing', 19, 'ok'],
    ['failing', 20, 'crit'],
    ['cluster-writers', 999, 'ok'],
    ['cluster-writers', 1_000, 'crit'],
    ['statistics', 99_999, 'ok'],
    ['statistics', 100_000, 'warn'],
  ])('of %s passes over what is smaller than it says: %d are %s', (name, size, severity) => {
    const value = thresholds[name].below ? 0.1 : 1
    expect(judge(name, thresholds[name], [{ value, size }]).severity).toBe(severity)
  })

  test('is said in words, with its units', () => {
    expect(inWords(thresholds['transaction-open'])).toBe('warn above 1 min, crit above 15 min')
    expect(inWords(thresholds['free-space'])).toBe('warn below 10 %, crit below 2 %')
    expect(inWords(thresholds['mariadb-version'])).toBe('warn below 10.6')
    expect(inWords(thresholds['dead-rows'])).toBe('warn above 20 %, from 100,000 rows on')
    expect(inWords(thresholds['wal-size'])).toBe('warn above 64 MiB, crit above 1 GiB')
    expect(inWords(thresholds.integrity)).toBe('crit if any')
    expect(duration(90_061_000)).toBe('1 d 1 h')
    expect(duration(4.24)).toBe('4.2 ms')
    expect(inUnit(1, 'leases')).toBe('1 lease')
  })
})

describe('a finding', () => {
  test('tells of the worst, how many there are, and what to do about it', () => {
    const rows = [
      { pid: 1, username: 'shop', application: '', state: 'idle', value: 90_000, remedy: 'end 1' },
      { pid: 2, username: 'shop', application: 'report', state: 'active', value: '960000', remedy: 'end 2' },
      { pid: 3, username: 'shop', application: '', state: 'active', value: 1_000, remedy: 'end 3' },
    ]
    expect(judge('transaction-open', thresholds['transaction-open'], rows)).toEqual({
      check: 'transaction-open',
      severity: 'crit',
      measured: '16 min: session 2 of shop report, active (and 1 more)',
      threshold: 'warn above 1 min, crit above 15 min',
      remedy: 'end it, once you know what it does: end 2',
      page: 'operations.md',
      facts: {
        value: 960_000,
        count: 2,
        worst: [
          { pid: 2, username: 'shop', application: 'report', state: 'active', value: 960_000 },
          { pid: 1, username: 'shop', application: '', state: 'idle', value: 90_000 },
        ],
      },
    })
  })

  test('is skipped, with the grant, if nothing bad is seen by a user who does not see all', () => {
    const hidden = { hidden: 1 }
    const judged = (value: number): object =>
      judge('transaction-open', thresholds['transaction-open'], [{ value }, hidden], 'grant process on *.* to me')
    expect(judged(1)).toMatchObject({
      severity: 'skipped',
      remedy: 'grant process on *.* to me',
      facts: { code: 'PERMISSION_DENIED' },
    })
    expect(judged(2 * minute)).toMatchObject({ severity: 'warn' })
  })

  test('is skipped if the database cannot tell, but of a slot since nobody knows when it is a warning', () => {
    expect(judge('attempts', thresholds.attempts, [{ value: null }]).severity).toBe('skipped')
    const slot = { name: 'old', kind: 'logical', transactions: 7, value: null }
    expect(judge('replication-slot', thresholds['replication-slot'], [slot])).toMatchObject({
      severity: 'warn',
      measured: 'the logical slot old has been inactive for nobody knows how long, and keeps what is dead since 7 transactions',
    })
  })

  test('is at least as bad as itself and as all that is better', () => {
    expect(isAtLeast('crit', 'warn')).toBe(true)
    expect(isAtLeast('warn', 'warn')).toBe(true)
    expect(isAtLeast('notice', 'warn')).toBe(false)
    expect(isAtLeast('skipped', 'notice')).toBe(false)
  })
})

test('what is bundled for a report has numbers and our own words, and no other text', () => {
  const secret = 'customer-4711'
  const rows = [{ value: 2 * minute, pid: 7, username: secret, application: secret, state: secret, remedy: secret }]
  const found = [
    judge('transaction-open', thresholds['transaction-open'], rows),
    judge('postgres-version', thresholds['postgres-version'], [{ value: 18, version: '18.4' }]),
  ]
  const bundle = bundleOf(found, { taskstream: '1.0.0' }, { deep: true })
  expect(JSON.stringify(bundle)).not.toContain(secret)
  expect(bundle).toMatchObject({
    versions: { taskstream: '1.0.0', server: '18.4' },
    options: { deep: true },
    findings: [
      { check: 'transaction-open', severity: 'warn', value: 2 * minute, count: 1 },
      { check: 'postgres-version', severity: 'ok' },
    ],
  })
})

test('every look belongs to a check, and some engine makes it', () => {
  const dialects = [postgres(), mariadb(), mysql(), sqlite()]
  const made = new Set(dialects.flatMap(({ examination }) => Object.keys(examination.looks)))
  const everywhere = [
    'nobody-processes',
    'node-failing',
    'failing',
    'release-skew',
    'options-unlike',
    'event-loop',
    'paused',
    'overdue',
    'owner-silent',
    'timer-overdue',
    'retry-endless',
    'identifier-blocked',
  ]
  expect([...made, ...everywhere].toSorted()).toEqual([...lookNames].toSorted())
  expect(lookNames.filter((name) => name !== 'file' && !(checkNames as readonly string[]).includes(name))).toEqual([])
})

describe('the guide to the doctor', () => {
  const guide = readFileSync(join(docs, 'guides', 'doctor.md'), 'utf8')

  test('has the table of checks as the code has them', () => {
    expect(withoutPadding(guide)).toContain(withoutPadding(checksTable()))
  })

  test.each(checkNames)('links from %s to a page that exists', (name) => {
    expect(existsSync(join(docs, checks[name].page))).toBe(true)
  })
})

/** The formatter may pad the cells of tables. */
function withoutPadding(text: string): string {
  return text.replaceAll(/ {2,}/g, ' ').replaceAll(/-{3,}/g, '---').trim()
}
