/** A task that is put off again and again says who does that. */
import { TaskDecision } from '@taskstream/task-api'
import type { Diagnosis } from '@taskstream/task-api'
import { expect, test } from 'vitest'
import { testClock } from '../test-clock.ts'
import { part } from './engine.ts'
import type { Part } from './engine.ts'
import { useFixture } from './fixture.ts'

/** The release that a repository takes from the environment, if there is one. */
const release = process.env['TASKSTREAM_RELEASE'] || process.env['npm_package_version']

export const putOff: Part = part('the question why a task is put off', (engine) => {
  const clock = testClock(new Date('2026-01-01T00:00:00.000Z'))
  const fixture = useFixture(engine, { clock: clock.now })
  const { retry, snooze } = TaskDecision

  const why = (sequence: number): Promise<Diagnosis> =>
    fixture.commit<Diagnosis>((transaction) => fixture.tasks.why(transaction, fixture.topic, sequence))

  test('is answered by who did so last, how often and why, until the task is tried', async () => {
    const { sequence } = (await fixture.push('a'))[0]!
    const decided = async (decision: TaskDecision): Promise<Diagnosis> => {
      await fixture.complete(await fixture.poll(1), decision)
      const told = await why(sequence)
      clock.advance(1_000)
      await fixture.commit((transaction) => fixture.tasks.promoteDue(transaction, fixture.topic))
      return told
    }
    const { owner } = fixture.tasks
    const report = { kind: 'node', host: 'h', pid: 1, leaseMs: 30_000, topics: [{ topic: fixture.topic }] } as const
    await fixture.commit((transaction) => fixture.tasks.report(transaction, report))
    await decided(snooze({ afterMs: 1_000 }, 'too new'))
    expect(await decided(snooze({ afterMs: 1_000 }, 'still too new'))).toMatchObject({
      code: 'delayed',
      putOff: { times: 2, owner, explanation: 'still too new', ...(release !== undefined && { release }) },
      // Made ready now, it would be put off again.
      remedies: [],
    })
    // It waits for nobody now.
    expect((await why(sequence)).putOff).toBeUndefined()
    const tried = await decided(retry({ afterMs: 1_000 }, 'no money'))
    expect([tried.code, tried.putOff, tried.last?.error]).toEqual(['retrying', undefined, 'no money'])
    expect(await decided(snooze({ afterMs: 1_000 }, 'busy'))).toMatchObject({
      code: 'retrying',
      putOff: { times: 3, explanation: 'busy' },
      last: { error: 'no money' },
    })
    // Without a word of explanation there is nothing to tell.
    expect((await decided(snooze({ afterMs: 1_000 }))).putOff).toBeUndefined()
  })
})
