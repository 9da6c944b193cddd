/** One look at all topics of a node: whom it asks about, whom it wakes, and that nobody waits for one that fails or takes long. */
import { setImmediate as turnOfEventLoop } from 'node:timers/promises'
import { TaskError } from '@taskstream/task-api'
import type { PeekedTopic, TransactionSource } from '@taskstream/task-api'
import { testClock } from '@taskstream/task-testing'
import type { TestClock } from '@taskstream/task-testing'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Dispatcher } from '../../packages/task-processor/src/core/dispatcher.ts'
import { safeListener } from '../../packages/task-processor/src/core/listener.ts'
import { SharedLook } from '../../packages/task-processor/src/polling/shared-look.ts'

const nothing: PeekedTopic = { ready: false, blocked: false }

interface Looking {
  readonly look: SharedLook<object>
  readonly clock: TestClock
  /** The topics that each look has asked about. */
  readonly asked: (readonly string[])[]
  /** What is in the topics. Those that are not here are empty. */
  readonly found: Map<string, PeekedTopic | undefined>
  readonly woken: string[]
  readonly told: string[]
  /** What a look does instead of answering. */
  instead: (() => Promise<never>) | undefined
  /** Sleeps, and returns what ends the sleep. */
  sleep(topic: string, idleMs?: number, dueMs?: number): () => number
  pass(ms: number): Promise<void>
}

// Pauses are not cut.
beforeEach(() => void vi.spyOn(Math, 'random').mockReturnValue(0))
afterEach(() => void vi.restoreAllMocks())

function looking(): Looking {
  const clock = testClock(new Date())
  const transactions: TransactionSource<object> = async (work) => work({})
  const asked: (readonly string[])[] = []
  const found = new Map<string, PeekedTopic | undefined>()
  const woken: string[] = []
  const told: string[] = []
  const repository = {
    limitStatements: async () => {},
    peek: async (_: object, topics: readonly string[]) => {
      asked.push(topics)
      if (made.instead) return made.instead()
      return new Map(
        topics.flatMap((topic) => {
          const seen = found.has(topic) ? found.get(topic) : nothing
          return seen ? [[topic, seen] as const] : []
        }),
      )
    },
  }
  const dispatcher = new Dispatcher({ repository, transactions, statementTimeoutMs: 60_000 })
  const listener = safeListener({
    onError: ({ activity, error }) => void told.push(`${activity}: ${(error as Error).message}`),
    onRecovered: ({ activity }) => void told.push(`${activity} works`),
  })
  const made: Looking = {
    look: new SharedLook<object>({ repository, dispatcher, listener, clock }),
    clock,
    asked,
    found,
    woken,
    told,
    instead: undefined,
    sleep: (topic, idleMs = 1_000, dueMs = Infinity) =>
      made.look.join({ topic, idleMs: () => idleMs, dueMs, wake: () => void woken.push(topic) }),
    pass: async (ms) => {
      clock.advance(ms)
      for (let turns = 0; turns < 5; turns++) await turnOfEventLoop()
    },
  }
  return made
}

test('all who sleep are asked about together, when the first of them has slept for its longest pause', async () => {
  const { sleep, pass, asked, woken } = looking()
  sleep('a')
  await pass(400)
  sleep('b')
  await pass(599)
  expect(asked).toEqual([])
  await pass(1)
  expect(asked).toEqual([['a', 'b']])
  await pass(1_000)
  expect(asked).toEqual([
    ['a', 'b'],
    ['a', 'b'],
  ])
  expect(woken).toEqual([])
})

test('whoever has slept for less than half of its pause is not asked about yet', async () => {
  const { sleep, pass, asked } = looking()
  sleep('often', 1_000)
  sleep('seldom', 30_000)
  await pass(1_000)
  expect(asked).toEqual([['often']])
  for (let count = 0; count < 13; count++) await pass(1_000)
  expect(asked.at(-1)).toEqual(['often'])
  await pass(1_000)
  expect(asked.at(-1)).toEqual(['often', 'seldom'])
})

test('pauses are up to a quarter shorter, and those who are asked together stay together', async () => {
  const { sleep, pass, asked } = looking()
  vi.mocked(Math.random).mockReturnValueOnce(1).mockReturnValueOnce(0.5)
  sleep('a')
  sleep('b')
  await pass(749)
  expect(asked).toEqual([])
  await pass(1)
  expect(asked).toEqual([['a', 'b']])
})

