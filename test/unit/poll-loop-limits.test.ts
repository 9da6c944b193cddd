/** A loop under the limits that all processes keep together: what it asks for, how long it sleeps, and what it gives back. */
import { TaskDecision, TaskError } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { bound } from '../../packages/task-processor/src/polling/limiter.ts'
import type { TaskLimiter } from '../../packages/task-processor/src/polling/limiter.ts'
import { tasksOf } from './answering.ts'
import { expectPauses, started } from './looping.ts'
import type { Looping } from './looping.ts'

const gone = new TaskError('DATABASE_UNAVAILABLE', 'gone')
const refused = new TaskError('ARGUMENT_INVALID', 'refused')
const succeed = (tasks: readonly HeldTask[]): Map<HeldTask, TaskDecision> =>
  new Map(tasks.map((task) => [task, TaskDecision.success()]))
const slotsAsked = ({ asked }: Looping): string[] => asked.filter((each) => each.startsWith('slots'))
const pass = async (loop: Looping, ms: number): Promise<void> => {
  for (let passed = 0; passed < ms; passed += 50) {
    loop.clock.pass(50)
    await loop.settled()
  }
}

beforeEach(() => {
  vi.spyOn(Math, 'random').mockReturnValue(0.5)
})
afterEach(() => {
  vi.restoreAllMocks()
})

describe('a topic whose total is taken by others', () => {
  test('is not polled, and asked for ever less often, up to every second; nobody is told that it is empty', async () => {
    const loop = await started({ total: 0, limiter: bound(1) })
    await expectPauses(loop, [250, 500, 1_000, 1_000])
    expect(slotsAsked(loop)).toHaveLength(5)
    expect(loop.asked.filter((asked) => asked.startsWith('poll'))).toEqual([])
    expect([loop.told, loop.slots]).toEqual([[], 0])
  })

  test('counts what this process holds of it, and has its slot of the limiter until the batch ends', async () => {
    const gate = Promise.withResolvers<void>()
    const handler = async (batch: readonly HeldTask[]): Promise<Map<HeldTask, TaskDecision>> => {
      await gate.promise
      return succeed(batch)
    }
    const loop = await started({ total: 1, size: 1, concurrency: 2, limiter: bound(2), handler }, ({ ready }) =>
      ready.push(...tasksOf('ab')),
    )
    expect(loop.asked).toEqual(['promoteDue', 'slots 0 of 1', 'poll 1', 'holdSlots', 'slots 1 of 2'])
    expect([loop.handled, loop.slots]).toEqual([['a'], 1])
    gate.resolve()
    await loop.settled()
    await pass(loop, 1_000)
    expect([loop.handled, loop.slots]).toEqual([['a', 'b'], 0])
  })
})

describe('a process whose slots were freed while it was stopped', () => {
  test('takes nothing, asks for slots at once, and tells nobody that the topic is empty', async () => {
    const loop = await started({ total: 2, size: 1 }, (looped) => {
      looped.ready.push(...tasksOf('a'))
      looped.slotsFreed = true
    })
    expect(loop.asked).toEqual(['promoteDue', 'slots 0 of 1', 'poll 1', 'holdSlots'])
    expect([loop.handled, loop.told]).toEqual([[], []])
    loop.slotsFreed = false
    await pass(loop, 50)
    expect(loop.asked.slice(4, 7)).toEqual(['slots 0 of 1', 'poll 1', 'holdSlots'])
    expect(loop.handled).toEqual(['a'])
  })
})

describe('a topic with a rate', () => {
  test('is polled for as many tasks as there are tokens, and again when the next one is there', async () => {
    const loop = await started({ tokens: 1 }, ({ ready }) => ready.push(...tasksOf('abc')))
    expect(loop.polls.map(({ size }) => size)).toEqual([1])
    expect([loop.handled, loop.clock.pauses.at(-1), loop.told.filter(([name]) => name === 'onEmpty')]).toEqual([['a'], 400, []])
    await pass(loop, 400)
    expect([loop.handled, loop.polls.map(({ size }) => size)]).toEqual([
      ['a', 'b'],
      [1, 1],
    ])
  })
})

