/** Timers of one kind carry inputs of one type, and keep off timers of another kind. */
import { typedTasks } from '@taskstream/task-scheduler'
import type { TypedTaskInfo } from '@taskstream/task-scheduler'
import { expect, test } from 'vitest'
import { codeOf } from './fixture.ts'
import { usePeriodicFixture } from './periodic-fixture.ts'
import { part } from './engine.ts'
import type { Part } from './engine.ts'

export const typedTimers: Part = part('typed timers', (engine) => {
  const fixture = usePeriodicFixture(engine)

  test('of a kind carry typed inputs, and are checked on their way in and out', async () => {
    const folder = {
      '~standard': {
        validate: (value: unknown) =>
          typeof (value as { folder?: unknown })?.folder === 'string'
            ? { value: value as { folder: string } }
            : { issues: [{ message: 'must be a string', path: ['folder'] }] },
      },
    }
    const scans = typedTasks(fixture.fixture.tasks, { scope: 'ann', name: 'scan', topic: fixture.fixture.topic, input: folder })
    await fixture.fixture.commit((transaction) =>
      scans.schedule(transaction, { id: 'inbox', timer: 'hourly', input: { folder: 'INBOX' } }),
    )
    const list = (): Promise<TypedTaskInfo<{ folder: string }>[]> =>
      fixture.fixture.commit((transaction) => scans.list(transaction))
    expect(await list()).toMatchObject([{ id: 'inbox', name: 'scan', scope: 'ann', input: { folder: 'INBOX' } }])
    const wrong = { id: 'sent', timer: 'hourly', input: { folder: 7 as never } }
    await expect(fixture.fixture.commit((transaction) => scans.schedule(transaction, wrong))).rejects.toMatchObject({
      code: 'INPUT_INVALID',
      message: expect.stringContaining('folder: must be a string'),
    })
    expect(await list()).toHaveLength(1)
    fixture.at('2026-01-05T09:00:00.000Z')
    await fixture.fireAll()
    expect(scans.inputOf((await fixture.fixture.poll())[0]!)).toEqual({ folder: 'INBOX' })

    const one = { id: 'only', timer: 'daily', input: { folder: 'X' } }
    await fixture.fixture.commit((transaction) => scans.schedule(transaction, { ...one, id: 'second' }))
    expect(await codeOf(() => fixture.fixture.commit((transaction) => scans.one(transaction)))).toBe('TIMER_AMBIGUOUS')
    await fixture.fixture.commit((transaction) => scans.scheduleOne(transaction, one))
    expect(await list()).toMatchObject([{ id: 'inbox', timer: 'daily', input: { folder: 'X' } }])
    // This stored input does not fit the schema, as after a change by hand or a release with another schema.
    const hers = fixture.scoped('ann')
    await fixture.fixture.commit((transaction) =>
      hers.schedule(transaction, fixture.hourly({ id: 'inbox', name: 'scan', input: 'no json' })),
    )
    expect(await codeOf(list)).toBe('INPUT_INVALID')
    expect(await fixture.fixture.commit<number>((transaction) => scans.removeAll(transaction))).toBe(1)
  })

  test('of a kind do not take the id of another', async () => {
    const input = { '~standard': { validate: (value: unknown) => ({ value }) } }
    const { tasks, topic, commit } = fixture.fixture
    const add = (verb: 'schedule' | 'scheduleOne', name: string): Promise<unknown> =>
      commit<unknown>((transaction) =>
        codeOf(() => typedTasks(tasks, { name, topic, input })[verb](transaction, { id: 'daily', timer: 'daily', input: name })),
      )
    expect(await add('schedule', 'scan')).toBe('added')
    const before = await fixture.info('daily')
    for (const verb of ['schedule', 'scheduleOne'] as const) expect(await add(verb, 'send')).toBe('TIMER_DUPLICATE')
    expect(await fixture.info('daily')).toEqual(before)
  })
})
