/** How commands end: the table of exit codes is the same in the code, in help and in the guide, and no ending prints a secret. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { taskErrorCodes, TaskError } from '@taskstream/task-api'
import type { TaskErrorCode } from '@taskstream/task-api'
import type { Finding } from '@taskstream/task-operations'
import * as fc from 'fast-check'
import { afterEach, expect, onTestFinished, test, vi } from 'vitest'
import { exitCodeOf as exitCodeOfFindings } from '../../packages/task-cli/src/commands/doctor.ts'
import { CommandError, exitCodeHelp, exitCodeOf, exitCodes, exitMeanings } from '../../packages/task-cli/src/core/exit-codes.ts'
import { explain } from '../../packages/task-cli/src/core/explain.ts'
import { hintOf, noteHint } from '../../packages/task-cli/src/core/hints.ts'
import { toLocation } from '../../packages/task-cli/src/core/location.ts'
import { placeOf } from '../../packages/task-cli/src/core/place.ts'
import { toRef, toSelector } from '../../packages/task-cli/src/core/refs.ts'
import { noteSecretsOf, withoutSecrets } from '../../packages/task-cli/src/core/secrets.ts'
import { seconds, span } from '../../packages/task-cli/src/core/time.ts'

afterEach(() => vi.unstubAllEnvs())

const guide = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'guides', 'command-line.md'), 'utf8')

test('the guide and help have every exit code, with the same words', () => {
  const rows = Object.entries(exitCodes).map(([ending, code]) => [String(code), exitMeanings[ending as keyof typeof exitCodes]])
  const section = guide.slice(guide.indexOf('## Exit codes'))
  const table = section.slice(0, section.indexOf('| error |'))
  expect([...table.matchAll(/^\| (\d+) \| (.*) \|$/gm)].map(([, code, words]) => [code, words])).toEqual(rows)
  for (const [code, words] of rows) expect(exitCodeHelp()).toMatch(new RegExp(`^ +${code} {2}${words}$`, 'm'))
})

test('every error ends with a code of the table, and what may pass by itself is worth repeating', () => {
  const ended = (code: TaskErrorCode): number => exitCodeOf(new TaskError(code, 'x'))
  for (const code of Object.keys(taskErrorCodes)) expect(Object.values(exitCodes)).toContain(ended(code as TaskErrorCode))
  const byCode = Object.groupBy(Object.keys(taskErrorCodes).toSorted(), (code) => ended(code as TaskErrorCode))
  const { [exitCodes.failed]: failed, ...others } = byCode
  expect(failed).toContain('DATABASE_MISSING')
  expect(others).toEqual({
    [exitCodes.usage]: ['ARGUMENT_INVALID', 'TIMER_INVALID'],
    [exitCodes.missing]: ['ACTION_UNKNOWN', 'OWNER_UNKNOWN', 'TASK_UNKNOWN', 'TIMER_UNKNOWN', 'TOPIC_UNKNOWN'],
    [exitCodes.refused]: [
      'ACTION_FINAL',
      'ACTION_UNDONE',
      'AUTHENTICATION_FAILED',
      'DATABASE_READ_ONLY',
      'PERMISSION_DENIED',
      'SCHEMA_MISSING',
      'SCHEMA_NEWER',
      'SCHEMA_OLDER',
    ],
    [exitCodes.unreachable]: ['DATABASE_BUSY', 'DATABASE_UNAVAILABLE', 'TRANSACTION_CONFLICT'],
  })
  expect([ended('DATABASE_MISSING'), ended('TOPIC_DIFFERENT'), exitCodeOf(new Error('x')), exitCodeOf('x')]).toEqual([1, 1, 1, 1])
  for (const [ending, code] of Object.entries(exitCodes))
    expect(exitCodeOf(new CommandError(ending as keyof typeof exitCodes, 'x'))).toBe(code)
})

test('the doctor says by its exit code whether the database answers, and whether anything is as bad as was asked', () => {
  const finding = (check: 'clock' | 'reachable', severity: 'ok' | 'warn' | 'crit'): Finding =>
    ({ check, severity }) as unknown as Finding
  const code = (failOn: 'warn' | 'crit', ...findings: readonly Finding[]): number => exitCodeOfFindings(findings, { failOn })
  expect(code('warn')).toBe(exitCodes.done)
  expect(code('warn', finding('reachable', 'ok'), finding('clock', 'ok'))).toBe(exitCodes.done)
  expect(code('warn', finding('reachable', 'ok'), finding('clock', 'warn'))).toBe(exitCodes.no)
  expect(code('crit', finding('reachable', 'ok'), finding('clock', 'warn'))).toBe(exitCodes.done)
  expect(code('crit', finding('clock', 'crit'), finding('reachable', 'warn'))).toBe(exitCodes.no)
  expect(code('crit', finding('clock', 'ok'), finding('reachable', 'crit'))).toBe(exitCodes.unreachable)
})

test('a password is in no text, whichever the address, and wherever a driver quotes it', () => {
  // Passwords shorter than three characters are in every text by chance.
  const password = fc
    .string({ unit: 'grapheme-ascii', minLength: 3, maxLength: 30 })
    .filter((text) => /[^\s*]{3}/.test(text) && text !== 'shop')
  const quoting = fc.constantFrom(
    (secret: string) => `password authentication failed for "${secret}"`,
    (_: string, address: string) => `cannot connect to ${address}: refused`,
    (secret: string) => `Access denied (using ${encodeURIComponent(secret)})`,
  )
  fc.assert(
    fc.property(password, quoting, (secret, quote) => {
      const address = `postgres://shop:${encodeURIComponent(secret)}@db-1/orders`
      const forget = noteSecretsOf(address)
      const error = new Error(quote(secret, address), { cause: new Error(secret) })
      vi.stubEnv('TASKSTREAM_DEBUG', '1')
      for (const text of [withoutSecrets(explain(error)), placeOf(toLocation(address))])
        for (const form of [secret, encodeURIComponent(secret)]) {
          const without =
            'postgres://shop:***@db-1/orders error: cannot connect to password authentication failed for refused Access denied (using'
          if (!without.includes(form)) expect(text.split('\n')[0]).not.toContain(form)
        }
      forget()
    }),
  )
})

test('what is called in messages is the database without its password', () => {
  const place = (url: string): string => placeOf(toLocation(url))
  expect([
    place('postgres://shop:geheim@db-1:5432/orders?password=geheim'),
    place('postgres://shop:geheim@/orders?host=/run/postgresql'),
    place('mariadb://db-1/a%20b'),
    place('sqlite:tasks.db'),
    place('sqlite:a\u001Bb'),
  ]).toEqual(['shop@db-1:5432/orders', 'shop@/run/postgresql/orders', 'db-1/a b', 'tasks.db', 'a␛b'])
})

test('a password is hidden before its message is cut, and before signs are replaced in it', () => {
  onTestFinished(noteSecretsOf('postgres://shop:correct%07horse@db-1/orders'))
  expect(explain(new Error(`${'x'.repeat(3_995)}correct\u0007horse`))).toMatch(/x\*\*\*$/)
})

test('a message that a driver or the database wrote cannot disturb the terminal', () => {
  expect(explain(new Error('a\u001B[2Jb\u0000\u202Ec\nd'))).toBe('error: a␛[2Jb␀\\u202ec\nd')
  expect(explain(new Error('x'.repeat(16_777_216))).length).toBeLessThan(5_000)
  vi.stubEnv('TASKSTREAM_DEBUG', '1')
  expect(explain(new Error('outer', { cause: new Error('inner\u001B') }))).toMatch(
    /^error: outer\nError: outer\n[^]*\ncaused by Error: inner␛\n/,
  )
})

test('a hint names what was probably meant, and is no second error', async () => {
  const error = new TaskError('TOPIC_UNKNOWN', 'x', { topic: 'invioces' })
  await noteHint(error, 'tasks.db', {
    topics: async () => ['mail', 'invoices'],
    timers: async () => [],
    scopes: async () => [],
  })
  expect(explain(error)).toBe(
    'error: no topic "invioces" in tasks.db; did you mean invoices? (create it: taskstream topic create invioces) (TOPIC_UNKNOWN)',
  )
  const gone = new TaskError('TIMER_UNKNOWN', 'x', { scope: 'system', id: 'report' })
  const fails = async (): Promise<never> => {
    throw new Error('gone')
  }
  await noteHint(gone, 'tasks.db', { topics: fails, timers: fails, scopes: fails })
  expect(hintOf(gone)).toEqual({ place: 'tasks.db' })
  const elsewhere = new TaskError('TIMER_UNKNOWN', 'x', { scope: 'system', id: 'nightly' })
  const timers = async (): Promise<string[]> => ['hourly']
  await noteHint(elsewhere, 'tasks.db', { topics: fails, timers, scopes: async () => ['jobs'] })
  expect(explain(elsewhere)).toBe(
    'error: no timer "nightly" in the scope "system" in tasks.db; there is one in the scope "jobs": --scope jobs (list them: taskstream periodic ls) (TIMER_UNKNOWN)',
  )
})

test('a task has four kinds of names', () => {
  expect(
    ['4711', '@4711', 'ext:abc', 'id:inv-7', 'inv-7', 'id:@7', 'ext:id:7', '7a'].map((text) => toSelector(toRef(text))),
  ).toEqual([
    4711,
    4711,
    { externalId: 'abc' },
    { identifier: 'inv-7' },
    { identifier: 'inv-7' },
    { identifier: '@7' },
    { externalId: 'id:7' },
    { identifier: '7a' },
  ])
  for (const text of ['', '@', '@x', 'id:', 'ext:']) expect(() => toRef(text)).toThrow(/must be @4711/)
})

test('spans of time and seconds are read, or refused', () => {
  expect(['500ms', '60s', '1.5h', '2m', '2min', '30d', '0s'].map(span)).toEqual([
    500, 60_000, 5_400_000, 120_000, 120_000, 2_592_000_000, 0,
  ])
  for (const text of ['', '60', 's', '-1s', '1y', '1 s', '36501d', '1e3s'])
    expect(() => span(text)).toThrow(/It must be a number with/)
  expect(['1', '0.5', '86400'].map(seconds)).toEqual([1_000, 500, 86_400_000])
  for (const text of ['', '0', '0.05', '-1', 'x', '86401']) expect(() => seconds(text)).toThrow(/seconds from 0.1/)
})