describe('tokens of a poll', () => {
  test('that cannot be given back hold up nothing: what was polled is handled', async () => {
    const loop = await started({ tokens: 2 }, (looped) => {
      looped.ready.push(...tasksOf('a'))
      looped.keepsTokens = true
    })
    expect(loop.handled).toEqual(['a'])
    expect(loop.told.filter(([name]) => name === 'onError')).toEqual([])
  })

  test.each([
    ['was refused are given back, as it took nothing', refused, ['tokens 2', 'poll 2', 'give 2']],
    ['was not answered are not, as it may have taken tasks', gone, ['tokens 2', 'poll 2']],
  ])('that %s', async (_what, error, asked) => {
    const loop = await started({ tokens: 2 }, (looped) => {
      looped.onPoll = () => {
        throw error
      }
    })
    expect(loop.asked.filter((each) => !each.startsWith('promote')).slice(0, 3)).toEqual(asked)
  })
})

describe('slots that a loop does not use', () => {
  test('are given back while it waits long for a limiter, and it leaves no timer behind', async () => {
    const gates: PromiseWithResolvers<() => void>[] = []
    const limiter: TaskLimiter = {
      acquire: () => {
        const gate = Promise.withResolvers<() => void>()
        gates.push(gate)
        return gate.promise
      },
    }
    const loop = await started({ total: 1, limiter })
    gates[0]!.resolve(() => {})
    await loop.settled()
    expect(slotsAsked(loop)).toEqual(['slots 0 of 2'])
    loop.loop.wake()
    await loop.settled()
    loop.asked.splice(0)
    await pass(loop, 900)
    expect([gates.length, loop.asked]).toEqual([2, []])
    await pass(loop, 100)
    expect(loop.asked).toEqual(['slots 0 of 0'])
    gates[1]!.resolve(() => {})
    await loop.settled()
    const over = loop.loop.drain(() => {})
    await loop.settled()
    gates.at(-1)!.reject(new Error('drained'))
    await over
    const { length } = loop.clock.pauses
    await pass(loop, 3_000)
    expect(loop.clock.pauses).toHaveLength(length)
  })

  test('are not asked for, nor given back, by an owner whose lease is lost: others free them', async () => {
    const loop = await started({ total: 2, idleMs: 3_600_000 })
    loop.asked.splice(0)
    loop.holds = false
    await pass(loop, 5_000)
    expect(slotsAsked(loop)).toEqual([])
    expect(loop.clock.pauses).not.toContain(0)
    const late = await started({ total: 2 }, (one) => (one.onRelease = () => void (one.holds = false)))
    expect(late.asked).toEqual(['promoteDue'])
  })

  test('are given back once the database is there again, if it was away; that is told once', async () => {
    const loop = await started({ total: 2, idleMs: 3_600_000 })
    while (loop.clock.pauses.at(-1)! < 1_000) await pass(loop, 50)
    loop.asked.splice(0)
    loop.told.splice(0)
    loop.refusals.push(gone)
    await pass(loop, 1_000)
    expect(loop.told).toEqual([['onError', { activity: 'poll', topic: 'mail', error: gone }]])
    loop.loop.wake()
    await loop.settled()
    expect(loop.told.map(([name]) => name)).toEqual(['onError', 'onRecovered', 'onEmpty'])
  })

  test.each([
    ['refuses the poll', refused, ['slots 0 of 0']],
    ['is away', gone, []],
  ])('are given back if the database %s, as others may be allowed what this process is not', async (_, error, asked) => {
    const loop = await started({ total: 2 }, (one) => {
      one.onPoll = () => {
        throw error
      }
    })
    expect(slotsAsked(loop)).toEqual(['slots 0 of 2', ...asked])
  })
})

