/** The doctor only reads, and one check that fails or takes long keeps no other from being made. */
import { isTaskError, TaskError } from '@taskstream/task-api'
import { makeLook, raw, render, sql } from '@taskstream/task-sql'
import type { SqlAdapter, Statement } from '@taskstream/task-sql'
import { describe, expect, test } from 'vitest'
import { thrownBy, useFixture } from '@taskstream/task-testing/suite'
import type { AnyTransaction } from '@taskstream/task-testing/suite'
import { canRun, engine, isPostgres } from '../subject.ts'
import { complaintsAmong, findingOf, findingsOf } from './examining.ts'

/** The code of an unknown error of the driver says nothing here. */
const broken = new Error('the disk is on fire')

describe.skipIf(!canRun || engine.adapts === false)('an examination', () => {
  const fixture = useFixture(engine)
  const options = { now: null, leaseMs: 1 }
  /** Runs statements as a look does. */
  const look = (statement: Statement, limitMs: number): Promise<unknown> => {
    const make = fixture.tasks.verb(function* ({ dialect }) {
      return yield* makeLook(dialect, { read: () => ask(statement) }, options, limitMs)
    })
    return thrownBy(() => fixture.subject.transactions((transaction: AnyTransaction) => make(transaction) as unknown))
  }
  function* ask(statement: Statement): ReturnType<Parameters<typeof makeLook>[1]['read']> {
    return yield statement
  }

  test('sends statements that read, and leaves every task as it was', async () => {
    const sent: string[] = []
    const tasks = fixture.subject.tasks({ adapt: recording((statement) => sent.push(render(statement, () => '?').trim())) })
    await fixture.push('a', 'b')
    const before = await fixture.page()
    await findingsOf(fixture.subject, { tasks, deep: true })
    expect(await fixture.page()).toEqual(before)
    // On MariaDB and MySQL the rights are found by statements that a transaction which only reads refuses.
    const writes = sent.filter(
      (text) => !/^(select|with|show|start transaction read only|set statement max_statement_time)\b/.test(text),
    )
    expect(writes.filter((text) => engine.family !== 'mysql' || !text.endsWith('where 1 = 0'))).toEqual([])
    expect(sent.length).toBeGreaterThan(15)
  })

  test.skipIf(engine.family === 'sqlite')('is refused every write by the server', async () => {
    const table = raw(isPostgres ? 'taskstream.task_topic' : 'task_topic')
    const error = await look(sql`delete from ${table} where topic = ${fixture.topic}`, 60_000)
    expect(isTaskError(error, 'DATABASE_READ_ONLY')).toBe(true)
    expect(await fixture.push('a')).toHaveLength(1)
  })

  test('reports a check that fails as skipped, and makes all others', async () => {
    const failing = recording((statement) => {
      if (statement.texts.some((text) => text.includes('task_periodic'))) throw broken
    })
    const findings = await findingsOf(fixture.subject, { tasks: fixture.subject.tasks({ adapt: failing }) })
    expect(findingOf(findings, 'timer-overdue')).toMatchObject({ severity: 'skipped', measured: broken.message })
    expect(findings.filter(({ severity }) => severity === 'ok').length).toBeGreaterThan(10)
    expect(complaintsAmong(findings)).toEqual([])
  })

  test('reports a database that does not answer, and nothing else', async () => {
    const silent = recording(() => {
      throw broken
    })
    const findings = await findingsOf(fixture.subject, { tasks: fixture.subject.tasks({ adapt: silent }) })
    expect(findings).toEqual([expect.objectContaining({ check: 'reachable', severity: 'crit', measured: broken.message })])
  })

  test('reports a database that goes away meanwhile as one that does not answer, and not as one that is well', async () => {
    const lost = new TaskError('DATABASE_UNAVAILABLE', 'the cable was pulled')
    const leaving = recording((statement) => {
      if (statement.texts.some((text) => text.includes('task_periodic'))) throw lost
    })
    const findings = await findingsOf(fixture.subject, { tasks: fixture.subject.tasks({ adapt: leaving }) })
    expect(findings).toEqual([expect.objectContaining({ check: 'reachable', severity: 'crit', measured: lost.message })])
  })

  test('skips what takes too long', async () => {
    const findings = await findingsOf(fixture.subject, { limitMs: 0 })
    expect(findingOf(findings, 'paused')).toMatchObject({ severity: 'skipped', facts: { code: 'DATABASE_BUSY' } })
  })

  test.skipIf(engine.family === 'sqlite' || engine.connections === 1)(
    'has the server break off what takes too long',
    async () => {
      const sleep = isPostgres ? raw('select pg_catalog.pg_sleep(3600)::text as slept') : raw('select sleep(3600) as slept')
      expect(isTaskError(await look(sleep, 50), 'DATABASE_BUSY')).toBe(true)
    },
  )
})

/** Looks at each statement before it is sent. */
function recording(
  before: (statement: Statement) => unknown,
): (adapter: SqlAdapter<AnyTransaction>) => SqlAdapter<AnyTransaction> {
  return (adapter) =>
    ({
      ...adapter,
      execute: (transaction: AnyTransaction, statement: Statement, plan?: string) => {
        before(statement)
        return adapter.execute(transaction, statement, plan)
      },
    }) as typeof adapter
}
