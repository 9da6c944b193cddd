/** What a loop holds ahead of its handlers, where nobody has said how many batches it may hold. */
import { TaskDecision, TaskError } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import { describe, expect, test } from 'vitest'
import { bound } from '../../packages/task-processor/src/polling/limiter.ts'
import { namesOf, taskOf } from './answering.ts'
import { looping, started } from './looping.ts'
import type { Looping, LoopingOptions } from './looping.ts'

const succeed = (tasks: readonly HeldTask[]): Map<HeldTask, TaskDecision> =>
  new Map(tasks.map((task) => [task, TaskDecision.success()]))
const many = (count: number): HeldTask[] => Array.from({ length: count }, (_, index) => taskOf(`t${index}`, index))
const asDefault = { size: 100, concurrency: 2, mayHoldAhead: true } as const

const sizesOf = ({ polls }: Looping): number[] => polls.map(({ size }) => size!)
const completionsOf = ({ asked }: Looping): number[] =>
  asked.filter((one) => one.startsWith('complete ')).map((one) => one.split(',').length)

/** Handlers that go on when they are let, the first that waits first. */
function gated(): { handler: NonNullable<LoopingOptions['handler']>; waiting: (() => void)[]; begun: string[] } {
  const waiting: (() => void)[] = []
  const begun: string[] = []
  const handler: NonNullable<LoopingOptions['handler']> = async (batch, { signal }) => {
    begun.push(batch[0]!.identifier)
    await new Promise<void>((resolve) => {
      waiting.push(resolve)
      signal.addEventListener('abort', () => resolve())
    })
    return signal.aborted ? new Map() : succeed(batch)
  }
  return { handler, waiting, begun }
}

describe('of quick handlers', () => {
  test('a loop polls ahead, ever more until a thousand tasks, and completes what ends together by one statement', async () => {
    const loop = await started(asDefault, (one) => one.ready.push(...many(5_100)))
    const polls = sizesOf(loop)
    expect(polls.slice(0, 5)).toEqual([100, 200, 300, 600, 1_000])
    expect(Math.max(...polls)).toBe(1_000)
    expect(completionsOf(loop)).toEqual([100, 200, 300, 600, 1_000, 1_000, 1_000, 900])
    expect(new Set(loop.handled.map((names) => names.split(',').length))).toEqual(new Set([100]))
    expect(loop.handled.length).toBe(51)
  })

  test('batches begin in the order of their tasks', async () => {
    const loop = await started(asDefault, (one) => one.ready.push(...many(5_000)))
    expect(loop.handled.join(',')).toBe(namesOf(many(5_000)))
  })

  test.each<[string, LoopingOptions]>([
    ['a number of batches is given', { mayHoldAhead: false }],
    ['a slot is for one batch', { limiter: bound(5) }],
    ['a transaction is for one batch', { mode: 'transactional' }],
    ['tasks come by their priority', { poll: { order: 'priority', condition: 'none' } }],
    ['a number of tasks is all that processes may hold together', { total: 100_000 }],
    ['batches are large', { size: 500 }],
  ])('none is held ahead where %s', async (_, options) => {
    const most: number[] = []
    const { handler, waiting } = gated()
    const loop = looping({ ...asDefault, ...options, handler })
    loop.ready.push(...many(6_000))
    loop.loop.start()
    for (let round = 0; round < 12; round++) {
      await loop.settled()
      most.push([...loop.loop.batches].reduce((sum, { tasks }) => sum + tasks.length, 0))
      for (const go of waiting.splice(0)) go()
    }
    expect(Math.max(...most)).toBeLessThanOrEqual(2 * (options.size ?? 100))
    await loop.settled()
  })
})

const heldOf = ({ loop }: Looping): number => [...loop.batches].reduce((sum, { tasks }) => sum + tasks.length, 0)
const waitingOf = ({ loop }: Looping): number => [...loop.batches].filter(({ isWaiting }) => isWaiting).length
const returnedOf = ({ asked }: Looping): number => asked.filter((one) => one.startsWith('hand back')).length

