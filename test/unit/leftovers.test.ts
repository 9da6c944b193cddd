/** What is held and answered for by no batch: when it is tried again, and when the database is asked what there is that nobody knows of. */
import { TaskError } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import { testClock } from '@taskstream/task-testing'
import type { TestClock } from '@taskstream/task-testing'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { Leftovers } from '../../packages/task-processor/src/batches/leftovers.ts'
import { answering, tasksOf } from './answering.ts'
import type { Answering } from './answering.ts'

const refused = new TaskError('ARGUMENT_INVALID', 'refused')
const gone = new TaskError('DATABASE_UNAVAILABLE', 'gone')
const busy = new TaskError('DATABASE_BUSY', 'locked', { shortOf: 'lock' })

describe('leftovers', () => {
  let answers: Answering
  let clock: TestClock
  let leftovers: Leftovers<object>
  beforeEach(() => {
    // Half of what chance may take from a pause.
    vi.spyOn(Math, 'random').mockReturnValue(0.5)
    answers = answering()
    clock = testClock(new Date())
    // By no clock it is nought.
    clock.advance(5)
    const { dispatcher, environment, listener } = answers
    leftovers = new Leftovers({ repository: environment.repository, dispatcher, listener, clock })
  })
  afterEach(() => {
    vi.restoreAllMocks()
  })

  const refuse = (error: unknown = refused): void => {
    answers.answer = () => {
      throw error
    }
  }
  const allow = (): void => {
    answers.answer = () => {}
  }

  describe('that are known', () => {
    test('are none where nothing was left', async () => {
      leftovers.add('mail', [])
      expect([leftovers.of('mail'), leftovers.pauseMs('mail')]).toEqual([[], Infinity])
      await leftovers.handBack('mail')
      await leftovers.tidy()
      expect(answers.asked).toEqual([])
    })

    test('are tried again after pauses that grow to ten seconds, and told of once', async () => {
      const tasks = tasksOf('ab')
      refuse()
      leftovers.add('mail', tasks)
      expect([leftovers.of('mail'), leftovers.pauseMs('mail'), leftovers.pauseMs('post')]).toEqual([tasks, 75, Infinity])
      const pauses: number[] = []
      for (let count = 0; count < 9; count++) {
        await leftovers.handBack('mail')
        pauses.push(leftovers.pauseMs('mail'))
      }
      expect(pauses).toEqual([150, 300, 600, 1_200, 2_400, 4_800, 7_500, 7_500, 7_500])
      clock.advance(7_000)
      expect(leftovers.pauseMs('mail')).toBe(500)
      clock.advance(1_000)
      expect(leftovers.pauseMs('mail')).toBe(0)
      expect(answers.told).toEqual([['onError', { activity: 'complete', topic: 'mail', error: refused }]])
      expect([leftovers.of('mail'), tasks.map((task) => leftovers.wasReturned(task))]).toEqual([tasks, [false, false]])
    })

    test('are tried once each time, without a pause, when the database is away', async () => {
      refuse(gone)
      leftovers.add('mail', tasksOf('ab'))
      let over = false
      void leftovers.handBack('mail').then(() => (over = true))
      await new Promise((resolve) => setImmediate(resolve))
      expect([over, answers.asked]).toEqual([true, ['hand back a,b']])
      expect(answers.told).toEqual([['onError', { activity: 'complete', topic: 'mail', error: gone }]])
      expect(leftovers.of('mail')).toHaveLength(2)
    })

    test('are told of again, and are so no more, when they could be handed back', async () => {
      const [a, b] = tasksOf('ab') as [HeldTask, HeldTask]
      refuse()
      leftovers.add('mail', [a])
      leftovers.add('mail', [b])
      // Two in a row.
      expect(leftovers.pauseMs('mail')).toBe(150)
      await leftovers.handBack('mail')
      allow()
      answers.asked.splice(0)
      await leftovers.handBack('mail')
      expect(answers.asked).toEqual(['hand back a,b'])
      expect(answers.told.map(([name]) => name)).toEqual(['onError', 'onReturned', 'onRecovered'])
      expect(answers.told[1]).toEqual(['onReturned', { topic: 'mail', tasks: [a, b] }])
      expect(answers.told[2]).toEqual(['onRecovered', { activity: 'complete', topic: 'mail' }])
      expect([leftovers.of('mail'), leftovers.pauseMs('mail')]).toEqual([[], Infinity])
      expect([a, b].map((task) => leftovers.wasReturned(task))).toEqual([true, true])
      await leftovers.handBack('mail')
      expect(answers.asked).toHaveLength(1)
      // Together they are no single statement.
      expect(new Set(answers.begun)).toEqual(new Set(['transaction']))
    })

    test('are no more when they were lost, and were not handed back then', async () => {
      const [a, b] = tasksOf('ab') as [HeldTask, HeldTask]
      leftovers.add('mail', [a, b])
      answers.answer = () => [a]
      await leftovers.handBack('mail')
      expect([leftovers.of('mail'), leftovers.wasReturned(a), leftovers.wasReturned(b)]).toEqual([[], false, true])
    })

    test('stay, each by itself, as long as it cannot be written', async () => {
      const [a, b, c] = tasksOf('abc') as [HeldTask, HeldTask, HeldTask]
      leftovers.add('mail', [a, b, c])
      answers.answer = (_, names) => {
        if (names.includes('b')) throw refused
      }
      await leftovers.handBack('mail')
      expect([leftovers.of('mail'), leftovers.pauseMs('mail')]).toEqual([[b], 150])
      answers.asked.splice(0)
      await leftovers.handBack('mail')
      expect(answers.asked).toEqual(['hand back b'])
      expect([leftovers.wasReturned(a), leftovers.wasReturned(b)]).toEqual([true, false])
      expect(answers.told.filter(([name]) => name === 'onError')).toHaveLength(1)
    })

    test('are asked for once, by however many at a time, and by the node of its own accord', async () => {
      leftovers.add('mail', tasksOf('a'))
      leftovers.add('post', tasksOf('b'))
      await Promise.all([leftovers.handBack('mail'), leftovers.handBack('mail'), leftovers.tidy()])
      expect(answers.asked.toSorted()).toEqual(['hand back a', 'hand back b of post'])
      // Left again, they are tried again.
      refuse()
      leftovers.add('mail', tasksOf('c'))
      await leftovers.handBack('mail')
      await leftovers.handBack('mail')
      expect(answers.asked.slice(2)).toEqual(['hand back c', 'hand back c'])
    })
  })

  describe('that nobody knows of', () => {
    test('are none where every poll was answered', () => {
      expect(leftovers.isDoubted('mail')).toBe(false)
    })

    /** Nothing is asked for before so long, and then it is. */
    const expectPause = (ms: number): void => {
      clock.advance(ms - 1)
      expect([leftovers.isDoubted('mail'), ms]).toEqual([false, ms])
      clock.advance(1)
      expect([leftovers.isDoubted('mail'), ms]).toEqual([true, ms])
    }

    test('are asked for at once, and then, as a commit may come late, ever less often: down to every ten minutes', async () => {
      leftovers.doubt('mail')
      expect([leftovers.isDoubted('mail'), leftovers.isDoubted('post')]).toEqual([true, false])
      for (const ms of [...Array.from({ length: 10 }, (_, index) => 1_000 * 2 ** index), 600_000, 600_000]) {
        await leftovers.reclaim('mail', [])
        expectPause(ms)
      }
      // A poll that goes unanswered then is another.
      leftovers.doubt('mail')
      await leftovers.reclaim('mail', [])
      expectPause(1_000)
    })

    test('are all but what is known, and what is left', async () => {
      leftovers.add('mail', tasksOf('bc'))
      leftovers.add('post', tasksOf('d'))
      await leftovers.reclaim('mail', tasksOf('a'))
      expect(answers.asked).toEqual(['reclaim mail but a,b,c'])
      expect(leftovers.isDoubted('mail')).toBe(false)
    })

    test('are asked for by one at a time, who may take ten minutes', async () => {
      leftovers.doubt('mail')
      const asking = leftovers.reclaim('mail', [])
      expectPause(600_000)
      await asking
    })

    test.each([
      ['at once when the database was away', gone, 0],
      ['in ten seconds when it is busy', busy, 10_000],
      ['in ten seconds when they cannot be written', refused, 10_000],
    ])('are asked for again %s', async (_, error, ms) => {
      leftovers.doubt('mail')
      refuse(error)
      await expect(leftovers.reclaim('mail', [])).rejects.toBe(error)
      if (ms === 0) expect(leftovers.isDoubted('mail')).toBe(true)
      else expectPause(ms)
      // That was no answer, and is not counted as one.
      allow()
      await leftovers.reclaim('mail', [])
      expectPause(1_000)
    })

    test('are asked for by the node, once, in topics that nobody polls', async () => {
      for (const topic of ['mail', 'post', 'late']) leftovers.doubt(topic)
      await leftovers.enter('post')
      // Somebody asked a moment ago.
      await leftovers.reclaim('late', tasksOf('l'))
      await leftovers.tidy()
      await leftovers.tidy()
      expect(answers.asked).toEqual(['reclaim late but l', 'reclaim mail but '])
      expect(['mail', 'post', 'late'].map((topic) => leftovers.isDoubted(topic))).toEqual([false, true, false])
      clock.advance(1_000)
      leftovers.leave('post')
      await leftovers.tidy()
      expect(answers.asked).toHaveLength(4)
      clock.advance(600_000)
      await leftovers.tidy()
      expect(answers.asked).toHaveLength(4)
    })

    test('are asked for until none is left, as some may be locked, or they may be too many for one answer', async () => {
      leftovers.doubt('mail')
      const counts = [3, 1, 0, 7]
      const { environment, dispatcher, listener } = answers
      const repository = { ...environment.repository, reclaim: async () => counts.shift()! } as typeof environment.repository
      leftovers = new Leftovers({ repository, dispatcher, listener, clock })
      await leftovers.reclaim('mail', [])
      expect(counts).toEqual([7])
    })

    test.each([
      ['until somebody can tell, where others have locked them', busy, false, 4],
      ['once more by a stop whose time is over', busy, true, 1],
      ['once by a stop, where they cannot be written', refused, false, 1],
    ])('are asked for %s', async (_, error, isOver, times) => {
      leftovers.doubt('mail')
      refuse(error)
      const settling = leftovers.settle('mail', [], () => isOver)
      for (let count = 1; count < times; count++) {
        await new Promise((resolve) => setImmediate(resolve))
        expect(answers.asked).toHaveLength(count)
        if (count === times - 1) allow()
        clock.advance(1_000)
      }
      await settling
      expect(answers.asked).toHaveLength(times)
      // The failure is told once, and maintenance goes on where it is still one.
      expect(answers.told).toEqual([['onError', { activity: 'poll', topic: 'mail', error }]])
      allow()
      clock.advance(600_000)
      await leftovers.tidy()
      expect(answers.asked).toHaveLength(times === 1 ? 2 : times)
    })

    test('are asked for by the node again where that has failed', async () => {
      leftovers.doubt('mail')
      refuse(gone)
      await expect(leftovers.tidy()).rejects.toBe(gone)
      await expect(leftovers.tidy()).rejects.toBe(gone)
      expect(answers.asked).toHaveLength(2)
      // Nobody waits for what has failed.
      await leftovers.enter('mail')
    })

    test('are left to whoever polls the topic, until the last of several does no more', async () => {
      leftovers.doubt('mail')
      await leftovers.enter('mail')
      await leftovers.enter('mail')
      await leftovers.enter('mail')
      leftovers.leave('mail')
      leftovers.leave('mail')
      await leftovers.tidy()
      expect(answers.asked).toEqual([])
      leftovers.leave('mail')
      await leftovers.tidy()
      expect(answers.asked).toHaveLength(1)
      // Who leaves that never came counts for nobody.
      leftovers.leave('mail')
      await leftovers.enter('mail')
      leftovers.doubt('mail')
      await leftovers.tidy()
      expect(answers.asked).toHaveLength(1)
    })

    test.each([undefined, gone])('are asked for to the end before somebody begins to poll: %s', async (failure) => {
      leftovers.doubt('mail')
      const answered = Promise.withResolvers<number>()
      const { environment, dispatcher, listener } = answers
      const repository = { ...environment.repository, reclaim: () => answered.promise } as typeof environment.repository
      leftovers = new Leftovers({ repository, dispatcher, listener, clock })
      leftovers.doubt('mail')
      const tidying = leftovers.tidy().catch(() => {})
      let entered = false
      const entering = leftovers.enter('mail').then(() => (entered = true))
      await leftovers.enter('post')
      await new Promise((resolve) => setImmediate(resolve))
      expect(entered).toBe(false)
      if (failure) answered.reject(failure)
      else answered.resolve(0)
      await tidying
      await entering
    })
  })
})
