/** What becomes of the tasks of a batch is written whatever goes wrong: what is tried instead, what is told, and what is left. */
import { TaskDecision, TaskError } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { completedEvent } from '../../packages/task-processor/src/batches/decisions.ts'
import { Patience } from '../../packages/task-processor/src/core/patience.ts'
import { answering, namesOf, tasksOf } from './answering.ts'
import type { Answering } from './answering.ts'
import { decide, event, open, refused, refusing, success, sun } from './completes.ts'

const locked = new TaskError('DATABASE_BUSY', 'locked', { shortOf: 'lock' })
const slow = new TaskError('DATABASE_BUSY', 'slow', { shortOf: 'time' })

describe('completing', () => {
  let answers: Answering
  let patience: Patience
  beforeEach(() => {
    // Half of what chance may take from a pause.
    vi.spyOn(Math, 'random').mockReturnValue(0.5)
    answers = answering()
    patience = new Patience(answers.clock)
  })
  afterEach(() => {
    vi.restoreAllMocks()
  })

  test('asks the database nothing about no tasks', async () => {
    const completing = open(answers, [])
    expect(await completing.complete(new Map(), patience)).toEqual({ completed: [], lost: [] })
    await completing.handBack([], patience)
    expect([answers.asked, answers.begun, answers.told]).toEqual([[], [], []])
  })

  test.each([
    [undefined, undefined, 'autocommit'],
    [['succeeded'], { discard: ['succeeded'] }, 'transaction'],
  ] as const)('discards what the topic discards (%j), in a transaction', async (discard, expected, begun) => {
    const given: unknown[] = []
    const { repository: below } = answers.environment
    const repository = {
      ...below,
      complete: async (...args: Parameters<typeof below.complete>) => {
        given.push(args[3])
        return below.complete(...args)
      },
    } as typeof below
    const tasks = tasksOf('ab')
    await open(answers, tasks, true, { repository, ...(discard && { discard }) }).complete(decide(tasks), patience)
    expect([given, answers.begun]).toEqual([[expected], [begun]])
  })

  test.each([
    ['a value', success.withValue('1')],
    ['a successor', success.withSuccessor({ topic: 'mail', sequence: 7 })],
    ['a failed attempt', TaskDecision.failure('no')],
    ['an attempt that is repeated', TaskDecision.retry({ afterMs: 1 })],
    ['a suspension', TaskDecision.suspension()],
  ])('writes a plain batch in a transaction if %s is kept of one of its tasks', async (_, decision) => {
    const tasks = tasksOf('ab')
    await open(answers, tasks, true).complete(new Map([...decide(tasks), [tasks[1]!, decision]]), patience)
    expect([answers.asked, answers.begun]).toEqual([['complete a,b'], ['transaction']])
  })

  test.each([true, false])(
    'writes a batch at once, and tells of what was completed and of what was lost; plain: %s',
    async (plain) => {
      const tasks = tasksOf('abc')
      const [a, b, c] = tasks as [HeldTask, HeldTask, HeldTask]
      const decisions = decide(tasks)
      const completing = open(answers, tasks, plain)
      answers.answer = () => [b]
      expect(await completing.complete(decisions, patience)).toEqual({ completed: [a, c], lost: [b] })
      expect(answers.told).toEqual([
        ['onComplete', completedEvent(event(tasks), { completed: [a, c], lost: [b] }, decisions)],
        ['onLost', event([b])],
      ])
      expect(answers.begun).toEqual([plain ? 'autocommit' : 'transaction'])
      expect([completing.finished, completing.returned, completing.undecided, completing.setback]).toEqual([
        [a, c],
        [],
        [],
        false,
      ])
      expect(completing.openOf(tasks)).toEqual([])
      expect(completing.openOf(tasksOf(''))).toEqual([])
    },
  )

  test('tells of no loss where nothing is lost, and of a loss where it is all', async () => {
    const tasks = tasksOf('ab')
    await open(answers, tasks).complete(decide(tasks), patience)
    expect(answers.told.map(([name]) => name)).toEqual(['onComplete'])
    answers.answer = () => tasks
    await open(answers, tasks).complete(decide(tasks), patience)
    expect(answers.told.slice(1)).toMatchObject([
      ['onComplete', { completion: { completed: [], lost: tasks } }],
      ['onLost', event(tasks)],
    ])
  })

  test('tells of what it has written itself, and is told to be lost then, no more', async () => {
    const tasks = tasksOf('abc')
    const [a, b, c] = tasks as [HeldTask, HeldTask, HeldTask]
    const completing = open(answers, tasks)
    completing.completed({ completed: [a], lost: [] }, decide([a]))
    answers.told.splice(0)
    // The same commit, as it looks when its answer was lost and it is tried again.
    expect(completing.completed({ completed: [], lost: [a] }, decide([a]))).toEqual({ completed: [], lost: [] })
    expect(answers.told).toEqual([])
    expect(completing.completed({ completed: [b], lost: [a, c] }, decide(tasks))).toEqual({ completed: [b], lost: [c] })
    expect(answers.told.map(([name, { tasks: some }]) => [name, namesOf(some as HeldTask[])])).toEqual([
      ['onComplete', 'a,b,c'],
      ['onLost', 'c'],
    ])
    expect(namesOf(completing.finished)).toBe('a,b')
    // Lost it is lost once.
    expect(completing.completed({ completed: [], lost: [c] }, decide([c]))).toEqual({ completed: [], lost: [] })
  })

  test('tells of a whole batch in its own order, and of one that was lost alone', async () => {
    const tasks = tasksOf('ab')
    await open(answers, tasks).complete(decide(tasks.toReversed()), patience)
    expect(answers.told).toMatchObject([['onComplete', event(tasks)]])
    const [a] = tasks as [HeldTask]
    answers.told.splice(0)
    answers.answer = () => [a]
    await open(answers, [a]).complete(decide([a]), patience)
    expect(answers.told).toMatchObject([
      ['onComplete', { completion: { completed: [], lost: [a] } }],
      ['onLost', event([a])],
    ])
  })

  test('hands back one task, and leaves it, without a word of an error to who asked, where that cannot be written', async () => {
    const tasks = tasksOf('a')
    const completing = open(answers, tasks)
    answers.answer = () => {
      throw refused
    }
    await completing.handBack(tasks, patience)
    expect(answers.asked).toEqual(['hand back a'])
    expect(answers.told).toEqual([['onError', { ...event(tasks), activity: 'complete', error: refused }]])
    expect([completing.undecided, completing.setback]).toEqual([tasks, true])
  })

  test('hands back what is still held, and tells of what was and of what is lost', async () => {
    const tasks = tasksOf('abcd')
    const [a, b, c, d] = tasks as [HeldTask, HeldTask, HeldTask, HeldTask]
    const completing = open(answers, tasks)
    await completing.complete(decide([a]), patience)
    answers.told.splice(0)
    answers.answer = () => [c]
    await completing.handBack(tasks, patience)
    expect(answers.asked.at(-1)).toBe('hand back b,c,d')
    expect(answers.told).toEqual([
      ['onReturned', event([b, d])],
      ['onLost', event([c])],
    ])
    expect([completing.returned, completing.undecided, completing.setback]).toEqual([[b, d], [], false])
    await completing.handBack(tasks, patience)
    expect(answers.asked).toHaveLength(2)
    answers.told.splice(0)
    answers.answer = () => []
    await open(answers, tasks).handBack(tasks, patience)
    expect(answers.told).toEqual([['onLost', event(tasks)]])
    answers.told.splice(0)
    const others = tasksOf('ab')
    await open(answers, others).handBack(others, patience)
    expect(answers.told).toEqual([['onReturned', event(others)]])
  })

  test('halves what cannot be written until the one is alone; it costs no neighbour, and is told of with its error', async () => {
    const tasks = tasksOf('abcdefg')
    const completing = open(answers, tasks)
    refusing(answers, 'f', (verb, decisions) => verb === 'complete' && [...decisions.values()].includes(success))
    await expect(completing.complete(decide(tasks), patience)).rejects.toBe(refused)
    expect(answers.asked).toEqual([
      'complete a,b,c,d,e,f,g',
      'complete a,b,c,d',
      'complete e,f,g',
      'complete e,f',
      'complete e',
      'complete f',
      // As failed.
      'complete f',
      'complete g',
    ])
    const told = answers.told.map(([name, { tasks: some }]) => [name, namesOf(some as HeldTask[])])
    expect(told).toEqual([
      ['onComplete', 'a,b,c,d'],
      ['onComplete', 'e'],
      ['onError', 'f'],
      ['onComplete', 'f'],
      ['onComplete', 'g'],
    ])
    expect(answers.told[2]![1]).toEqual({ ...event([tasks[5]!]), activity: 'complete', error: refused })
    expect(namesOf(completing.finished)).toBe('a,b,c,d,e,f,g')
    expect([completing.setback, completing.undecided, answers.pauses]).toEqual([false, [], []])
  })

  test('writes a message in ASCII that cannot be kept as it is, and nobody hears of it', async () => {
    const tasks = tasksOf('ab')
    const written: (string | undefined)[] = []
    answers.answer = (_, __, decisions) => {
      for (const decision of decisions.values()) if (decision.toMessage()?.includes('日')) throw refused
      written.push(...[...decisions.values()].map((decision) => decision.toMessage()))
    }
    const completing = open(answers, tasks)
    expect(await completing.complete(decide(tasks, sun), patience)).toEqual({ completed: tasks, lost: [] })
    expect(written).toEqual(['\\u{65e5}', '\\u{65e5}'])
    expect(answers.asked).toEqual(['complete a,b', 'complete a', 'complete a', 'complete b', 'complete b'])
    expect(answers.told.map(([name]) => name)).toEqual(['onComplete', 'onComplete'])
    expect(completing.setback).toBe(false)
  })

  test('tries a task in ASCII, then as failed, by the policy, and then hands it back: told of once, and it is a setback', async () => {
    const [a] = tasksOf('a') as [HeldTask]
    const written: (TaskDecision | undefined)[] = []
    answers.answer = (_, __, decisions) => {
      written.push(decisions.get(a))
      if (written.length < 4) throw written.length === 1 ? refused : new Error('again')
    }
    const completing = open(answers, [a], false, { retry: () => 7 })
    await expect(completing.complete(decide([a], sun), patience)).rejects.toMatchObject({ message: 'again' })
    expect(answers.asked).toEqual(['complete a', 'complete a', 'complete a', 'hand back a'])
    expect(written[2]).toMatchObject({ retryAfterMs: 7 })
    expect(answers.told).toEqual([
      ['onError', { ...event([a]), activity: 'complete', error: expect.objectContaining({ message: 'again' }) }],
      ['onReturned', event([a])],
    ])
    expect([completing.setback, completing.returned, completing.undecided]).toEqual([true, [a], []])
  })

  test('throws the first of several errors, and what was completed beside them is not lost to it', async () => {
    const tasks = tasksOf('abc')
    const errors = [new Error('whole'), new Error('two'), new Error('first'), undefined, new Error('second')]
    const completing = open(answers, tasks)
    answers.answer = () => {
      const error = errors.shift()
      if (error) throw error
    }
    await expect(completing.complete(decide(tasks), patience)).rejects.toThrow('first')
    expect(answers.told.filter(([name]) => name === 'onError')).toHaveLength(2)
    expect(namesOf(completing.finished)).toBe('a,b,c')
  })

  test('leaves as it is what cannot even be handed back; after three in a row it leaves the others together', async () => {
    const tasks = tasksOf('abcdefgh')
    const completing = open(answers, tasks)
    refusing(answers, 'abcdefgh')
    await expect(completing.complete(decide(tasks, sun), patience)).rejects.toBe(refused)
    expect(answers.asked).toEqual([
      'complete a,b,c,d,e,f,g,h',
      'complete a,b,c,d',
      'complete a,b',
      ...[...'abc'].flatMap((one) => [
        ...(one === 'c' ? ['complete c,d'] : []),
        `complete ${one}`,
        `complete ${one}`,
        `complete ${one}`,
        `hand back ${one}`,
      ]),
      'complete d',
      'complete e,f,g,h',
    ])
    const errors = answers.told.map(([name, { tasks: some }]) => [name, namesOf(some as HeldTask[])])
    expect(errors).toEqual([
      ['onError', 'a'],
      ['onError', 'b'],
      ['onError', 'c'],
      ['onError', 'd'],
      ['onError', 'e,f,g,h'],
    ])
    expect([completing.setback, namesOf(completing.undecided)]).toEqual([true, 'a,b,c,d,e,f,g,h'])
    expect([completing.finished, completing.returned, completing.openOf(tasks)]).toEqual([[], [], tasks])
    // Something may have become of it since.
    answers.answer = () => [tasks[1]!]
    await completing.handBack(tasks.slice(0, 2), patience)
    expect(namesOf(completing.undecided)).toBe('c,d,e,f,g,h')
  })

  test('counts anew how many in a row cannot be written when one can', async () => {
    const tasks = tasksOf('abcdefgh')
    const completing = open(answers, tasks)
    refusing(answers, 'abdegh')
    await completing.complete(decide(tasks), patience).catch(() => {})
    expect([namesOf(completing.finished), namesOf(completing.undecided)]).toEqual(['c,f', 'a,b,d,e,g,h'])
    expect(answers.asked.slice(-3)).toEqual(['complete h', 'complete h', 'hand back h'])
  })

  test.each([locked, slow])(
    'waits once for what is locked, or slow, and then halves it, so that neighbours go on: $message',
    async (error) => {
      const tasks = tasksOf('abcd')
      const waited = vi.fn<() => void>()
      answers.answer = (_, names) => {
        if (names.includes('c') && answers.asked.length < 10) throw error
      }
      const completing = open(answers, tasks)
      expect(await completing.complete(decide(tasks), patience, waited)).toEqual({
        completed: [...'abdc'].map((name) => tasks.find(({ identifier }) => identifier === name)),
        lost: [],
      })
      expect(answers.asked).toEqual([
        'complete a,b,c,d',
        'complete a,b,c,d',
        'complete a,b',
        'complete c,d',
        'complete c',
        'complete d',
        ...Array.from({ length: 4 }, () => 'complete c'),
      ])
      // One after another in a row, and anew after each success.
      expect(answers.pauses).toEqual([37.5, 75, 37.5, 75, 37.5, 75, 150])
      expect(waited).toHaveBeenCalledTimes(7)
      expect(answers.told.map(([name]) => name)).toEqual(['onError', 'onComplete', 'onComplete', 'onComplete', 'onRecovered'])
    },
  )
})
