/** A loop polls no more than there is room for, and ends when it is asked to. */
import { TaskDecision, TaskError } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { bound } from '../../packages/task-processor/src/polling/limiter.ts'
import { namesOf, tasksOf } from './answering.ts'
import { expectPauses, looping, started } from './looping.ts'

const gone = new TaskError('DATABASE_UNAVAILABLE', 'gone')
const succeed = (tasks: readonly HeldTask[]): Map<HeldTask, TaskDecision> =>
  new Map(tasks.map((task) => [task, TaskDecision.success()]))

beforeEach(() => {
  vi.spyOn(Math, 'random').mockReturnValue(0.5)
})
afterEach(() => {
  vi.restoreAllMocks()
})

describe('a handler that runs on after its time', () => {
  test.each([1, 2])('takes a place among %d until it ends, and its batch does not', async (concurrency) => {
    const gate = Promise.withResolvers<void>()
    const loop = await started({
      size: 1,
      concurrency,
      timeoutMs: 5_000,
      handler: async (batch) => {
        if (namesOf(batch) !== 'b') await gate.promise
        return succeed(batch)
      },
    })
    loop.ready.push(...tasksOf('a'))
    loop.loop.wake()
    await loop.settled()
    loop.asked.splice(0)
    loop.clock.pass(6_000)
    await loop.settled()
    expect([loop.asked[0], loop.loop.batches.size]).toEqual(['complete a', 0])
    loop.asked.splice(0)
    loop.ready.push(...tasksOf('b'))
    loop.loop.wake()
    await loop.settled()
    expect(loop.asked).toEqual(concurrency === 1 ? [] : ['poll 1', 'complete b', 'poll 1', 'promoteDue'])
    gate.resolve()
    await loop.settled()
    expect(loop.handled).toEqual(['a', 'b'])
  })

  test('has made room for a batch, which is polled at once', async () => {
    const loop = await started({ size: 1, concurrency: 2, timeoutMs: 5_000, handler: () => new Promise(() => {}) }, (one) =>
      one.ready.push(...tasksOf('ab')),
    )
    loop.clock.pass(3_000)
    loop.asked.splice(0)
    loop.ready.push(...tasksOf('c'))
    // Both are given up, and neither ends.
    loop.clock.pass(3_000)
    await loop.settled()
    expect(loop.asked).toEqual(['complete a', 'complete b'])
    const other = await started({ size: 1, concurrency: 2, timeoutMs: 5_000, handler: () => new Promise(() => {}) }, (one) =>
      one.ready.push(...tasksOf('a')),
    )
    other.ready.push(...tasksOf('b'))
    other.clock.pass(3_000)
    other.loop.wake()
    await other.settled()
    other.asked.splice(0)
    other.ready.push(...tasksOf('c'))
    other.clock.pass(3_000)
    await other.settled()
    expect(other.handled).toEqual(['a', 'b', 'c'])
  })
})

describe('a slot of all processes', () => {
  test('is given back by a loop that sleeps, and taken again when it is woken', async () => {
    const loop = await started({ total: 2, idleMs: 3_600_000 })
    expect(loop.asked.splice(0)).toEqual(['promoteDue', 'slots 0 of 2', 'poll 2', 'promoteDue'])
    // Its sleeps grow, until one is longer than it may keep what it does not use.
    for (let tenths = 0; tenths < 60; tenths++) {
      loop.clock.pass(100)
      await loop.settled()
    }
    expect(loop.asked.at(-1)).toBe('slots 0 of 0')
    loop.asked.splice(0)
    loop.loop.wake()
    await loop.settled()
    expect(loop.asked).toEqual(['slots 0 of 2', 'poll 2', 'promoteDue'])
  })

  test.each([1, 0])(
    'is %d where two are wanted: a loop that has nothing to do is as quiet as one without a limit',
    async (total) => {
      const loop = await started({ total, idleMs: 3_600_000 })
      loop.asked.splice(0)
      for (let tenths = 0; tenths < 600; tenths++) {
        loop.clock.pass(100)
        await loop.settled()
      }
      const polls = loop.asked.filter((asked) => asked.startsWith('poll'))
      const asks = loop.asked.filter((asked) => asked.startsWith('slots'))
      expect(polls.length).toBeLessThan(10)
      expect(asks.length).toBeLessThan(total === 1 ? 20 : 70)
    },
  )
})

