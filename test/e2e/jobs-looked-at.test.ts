/** Jobs are listed as what they are, and tried again by hand. */
import { codeOf } from '@taskstream/task-testing/suite'
import { defineJob, json, never, TaskDecision } from 'taskstream'
import type { JobInfo, JobRef } from 'taskstream'
import { describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import { useJobFixture } from './job-fixture.ts'

describe.skipIf(!canRun)('a job that has been pushed', () => {
  const fixture = useJobFixture()

  test('is listed with its state: one that waits for its time is delayed, or retrying if it was tried before', async () => {
    const job = defineJob('listed', { input: json<{ as: string }>(), tags: { kind: 'usual' }, retry: never })
    await using stream = fixture.streamOf()
    stream.handle(job, ({ input }) => {
      if (input.as === 'failed') throw new Error('it fails')
      return input.as === 'retrying' ? TaskDecision.retry({ afterMs: 3_600_000 }, 'later') : undefined
    })
    await stream.prepare(job)
    await fixture.commit(async (transaction) => {
      for (const as of ['succeeded', 'failed', 'retrying']) await stream.push(transaction, job, { as }, { id: as })
      await stream.push(transaction, job, { as: 'delayed' }, { id: 'delayed', delayMs: 3_600_000 })
      await stream.push(transaction, job, { as: 'suspended' }, { id: 'suspended', suspended: true })
      await stream.push(transaction, job, { as: 'filtered' }, { id: 'filtered' })
      await stream.cancel(transaction, job, 'filtered')
      // Nobody has pushed this as a job.
      await stream.tasks.push(transaction, 'listed', { identifier: 'x', input: '{', externalId: 'no JSON', suspended: true })
    })
    await stream.start()
    const list = (): Promise<JobInfo<'listed', { as: string }>[]> =>
      fixture.commit<JobInfo<'listed', { as: string }>[]>((transaction) => stream.list(transaction, job))
    await expect.poll(async () => (await list()).filter(({ state }) => state === 'ready' || state === 'active')).toEqual([])
    const found = await list()
    expect(found.slice(0, -1).map(({ id, state }) => [id, state])).toEqual(
      ['succeeded', 'failed', 'retrying', 'delayed', 'suspended', 'filtered'].map((state) => [state, state]),
    )
    for (const { id, input, tags } of found.slice(0, -1)) expect([input, tags]).toEqual([{ as: id }, { kind: 'usual' }])
    expect(found.at(-1)).toMatchObject({ id: 'no JSON', input: undefined, tags: {}, state: 'suspended' })
    expect(found[1]).toMatchObject({ tries: 1, key: undefined, output: expect.stringContaining('it fails') as unknown })
    expect(found[5]).toMatchObject({ reason: 'cancelled', tries: 0 })
    expect(found[2]!.due!.getTime()).toBeGreaterThan(found[2]!.created.getTime())
    const failed = await fixture.commit<JobInfo[]>((transaction) =>
      stream.list(transaction, job, { states: ['failed'], size: 10 }),
    )
    expect(failed.map(({ id }) => id)).toEqual(['failed'])
  })

  test('is tried again by its id or reference, with all its tries and a new deadline', async () => {
    const job = defineJob('tried-again', { input: json<number>(), retry: never, maxTries: 1, deadlineMs: 3_600_000 })
    let isMended = false
    await using stream = fixture.streamOf()
    stream.handle(job, () => {
      if (!isMended) throw new Error('not yet')
    })
    await stream.start()
    const ref = await stream.submit(job, 1, { id: 'a' })
    await expect.poll(() => fixture.states(job)).toEqual({ failed: 1 })
    const [before] = await fixture.page(job)
    isMended = true
    await stream.transaction((transaction) => stream.retry(transaction, job, ref))
    await expect.poll(() => fixture.states(job)).toEqual({ succeeded: 1 })
    const [after] = await fixture.page(job)
    expect(after).toMatchObject({ sequence: ref.sequence, tries: 1, attempt: 2 })
    expect(after!.deadline!.getTime()).toBeGreaterThanOrEqual(before!.deadline!.getTime())
  })

  test('is not tried again while it is ready, or if it does not exist', async () => {
    const job = defineJob('not-again')
    await using stream = fixture.streamOf()
    await stream.prepare(job)
    const ref: JobRef<'not-again'> = await stream.submit(job)
    const retry = (which: string): Promise<unknown> =>
      codeOf(() => fixture.commit((transaction) => stream.retry(transaction, job, which)))
    expect([await retry(ref.id), await retry('@999999'), await retry('nobody')]).toEqual([
      'TASK_STATE',
      'TASK_STATE',
      'TASK_STATE',
    ])
    const delayed = await stream.submit(job, undefined, { id: 'delayed', delayMs: 3_600_000 })
    await fixture.commit((transaction) => stream.retry(transaction, job, delayed))
    expect(await fixture.states(job)).toEqual({ ready: 2 })
  })
})
