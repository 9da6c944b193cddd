/** What a loop asks of the database, and what it does when that cannot be answered. */
import { TaskDecision, TaskError } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { namesOf, taskOf, tasksOf } from './answering.ts'
import { expectPauses, started } from './looping.ts'
import type { Looping } from './looping.ts'

const refused = new TaskError('ARGUMENT_INVALID', 'refused')
const gone = new TaskError('DATABASE_UNAVAILABLE', 'gone')
const busy = new TaskError('DATABASE_BUSY', 'locked', { shortOf: 'lock' })
const succeed = (tasks: readonly HeldTask[]): Map<HeldTask, TaskDecision> =>
  new Map(tasks.map((task) => [task, TaskDecision.success()]))

beforeEach(() => {
  vi.spyOn(Math, 'random').mockReturnValue(0.5)
})
afterEach(() => {
  vi.restoreAllMocks()
})

test('a loop knows for how long its polls have found nothing, and forgets it when it may not poll or finds something', async () => {
  const loop = await started({ idleMs: 1_000 })
  const pass = async (ms: number): Promise<number | undefined> => {
    loop.clock.pass(ms)
    await loop.settled()
    return loop.loop.emptyMs
  }
  expect(loop.loop.emptyMs).toBe(0)
  expect(await pass(5_000)).toBe(5_000)
  expect(await pass(5_000)).toBe(10_000)
  loop.ready.push(...tasksOf('a'))
  expect(await pass(5_000)).toBe(0)
  loop.onPoll = () => {
    throw gone
  }
  expect(await pass(5_000)).toBeUndefined()
  loop.onPoll = () => {}
  expect(await pass(10_000)).toBe(0)
  loop.quiet = true
  expect(await pass(5_000)).toBeUndefined()
})

test('a loop counts as empty only once a poll has found nothing since it was woken, or since a batch of it ended', async () => {
  const gate = Promise.withResolvers<void>()
  const loop = await started({ idleMs: 1_000 })
  const { loop: polling } = loop
  expect(polling.isEmpty).toBe(true)
  // Its tasks may be there already, and the poll is under way.
  loop.onPoll = () => gate.promise
  polling.wake()
  expect(polling.isEmpty).toBe(false)
  await loop.settled()
  expect([polling.isEmpty, polling.emptyMs]).toEqual([false, 0])
  loop.ready.push(...tasksOf('a'))
  gate.resolve()
  await loop.settled()
  expect([loop.handled, polling.batches.size, polling.isEmpty]).toEqual([['a'], 0, true])
  loop.quiet = true
  loop.clock.pass(5_000)
  await loop.settled()
  expect(polling.isEmpty).toBe(false)
})

describe('a poll that fails', () => {
  test('is repeated after pauses that grow to ten seconds, and told of once', async () => {
    const loop = await started({}, (one) => {
      one.onPoll = () => {
        throw gone
      }
    })
    await expectPauses(loop, [75, 150, 300, 600, 1_200, 2_400, 4_800, 7_500, 7_500])
    expect(loop.told).toEqual([['onError', { activity: 'poll', topic: 'mail', error: gone }]])
    loop.onPoll = () => {}
    loop.clock.pass(7_500)
    await loop.settled()
    expect(loop.told.slice(1)).toEqual([
      ['onRecovered', { activity: 'poll', topic: 'mail' }],
      ['onEmpty', { topic: 'mail' }],
    ])
    expect(loop.clock.pauses.at(-1)).toBe(87.5)
  })

  test('may have taken tasks: they are asked for before the next one, but for those that are known', async () => {
    const gate = Promise.withResolvers<void>()
    const loop = await started(
      { concurrency: 2, size: 1, handler: (batch) => gate.promise.then(() => succeed(batch)) },
      (one) => {
        one.ready.push(...tasksOf('ab'))
        one.onPoll = () => {
          if (one.polls.length === 2) throw gone
        }
      },
    )
    expect(loop.asked).toEqual(['promoteDue', 'poll 1', 'poll 1'])
    await expectPauses(loop, [75])
    expect(loop.asked.slice(3)).toEqual(['reclaim mail but a', 'poll 1'])
    expect(loop.handled).toEqual(['a', 'b'])
    gate.resolve()
    await loop.settled()
  })

  test('may have taken tasks, which a node that is quiet since lets go of, and polls no more', async () => {
    const loop = await started({}, (one) => {
      one.onPoll = () => {
        throw gone
      }
    })
    loop.quiet = true
    loop.asked.splice(0)
    for (let second = 0; second < 3; second++) {
      loop.clock.pass(1_000)
      await loop.settled()
    }
    expect(loop.asked).toEqual(['reclaim mail but '])
  })

  test.each([
    ['is another failure where the database is away', gone, false],
    ['keeps nobody from polling where the database is busy', busy, true],
    ['keeps nobody from polling where that is refused', refused, true],
  ])('and asking for what it took %s', async (_, error, polls) => {
    let failing = true
    const loop = await started({}, (one) => {
      one.onPoll = () => {
        if (failing) throw gone
      }
      one.answers.answer = (verb) => {
        if (verb === 'reclaim') throw error
      }
    })
    failing = false
    loop.asked.splice(0)
    loop.told.splice(0)
    loop.clock.pass(75)
    await loop.settled()
    expect(loop.asked).toEqual(['reclaim mail but ', ...(polls ? ['poll 2', 'promoteDue'] : [])])
    if (polls) expect(loop.told[0]).toEqual(['onError', { activity: 'poll', topic: 'mail', error }])
    else expect([loop.told, loop.clock.pauses.at(-1)]).toEqual([[], 150])
  })
})