test.each<[string, PeekedTopic | undefined]>([
  ['has ready tasks', { ready: true, blocked: false }],
  ['has tasks that wait for others', { ready: false, blocked: true }],
  ['has a task that is due', { ready: false, blocked: false, nextDueMs: 0 }],
  ['is not there any more', undefined],
])('a loop is woken whose topic %s, and no other', async (_, seen) => {
  const { sleep, pass, found, woken, asked } = looking()
  sleep('a')
  sleep('b')
  found.set('b', seen)
  await pass(1_000)
  expect(woken).toEqual(['b'])
  found.clear()
  await pass(1_000)
  // It does not sleep any more.
  expect(asked.at(-1)).toEqual(['a'])
  expect(woken).toEqual(['b'])
})

test('a loop is woken when a task is due, as it knew, or as a look has found', async () => {
  const { sleep, pass, found, woken, clock } = looking()
  const leave = sleep('known', 1_000, 300)
  const leaveFound = sleep('found')
  const never = sleep('never')
  found.set('found', { ...nothing, nextDueMs: 250 })
  await pass(299)
  expect(woken).toEqual([])
  await pass(1)
  expect([woken, leave()]).toEqual([['known'], 300])
  await pass(700)
  await pass(249)
  expect(woken).toEqual(['known'])
  await pass(1)
  expect([woken, leaveFound(), clock.monotonicMs()]).toEqual([['known', 'found'], 1_250, 1_250])
  expect(never()).toBe(Infinity)
})

test('a loop that sleeps no longer is neither asked about nor woken, and a node whose loops are awake asks nothing', async () => {
  const { sleep, pass, found, woken, asked } = looking()
  const leave = sleep('a')
  sleep('b')
  found.set('a', { ready: true, blocked: false })
  leave()
  await pass(1_000)
  expect([asked, woken]).toEqual([[['b']], []])
  const alone = looking()
  alone.sleep('a')()
  await alone.pass(5_000)
  expect(alone.asked).toEqual([])
})

test('when a look fails, all who were asked about poll by themselves, and it is told unless polls fail in the same way', async () => {
  const made = looking()
  const { sleep, pass, woken, told } = made
  made.instead = () => Promise.reject(new TaskError('DATABASE_UNAVAILABLE', 'away'))
  sleep('a')
  sleep('b')
  await pass(1_000)
  expect([woken, told]).toEqual([['a', 'b'], []])
  made.instead = () => Promise.reject(new TaskError('PERMISSION_DENIED', 'not allowed'))
  for (let count = 0; count < 2; count++) {
    sleep('a')
    await pass(1_000)
  }
  expect([woken, told]).toEqual([['a', 'b', 'a', 'a'], ['poll: not allowed']])
  made.instead = undefined
  sleep('a')
  await pass(1_000)
  expect(told).toEqual(['poll: not allowed', 'poll works'])
})

test('nobody waits for more than a second for a look, nor for the next one while it is not answered', async () => {
  const made = looking()
  const { sleep, pass, woken, asked } = made
  const answer = Promise.withResolvers<never>()
  made.instead = () => answer.promise
  sleep('a', 2_000)
  await pass(2_000)
  sleep('b', 700)
  await pass(699)
  expect(woken).toEqual([])
  await pass(1)
  // No second look is begun.
  expect([woken, asked]).toEqual([['b'], [['a']]])
  await pass(299)
  expect(woken).toEqual(['b'])
  await pass(1)
  expect(woken).toEqual(['b', 'a'])
  // What comes late wakes nobody who sleeps anew, and looks go on.
  sleep('a', 600)
  answer.reject(new TaskError('DATABASE_BUSY', 'late'))
  await pass(0)
  expect(woken).toEqual(['b', 'a'])
  made.instead = undefined
  await pass(600)
  expect(asked).toEqual([['a'], ['a']])
})

test('a thousand topics are asked about at a time', async () => {
  const { sleep, pass, asked } = looking()
  for (let index = 0; index < 1_001; index++) sleep(`topic-${index}`)
  await pass(1_000)
  expect(asked.map(({ length }) => length)).toEqual([1_000, 1])
})

test('pauses follow a notifier that comes or goes', async () => {
  const { look, pass, asked } = looking()
  let idleMs = 1_000
  look.join({ topic: 'a', idleMs: () => idleMs, dueMs: Infinity, wake: () => {} })
  await pass(1_000)
  idleMs = 30_000
  await pass(1_000)
  await pass(29_999)
  expect(asked).toHaveLength(2)
  await pass(1)
  expect(asked).toHaveLength(3)
})

test('a repository that cannot look at several topics is never asked to', () => {
  const { look } = looking()
  expect(look.isAble).toBe(true)
  const options = { repository: {} as never, dispatcher: {} as never, listener: safeListener(), clock: testClock(new Date()) }
  expect(new SharedLook(options).isAble).toBe(false)
})