describe('batches in a transaction', () => {
  /** A loop that has found nothing by a lease, so that it begins transactions. */
  const trusting = async (options: Parameters<typeof started>[0], prepare?: (loop: Looping) => void): Promise<Looping> => {
    const loop = await started({ mode: 'transactional', ...options }, prepare)
    loop.asked.splice(0)
    loop.polls.splice(0)
    return loop
  }
  const held = async (options: Parameters<typeof started>[0]): Promise<{ loop: Looping; end(): Promise<void> }> => {
    const gate = Promise.withResolvers<void>()
    const handler = async (batch: readonly HeldTask[]): Promise<Map<HeldTask, TaskDecision>> => {
      await gate.promise
      return succeed(batch)
    }
    const loop = await trusting({ handler, ...options })
    loop.ready.push(...tasksOf('ab'))
    loop.loop.wake()
    await loop.settled()
    expect(loop.handled).toEqual(['a,b'])
    const end = async (): Promise<void> => {
      gate.resolve()
      await loop.settled()
    }
    return { loop, end }
  }
  const completed = ({ asked }: Looping): string[] => asked.filter((each) => each.startsWith('complete'))

  test('are polled as the topic is to be polled', async () => {
    const loop = await trusting({ poll: { order: 'fifo', condition: 'none' } })
    loop.loop.wake()
    await loop.settled()
    expect(loop.polls).toEqual([{ order: 'fifo', condition: 'none', size: 2, hold: 'transaction' }])
  })

  test('begin with as many tokens as there are, and give back what they do not need', async () => {
    const loop = await trusting({ size: 5, tokens: 3 })
    loop.ready.push(...tasksOf('a'))
    loop.loop.wake()
    await loop.settled()
    expect(loop.asked.slice(0, 3)).toEqual(['tokens 5', 'poll 3', 'give 2'])
    expect(loop.polls[0]).toMatchObject({ size: 3, hold: 'transaction' })
  })

  test('are not begun without a token', async () => {
    const loop = await trusting({ tokens: 0 })
    expect(loop.clock.pauses.at(-1)).toBe(400)
    await pass(loop, 400)
    expect([loop.asked.filter((asked) => !asked.startsWith('promote')), loop.clock.pauses.at(-1)]).toEqual([['tokens 2'], 400])
  })

  test('count under a total as long as the lease holds, and are rolled back once it was lost', async () => {
    const kept = await held({ total: 2 })
    await kept.end()
    expect(completed(kept.loop)).toEqual(['complete a,b'])
    const lost = await held({ total: 2 })
    lost.loop.holds = false
    await lost.end()
    expect(completed(lost.loop)).toEqual([])
    expect(lost.loop.told.at(-1)).toMatchObject(['onError', { error: { code: 'TASK_LOST' } }])
    // Others may have had the slots meanwhile.
    const regained = await held({ total: 2 })
    for (const batch of regained.loop.loop.batches) batch.abort(new TaskError('LEASE_LOST', 'lost'))
    await regained.end()
    expect([completed(regained.loop), regained.loop.told.at(-1)?.[0]]).toEqual([[], 'onReturned'])
  })

  test('without a total need no lease', async () => {
    const { loop, end } = await held({})
    loop.holds = false
    for (const batch of loop.loop.batches) batch.abort(new TaskError('LEASE_LOST', 'lost'))
    await end()
    expect(completed(loop)).toEqual(['complete a,b'])
  })
})

test.each([
  [1, /^A task has failed/],
  [2, /^2 tasks have failed/],
])('that %d tasks cannot be reached any more is told when due tasks are looked for', async (unreachable, message) => {
  const loop = await started({}, (one) => (one.due = { promoted: 0, unreachable }))
  const [, event] = loop.told.find(([name]) => name === 'onError')!
  expect(event).toMatchObject({ activity: 'promoteDue', topic: 'mail', error: { code: 'TASK_UNREACHABLE' } })
  const error = event['error'] as TaskError
  expect([error.message, error.data]).toEqual([expect.stringMatching(message), { topic: 'mail', count: unreachable }])
})