describe('a topic', () => {
  const different = new TaskError('TOPIC_DIFFERENT', 'another order')

  test('is polled by one statement, as long as it has no order and no condition', async () => {
    const loop = await started({ poll: {} }, (one) => one.ready.push(...tasksOf('a')))
    expect(loop.polls[0]).toEqual({ size: 2, order: 'fifo', condition: 'none' })
    // release, poll, complete
    expect(loop.begun.slice(0, 3)).toEqual(['transaction', 'autocommit', 'autocommit'])
  })

  test.each([{ order: 'lifo' }, { condition: 'singular-by-identifier' }] as const)(
    'is polled in a transaction with %o',
    async (poll) => {
      const loop = await started({ poll }, (one) => one.ready.push(...tasksOf('a')))
      expect(loop.polls[0]).toEqual({ size: 2, ...poll })
      expect(loop.asked).toEqual(['promoteDue', 'poll 2', 'complete a', 'poll 2', 'promoteDue'])
      expect(new Set(loop.begun)).toEqual(new Set(['transaction', 'transaction']))
    },
  )

  test.each([{}, { order: 'fifo' }, { condition: 'none' }] as const)(
    'that has an order, which nobody said, is polled once more, and by it from then on: %o',
    async (poll) => {
      const loop = await started({ poll }, (one) => {
        one.ready.push(...tasksOf('ab'))
        one.onPoll = () => {
          if (one.polls.length === 1) throw different
        }
      })
      expect(loop.polls.slice(0, 3)).toEqual([
        { size: 2, order: 'fifo', condition: 'none' },
        { size: 2, ...poll },
        { size: 2, ...poll },
      ])
      expect(loop.asked.slice(0, 4)).toEqual(['promoteDue', 'poll 2', 'poll 2', 'complete a,b'])
      expect(loop.begun.slice(0, 4)).toEqual(['transaction', 'autocommit', 'transaction', 'transaction'])
      expect(loop.told.map(([name]) => name)).toEqual(['onComplete', 'onEmpty'])
    },
  )

  test('that is another than was said is polled in vain, and has taken nothing', async () => {
    const loop = await started({ poll: { order: 'fifo', condition: 'none' } }, (one) => {
      one.onPoll = () => {
        throw different
      }
    })
    expect(loop.asked).toEqual(['promoteDue', 'poll 2'])
    expect(loop.told).toEqual([['onError', { activity: 'poll', topic: 'mail', error: different }]])
    await expectPauses(loop, [75])
    expect(loop.asked).toEqual(['promoteDue', 'poll 2', 'poll 2'])
  })

  test('is polled for what it is to be polled for', async () => {
    const loop = await started({ poll: { includeIdentifiers: ['a'] } as never })
    expect(loop.polls[0]).toMatchObject({ includeIdentifiers: ['a'] })
  })
})