/** A loop whose handlers were quick, until a thousand tasks are held. */
async function ahead(): Promise<ReturnType<typeof gated> & { loop: Looping; goOn: () => Promise<void> }> {
  const gate = gated()
  const loop = await started({ ...asDefault, handler: gate.handler }, (one) => one.ready.push(...many(10_000)))
  const goOn = async (): Promise<void> => {
    for (const go of gate.waiting.splice(0)) go()
    await loop.settled()
  }
  for (let round = 0; round < 50 && heldOf(loop) < 1_000; round++) await goOn()
  expect([heldOf(loop), waitingOf(loop)]).toEqual([1_000, 8])
  return { ...gate, loop, goOn }
}

describe('a slow handler', () => {
  test('holds no more ahead than it has handled lately', async () => {
    const { handler, waiting, begun } = gated()
    const loop = await started({ ...asDefault, handler }, (one) => one.ready.push(...many(10_000)))
    // Two handlers have a batch each, and nothing waits.
    expect([heldOf(loop), begun.length]).toEqual([200, 2])
    for (let round = 0; round < 20; round++) {
      loop.clock.pass(100)
      for (const go of waiting.splice(0)) go()
      await loop.settled()
      expect([heldOf(loop), waitingOf(loop)]).toEqual([200, 0])
    }
  })

  test('that was quick before has no more polled until there is no more than it handles now', async () => {
    const { loop, goOn } = await ahead()
    const polled = loop.polls.length
    loop.clock.pass(400)
    await goOn()
    loop.clock.pass(400)
    await goOn()
    expect([heldOf(loop), loop.polls.length]).toEqual([600, polled])
  })

  test('hands back what has waited for a second, unhandled and with its try, so that others may take it', async () => {
    const { loop, begun, goOn } = await ahead()
    const before = [...begun]
    const polled = loop.polls.length
    loop.clock.pass(999)
    await loop.settled()
    expect(returnedOf(loop)).toBe(0)
    loop.clock.pass(1)
    await loop.settled()
    expect([begun, returnedOf(loop), loop.loop.batches.size, loop.polls.length]).toEqual([before, 8, 2, polled])
    await goOn()
    expect([heldOf(loop), waitingOf(loop)]).toEqual([200, 0])
  })
})

describe('what is held ahead', () => {
  test('is handed back at once by a loop that is asked to end, while its handlers go on', async () => {
    const { loop, begun, goOn } = await ahead()
    const before = begun.length
    void loop.loop.drain(() => {})
    await loop.settled()
    expect([returnedOf(loop), loop.loop.batches.size, begun.length]).toEqual([8, 2, before])
    await goOn()
    expect([returnedOf(loop), loop.loop.batches.size, begun.length]).toEqual([8, 0, before])
  })

  test('is handed back once its lease is lost, and no handler begins', async () => {
    const { loop, begun } = await ahead()
    const before = begun.length
    loop.holds = false
    for (const batch of loop.loop.batches) batch.abort(new TaskError('LEASE_LOST', 'lost'))
    await loop.settled()
    expect([begun.length, loop.loop.batches.size]).toEqual([before, 0])
    loop.holds = true
    loop.loop.wake()
    await loop.settled()
    expect(begun.length).toBeGreaterThan(before)
  })

  test('goes on beside a batch whose handler throws, which fails its own tasks only', async () => {
    const loop = await started(
      {
        ...asDefault,
        handler: (batch) => {
          if (batch[0]!.identifier === 't700') throw new Error('in the middle')
          return succeed(batch)
        },
      },
      (one) => one.ready.push(...many(2_200)),
    )
    const failed = loop.told.filter(([name]) => name === 'onError')
    expect(failed.map(([, { tasks }]) => (tasks as HeldTask[]).map(({ identifier }) => identifier))).toEqual([
      many(2_200)
        .slice(700, 800)
        .map(({ identifier }) => identifier),
    ])
    expect(completionsOf(loop).reduce((sum, each) => sum + each, 0)).toBe(2_200)
    expect(completionsOf(loop)).toContain(100)
    expect(completionsOf(loop)).toContain(500)
  })

  test('is two thousand tasks at most, those included that wait for their completion', async () => {
    const answer = Promise.withResolvers<void>()
    const loop = looping(asDefault)
    loop.ready.push(...many(10_000))
    loop.onComplete = () => (loop.handled.length > 30 ? answer.promise : undefined)
    loop.loop.start()
    await loop.settled()
    expect(heldOf(loop)).toBe(2_000)
    answer.resolve()
    for (let round = 0; round < 5; round++) await loop.settled()
    expect([loop.handled.length, heldOf(loop)]).toEqual([100, 0])
  })
})
