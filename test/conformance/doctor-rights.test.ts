/** The doctor names each right that the user of the nodes lacks, as the statement that grants it. */
import { describe, expect, test } from 'vitest'
import { raw } from '@taskstream/task-sql'
import type { Row } from '@taskstream/task-sql'
import { openFixture, whileTested } from '@taskstream/task-testing/suite'
import { grantsOf } from '../databases/grants.ts'
import type { Names } from '../databases/grants.ts'
import { canRun, engine, isPostgres } from '../subject.ts'
import { complaintsAmong, findingOf, findingsOf } from './examining.ts'

describe.skipIf(!canRun)('the doctor, of rights', () => {
  const fixture = whileTested(() => openFixture(engine))
  const names = (): Names => {
    const { pathname, username } = new URL(fixture.subject.location.at)
    return { app: pathname.slice(1), taskstream_worker: username, taskstream_owner: username.replace(/_worker$/, '_owner') }
  }
  const run = (text: string): Promise<readonly Row[]> =>
    fixture.commit((transaction) => fixture.subject.execute(transaction, raw(text)))

  test('misses none where the worker has what the guide grants', async () => {
    expect(complaintsAmong(await findingsOf(fixture.subject))).toEqual([])
    expect(findingOf(await findingsOf(fixture.subject), 'rights').severity).toBe('ok')
  })

  test('misses each right that is revoked, and its remedy gives it back', async () => {
    const family = isPostgres ? 'postgres' : 'mariadb'
    const revoked: string[] = []
    for (const grant of grantsOf(`${family}: worker`, names())) {
      const [, rights = '', rest = ''] = /^grant (.+?) on (.+) to /s.exec(grant) ?? []
      if (rest.startsWith('schema')) continue
      const [, kind = '', objects = ''] = /^(sequence |function |)(.*)$/s.exec(rest) ?? []
      const pairs = objects
        .split(/,(?![^(]*\))/)
        .flatMap((name) => rights.split(', ').map((right) => [right, kind + name.trim()] as const))
      for (const [right, object] of pairs) {
        await run(`revoke ${right} on ${object} from ${userOf(names())}`)
        const finding = findingOf(await findingsOf(fixture.subject), 'rights')
        expect([right, object, finding.severity]).toEqual([right, object, 'warn'])
        expect(finding.facts.count).toBeGreaterThan(0)
        const remedy = (finding.remedy ?? '').replace('unless this user only looks: ', '')
        expect(remedy.toLowerCase()).toContain(right)
        // Of the right to read the version the server's own words are told.
        await run(remedy.startsWith('grant') ? remedy : `grant ${right} on ${object} to ${userOf(names())}`)
        revoked.push(right)
      }
    }
    expect(revoked.length).toBeGreaterThan(5)
    expect(complaintsAmong(await findingsOf(fixture.subject))).toEqual([])
  })

  test.skipIf(!isPostgres)('finds that row security hides tasks from the worker', async () => {
    await run('alter table taskstream.task enable row level security')
    const all = await findingsOf(fixture.subject)
    expect(complaintsAmong(all)).toEqual(['rights warn'])
    expect(findingOf(all, 'rights').remedy).toContain('create policy taskstream on taskstream.task using (true)')
    await run('alter table taskstream.task disable row level security')
  })
})

function userOf({ taskstream_worker: worker = '' }: Names): string {
  return isPostgres ? worker : `${worker}@'127.0.0.1'`
}
