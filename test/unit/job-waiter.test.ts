/** One waiter looks for any number of jobs together: at once when this process has ended one, and less and less often otherwise. */
import { TaskError } from '@taskstream/task-api'
import type { TaskEnding, TaskKey } from '@taskstream/task-api'
import { beforeEach, describe, expect, test } from 'vitest'
import { JobWaiter } from '../../packages/taskstream/src/job-waiter.ts'
import type { Patience } from '../../packages/taskstream/src/job-waiter.ts'
import type { StreamDriver } from '../../packages/taskstream/src/stream-options.ts'
import { ringingClock } from './ringing-clock.ts'
import type { RingingClock } from './ringing-clock.ts'

describe('a waiter', () => {
  let clock: RingingClock
  /** The sequences of each look. */
  let looks: number[][]
  let ended: Map<number, Partial<TaskEnding>>
  let answer: () => void | Promise<void>
  let waiter: JobWaiter<object, 'async'>
  const late = (): TaskError => new TaskError('WAIT_TIMEOUT', 'late')
  const patience: Patience = { late }
  const settle = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))
  const wait = (sequence: number, more: Partial<Patience> = {}): Promise<unknown> =>
    waiter.wait({ topic: 'mail', which: sequence }, { ...patience, ...more }).then(
      (ending) => ending?.value ?? ending,
      (error: unknown) => error,
    )
  const pass = async (ms: number): Promise<void> => {
    clock.pass(ms)
    await settle()
  }

  beforeEach(() => {
    clock = ringingClock()
    looks = []
    ended = new Map()
    answer = () => {}
    const repository = {
      endings: async (_: object, tasks: readonly TaskKey[]) => {
        looks.push(tasks.map(({ sequence }) => sequence))
        await answer()
        return tasks.map((task) => ({ task, ended: false, ...ended.get(task.sequence) }))
      },
      task: async (_: object, topic: string, { externalId }: { externalId: string }) =>
        externalId === 'known' ? { topic, sequence: 7 } : undefined,
    }
    const transactions = async (work: (transaction: object) => unknown): Promise<unknown> => work({})
    waiter = new JobWaiter({ repository, transactions } as unknown as StreamDriver<object, 'async'>, clock)
  })

  test('looks at once, and then less and less often, up to once a second', async () => {
    void wait(1)
    await pass(0)
    expect(looks).toEqual([[1]])
    const pauses: number[] = []
    for (let number = 1; number < 12; number++) {
      const before = looks.length
      let waitedMs = 0
      while (looks.length === before) {
        await pass(1)
        waitedMs++
      }
      pauses.push(waitedMs)
    }
    expect(pauses).toEqual([50, 75, 113, 169, 254, 380, 570, 855, 1_000, 1_000, 1_000])
  })

  test('looks at all in one statement, and at those that come meanwhile in the next', async () => {
    const gate = Promise.withResolvers<void>()
    answer = () => gate.promise
    void wait(1)
    void wait(2)
    await pass(0)
    void wait(3)
    await pass(0)
    expect(looks).toEqual([[1, 2]])
    gate.resolve()
    await settle()
    await pass(0)
    expect(looks).toEqual([[1, 2], [3]])
    await pass(50)
    expect(looks.slice(2)).toEqual([[1, 2, 3]])
  })

  test('looks at once at a job that this process has ended, also while it looks', async () => {
    const first = wait(1)
    void wait(2)
    await pass(0)
    ended.set(1, { ended: true, value: '"done"' })
    waiter.completed([{ topic: 'mail', sequence: 1, identifier: 'a' }])
    await pass(0)
    expect(looks).toEqual([[1, 2], [1]])
    expect(await first).toBe('"done"')
    const gate = Promise.withResolvers<void>()
    answer = () => gate.promise
    const second = wait(3)
    await pass(0)
    // The look that is under way may have read the job before it ended.
    waiter.completed([{ topic: 'mail', sequence: 3, identifier: 'a' }])
    answer = () => {}
    gate.resolve()
    await settle()
    ended.set(3, { ended: true, value: '3' })
    await pass(0)
    expect(await second).toBe('3')
  })

  test('goes on with the job that goes on with the work', async () => {
    const waiting = wait(1)
    ended.set(1, { task: { topic: 'post', sequence: 9 } })
    await pass(0)
    ended.set(9, { ended: true, value: '9' })
    waiter.completed([{ topic: 'post', sequence: 9, identifier: 'a' }])
    await pass(0)
    expect([await waiting, looks]).toEqual(['9', [[1], [9]]])
  })

  test('looks an id up once; a job that is not there has no ending', async () => {
    const known = waiter.wait({ topic: 'mail', which: { externalId: 'known' } }, patience)
    const unknown = waiter.wait({ topic: 'mail', which: { externalId: 'unknown' } }, patience)
    await pass(0)
    expect(await unknown).toBeUndefined()
    ended.set(7, { ended: true, value: '7' })
    await pass(50)
    expect([await known, looks]).toMatchObject([{ value: '7' }, [[7], [7]]])
  })

  test('goes on looking when the database is away for a while, and hands on what else is wrong', async () => {
    const waiting = wait(1)
    answer = () => {
      throw new TaskError('DATABASE_UNAVAILABLE', 'gone')
    }
    await pass(0)
    answer = () => {
      throw new TaskError('PERMISSION_DENIED', 'no')
    }
    await pass(50)
    expect(await waiting).toMatchObject({ code: 'PERMISSION_DENIED' })
    expect(looks).toHaveLength(2)
  })

  test('waits no longer than is said, and until the signal', async () => {
    const controller = new AbortController()
    const [timed, aborted] = [wait(1, { timeoutMs: 120 }), wait(2, { signal: controller.signal })]
    await pass(119)
    controller.abort('enough')
    expect(await aborted).toBe('enough')
    await pass(1)
    expect(await timed).toMatchObject({ code: 'WAIT_TIMEOUT' })
    const before = looks.length
    // Nothing runs any more that would keep the process alive.
    await pass(10_000)
    expect(looks).toHaveLength(before)
    expect(await wait(3, { signal: controller.signal })).toBe('enough')
  })

  test('that is stopped ends all waiting', async () => {
    const both = [wait(1), wait(2)]
    waiter.stop(() => new TaskError('LIFECYCLE', 'stopped'))
    expect(await Promise.all(both)).toMatchObject([{ code: 'LIFECYCLE' }, { code: 'LIFECYCLE' }])
    await pass(10_000)
    expect(looks).toEqual([])
  })
})
