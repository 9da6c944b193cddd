/** `taskstream doctor` tells people, programs and cron jobs how well a database is. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Finding } from '@taskstream/task-operations'
import { isAtLeast } from '@taskstream/task-operations'
import { sql } from '@taskstream/task-sql'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { useFixture } from '@taskstream/task-testing/suite'
import { complaintsAmong } from '../conformance/examining.ts'
import { canRun, engine } from '../subject.ts'
import { testOn } from '../test-on.ts'
import { run, urlOf } from './command-line.ts'
import type { Run } from './command-line.ts'

const day = 86_400_000

describe.skipIf(!canRun)('taskstream doctor', () => {
  const fixture = useFixture(engine)
  let url = ''
  let folder = ''
  beforeAll(() => {
    url = urlOf(fixture.subject)
    folder = mkdtempSync(join(tmpdir(), 'taskstream-doctor-'))
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  const doctor = (...args: readonly string[]): Promise<Run> => run(['doctor', ...args, '--url', url])
  const findings = ({ out }: Run): readonly Finding[] => JSON.parse(out) as Finding[]
  /** A busy machine may answer slowly. */
  const complaints = (ran: Run): string[] =>
    complaintsAmong(findings(ran)).filter((complaint) => !complaint.startsWith('round-trip'))
  const expectedCode = (ran: Run, least: 'warn' | 'crit'): number =>
    findings(ran).some(({ severity }) => isAtLeast(severity, least)) ? 4 : 0
  /** Pauses a topic with a ready task, days ago. */
  const forgetTopic = async (): Promise<void> => {
    await fixture.push('a')
    await fixture.commit((transaction) => fixture.tasks.deactivate(transaction, fixture.topic))
    const set = fixture.tasks.verb(function* ({ dialect }) {
      const changed = dialect.expr.instant(sql`${Date.now() - 3 * day}`)
      yield sql`update ${dialect.tables.activation} set changed = ${changed} where topic = ${fixture.topic}`
    })
    await fixture.commit((transaction) => set(transaction) as unknown)
  }
  const remember = (): Promise<unknown> => fixture.commit((transaction) => fixture.tasks.activate(transaction, fixture.topic))

  test('ends with 0 where nothing is wrong, and with 4 from a warning on, or only from what is critical', async () => {
    const well = await doctor('--json')
    expect([complaints(well), well.code, well.err]).toEqual([[], expectedCode(well, 'warn'), ''])
    await forgetTopic()
    const ill = await doctor('--json')
    expect([complaints(ill), ill.code]).toEqual([['paused warn'], 4])
    const lenient = await doctor('--json', '--fail-on', 'crit')
    expect([complaints(lenient), lenient.code]).toEqual([['paused warn'], expectedCode(lenient, 'crit')])
    await remember()
  })

  test('shows every check to people, and says what to do about each complaint', async () => {
    await forgetTopic()
    const { out } = await doctor()
    expect(out).toMatch(/^reachable +ok /m)
    expect(out).toMatch(/^paused +warn +.* has been paused for 3 d/m)
    expect(out).toMatch(new RegExp(`\\nwarn paused: .*\\n {2}taskstream resume ${fixture.topic}\\n {2}docs/operations.md\\n`))
    await remember()
  })

  test('begins with what is worst, and ends with what was skipped', async () => {
    await forgetTopic()
    const { out } = await doctor()
    const shown = Array.from(out.matchAll(/^\S+ +(crit|warn|notice|ok|skipped)(?= )/gm), ([, severity]) => severity!)
    const order = ['crit', 'warn', 'notice', 'ok', 'skipped']
    expect(shown).toEqual(shown.toSorted((left, right) => order.indexOf(left) - order.indexOf(right)))
    expect([shown.includes('warn'), shown.includes('ok')]).toEqual([true, true])
    expect(findings(await doctor('--json')).map(({ severity }) => severity)).toEqual(shown)
    await remember()
  })

  test('ends with 75 where nobody answers, and with 2 for an address that is wrong', async () => {
    const nobody = url.startsWith('sqlite:') ? `sqlite:${join(folder, 'none.db')}` : url.replace(/@[^/]*\//, '@127.0.0.1:1/')
    const { code, out } = await run(['doctor', '--json', '--url', nobody])
    expect([code, JSON.parse(out)]).toEqual([75, [expect.objectContaining({ check: 'reachable', severity: 'crit' })]])
    expect(existsSync(join(folder, 'none.db'))).toBe(false)
    expect(await run(['doctor', '--url', 'tasks.db'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('ARGUMENT_INVALID'),
    })
  })

  testOn(['postgres-18'])('says that there are no tables, and makes none', async () => {
    const ran = await doctor('--json', '--schema', 'elsewhere')
    expect([complaints(ran), ran.code]).toEqual([['schema crit'], 4])
    expect(ran.out).toContain('the tables are missing')
    const again = await doctor('--json', '--schema', 'elsewhere')
    expect(again.out).toContain('the tables are missing')
  })

  test('writes a bundle that names no topic, no user and no place', async () => {
    await forgetTopic()
    const file = join(folder, 'bundle.json')
    await doctor('--bundle', file, '--deep')
    const text = readFileSync(file, 'utf8')
    const { hostname, username, pathname } = new URL(url.replace('sqlite:', 'sqlite://'))
    // The name of a check begins like this user's.
    const names = [fixture.topic, hostname, username, pathname, pathname.slice(1)].filter(
      (each) => each !== '' && each !== 'postgres',
    )
    for (const name of names) expect(text).not.toContain(name)
    const bundle = JSON.parse(text) as object
    expect(bundle).toMatchObject({ versions: { taskstream: expect.any(String) }, options: { deep: true } })
    expect(text).toMatch(/"check": "paused",\s+"severity": "warn"/)
    await remember()
  })

  testOn(['postgres-18'])('hears a notification on a connection of its own', async () => {
    const ran = await doctor('--json')
    expect(findings(ran).find(({ check }) => check === 'wake-up')).toMatchObject({ severity: 'ok' })
  })
})