describe('small batches', () => {
  test.each([
    [1, 2_100, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_000, 77]],
    [300, 8, [300, 600, 900, 600]],
    [600, 3, [600, 600, 600]],
  ])('of %d are polled up to a thousand tasks at a time, and of larger ones one', async (size, concurrency, sizes) => {
    for (const poll of [{}, { order: 'lifo' as const }]) {
      const loop = await started({ size, concurrency, poll, handler: () => new Promise(() => {}) }, (one) =>
        one.ready.push(...Array.from({ length: 3_000 }, (_, index) => taskOf(`t${index}`, index))),
      )
      expect(loop.polls.map((asked) => asked.size)).toEqual(sizes)
      expect(loop.loop.batches.size).toBe(concurrency)
    }
  })

  test('are polled ever more at a time, and one where few came', async () => {
    const gate = Promise.withResolvers<void>()
    const loop = await started({ size: 1, concurrency: 8, handler: (batch) => gate.promise.then(() => succeed(batch)) })
    expect(loop.polls.map(({ size }) => size)).toEqual([1])
    loop.ready.push(...tasksOf('abcdefg'))
    loop.loop.wake()
    await loop.settled()
    expect(loop.polls.slice(1).map(({ size }) => size)).toEqual([1, 2, 4, 1])
    gate.resolve()
    await loop.settled()
    loop.polls.splice(0)
    loop.ready.push(...tasksOf('abcd'))
    loop.loop.wake()
    await loop.settled()
    expect(loop.polls.map(({ size }) => size)).toEqual([1, 2, 4, 1])
    expect(loop.handled.slice(-4)).toEqual(['a', 'b', 'c', 'd'])
  })
})

describe('batches in a transaction', () => {
  /** Which polls hold what they bring by the transaction alone. */
  const holds = ({ polls }: Looping): string[] => polls.map(({ hold = 'lease' }) => hold)

  test('are taken by a lease at first, as many tasks as make one', async () => {
    const loop = await started({ mode: 'transactional' }, (one) => one.ready.push(...tasksOf('abcd')))
    expect(holds(loop)).toEqual(['lease', 'transaction', 'transaction'])
    const few = await started({ mode: 'transactional' }, (one) => {
      one.onPoll = () => {
        if (one.polls.length <= 3) one.ready.push(taskOf(`t${one.polls.length}`))
      }
    })
    expect([holds(few), few.handled]).toEqual([
      ['lease', 'lease', 'transaction', 'transaction'],
      ['t1', 't2', 't3'],
    ])
  })

  test('are trusted where there was nothing to take by a lease', async () => {
    const loop = await started({ mode: 'transactional' })
    const batches: number[] = []
    loop.onPoll = async () => {
      await new Promise((resolve) => setImmediate(resolve))
      batches.push(loop.loop.batches.size)
    }
    loop.loop.wake()
    await loop.settled()
    expect(holds(loop)).toEqual(['lease', 'transaction'])
    // What is under way may have to be given up.
    expect([batches, loop.loop.batches.size]).toEqual([[1], 0])
    loop.told.splice(0)
    loop.ready.push(...tasksOf('a'))
    loop.loop.wake()
    await loop.settled()
    expect(loop.told.map(([name]) => name)).toEqual(['onComplete', 'onEmpty'])
  })

  test('are taken by a lease after one was rolled back, as many tasks as there may have been', async () => {
    const loop = await started({
      mode: 'transactional',
      size: 1,
      concurrency: 3,
      handler: (batch) => {
        if (namesOf(batch) === 'a') throw new Error('rolled back')
        return succeed(batch)
      },
    })
    expect(holds(loop)).toEqual(['lease'])
    loop.polls.splice(0)
    loop.ready.push(...tasksOf('abcdef'))
    loop.loop.wake()
    await loop.settled()
    expect(loop.handled).toEqual([...'abcdef'])
    expect(holds(loop)).toEqual(['transaction', 'lease', 'lease', 'lease', 'transaction', 'transaction', 'transaction'])
    expect(loop.loop.batches.size).toBe(0)
  })

  test('of which the poll fails are no batches, and repeated as others are', async () => {
    const loop = await started({ mode: 'transactional', size: 1 })
    loop.onPoll = () => {
      throw gone
    }
    loop.loop.wake()
    await loop.settled()
    expect([loop.loop.batches.size, loop.clock.pauses.at(-1)]).toEqual([0, 75])
    loop.onPoll = () => {}
    loop.ready.push(...tasksOf('a'))
    loop.clock.pass(75)
    await loop.settled()
    expect([loop.handled, holds(loop)]).toEqual([['a'], ['lease', 'transaction', 'transaction', 'transaction']])
    expect(loop.asked).not.toContain('reclaim mail but ')
  })
})