describe('a slot', () => {
  test.each(['leased', 'transactional'] as const)(
    'is held for a batch, and given back with it, or where nothing came, %s',
    async (mode) => {
      const gate = Promise.withResolvers<void>()
      const empty = await started({ mode, limiter: bound(1) })
      expect(empty.slots).toBe(0)
      empty.ready.push(...tasksOf('ab'))
      empty.loop.wake()
      await empty.settled()
      expect([empty.slots, empty.handled]).toEqual([0, ['a,b']])
      const loop = await started(
        { mode, limiter: bound(1), handler: (batch) => gate.promise.then(() => succeed(batch)) },
        (one) => one.ready.push(...tasksOf('a')),
      )
      expect(loop.slots).toBe(1)
      gate.resolve()
      await loop.settled()
      expect([loop.slots, loop.asked.at(-1)]).toEqual([0, 'promoteDue'])
    },
  )

  test('is given back by who has no lease any more when it comes, or by the time of the poll', async () => {
    const limiter = bound(1)
    const release = await limiter.acquire('post', new AbortController().signal)
    const loop = await started({ limiter })
    expect(loop.asked).toEqual([])
    loop.holds = false
    release()
    await loop.settled()
    expect([loop.slots, loop.asked, loop.clock.pauses]).toEqual([0, [], [1_000]])
    loop.holds = true
    loop.onRelease = () => {
      loop.holds = false
    }
    loop.loop.wake()
    await loop.settled()
    expect([loop.slots, loop.asked, loop.clock.pauses]).toEqual([0, ['promoteDue'], [1_000, 1_000]])
  })

  test('is given back by a poll that fails, and by one that a stop has overtaken', async () => {
    const loop = await started({ limiter: bound(1) }, (one) => {
      one.onPoll = () => {
        throw gone
      }
    })
    expect(loop.slots).toBe(0)
    await expectPauses(loop, [75])
    expect(loop.slots).toBe(0)
    let drained: Promise<void> | undefined
    loop.asked.splice(0)
    loop.onRelease = () => {
      drained = loop.loop.drain(() => {})
    }
    let over = false
    loop.clock.pass(1_000)
    await loop.settled()
    void drained!.then(() => (over = true))
    await loop.settled()
    expect(over).toBe(true)
    expect([loop.slots, loop.asked]).toEqual([0, ['promoteDue', 'reclaim mail but ']])
  })

  test('that nobody can say how many there are of ends the loop; one that is waited for does not keep it from ending', async () => {
    const error = new Error('no word of slots')
    const broken = await started({
      limiter: {
        acquire: () => {
          throw error
        },
      },
    })
    expect([broken.fatal, broken.asked]).toEqual([[error], []])
    broken.loop.wake()
    await broken.settled()
    expect(broken.fatal).toEqual([error])
    const limiter = bound(1)
    await limiter.acquire('post', new AbortController().signal)
    const loop = await started({ limiter })
    let over = false
    void loop.loop.drain(() => {}).then(() => (over = true))
    await loop.settled()
    expect(over).toBe(true)
    expect([loop.fatal, loop.asked, loop.slots]).toEqual([[], [], 0])
  })
})

describe('a loop', () => {
  test('is started once, and ends, asleep or not, as soon as it is asked to', async () => {
    const loop = looping()
    loop.loop.start()
    loop.loop.start()
    await loop.settled()
    expect(loop.asked).toEqual(['promoteDue', 'poll 2', 'promoteDue'])
    let over = false
    void loop.loop.drain(() => {}).then(() => (over = true))
    await loop.settled()
    expect([over, loop.asked.length, loop.fatal]).toEqual([true, 3, []])
  })

  test('that ends by something unforeseen says so', async () => {
    const error = new Error('a slot that cannot be given back')
    const loop = await started({
      limiter: {
        acquire: async () => () => {
          throw error
        },
      },
    })
    expect(loop.fatal).toEqual([error])
  })
})

describe('what a poll brings too late', () => {
  test('is handed back when the topic has been stopped, and that is told', async () => {
    const late: string[] = []
    let drained: Promise<void> | undefined
    const loop = await started({}, (one) => {
      one.ready.push(...tasksOf('ab'))
      one.onPoll = () => {
        drained = one.loop.drain((batch) => void late.push(namesOf(batch.tasks)))
      }
    })
    let over = false
    void drained!.then(() => (over = true))
    await loop.settled()
    expect(over).toBe(true)
    expect([loop.asked, late, loop.handled]).toEqual([['promoteDue', 'poll 2', 'hand back a,b'], ['a,b'], []])
    loop.loop.start()
    await loop.settled()
    expect(loop.asked).toHaveLength(3)
  })

  test('is handed back when the lease was lost, and nothing is polled until it holds', async () => {
    const loop = await started({}, (one) => {
      one.ready.push(...tasksOf('ab'))
      one.onPoll = () => {
        one.holds = false
      }
    })
    expect([loop.asked, loop.handled]).toEqual([['promoteDue', 'poll 2', 'hand back a,b'], []])
    loop.holds = true
    loop.onPoll = () => {}
    loop.loop.wake()
    await loop.settled()
    expect(loop.asked.slice(3)).toEqual(['poll 2', 'promoteDue'])
  })
})
