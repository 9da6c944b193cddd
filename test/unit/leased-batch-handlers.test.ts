/** What a handler may ask for its batch, and what it hears, however late it asks. */
import { describe, expect, test } from 'vitest'
import type { BatchEnvironment } from '../../packages/task-processor/src/batches/batch.ts'
import { LeasedBatch } from '../../packages/task-processor/src/batches/leased-batch.ts'
import type { BatchHandler } from '../../packages/task-processor/src/core/task-handler.ts'
import { answering, tasksOf, soon } from './answering.ts'
import { codeOf, ended, gone, make, refused, settled, succeed, success } from './leased.ts'
import type { Given, Made } from './leased.ts'
import { ringingClock } from './ringing-clock.ts'

describe('a handler that completes', () => {
  test.each(['a map', 'a function'])('hears of what was completed, once, and need not return anything: %s', async (how) => {
    const seen: unknown[] = []
    const { answers, tasks } = await ended(
      async (some, { complete }) => {
        seen.push(await complete(how === 'a map' ? succeed(some) : (_, held) => succeed(held)))
        seen.push(await codeOf(complete(succeed(some))))
      },
      { heard: ['onCallback'] },
    )
    expect(seen).toEqual([{ completed: tasks, lost: [] }, 'LIFECYCLE'])
    expect(answers.told).toMatchObject([
      ['onCallback', { topic: 'mail', tasks }],
      ['onComplete', { tasks }],
    ])
  })

  test('and returns, or throws, before that is done is waited for', async () => {
    const gate = Promise.withResolvers<void>()
    const made = make((some, { complete }) => {
      void complete(() => gate.promise.then(() => succeed(some)))
      return undefined
    })
    let isOver = false
    void made.batch.begin().then(() => (isOver = true))
    await settled()
    expect([isOver, made.answers.asked]).toEqual([false, []])
    gate.resolve()
    await soon(made.batch.ended)
    expect(made.answers.asked).toEqual(['complete a,b'])
    expect(made.events()).toEqual(['onComplete'])
  })

  test('with a map, of which one cannot be written, hears of that, and it is told once; what it returns is nothing more', async () => {
    const heard: unknown[] = []
    for (const then of ['listens', 'throws it', 'returns'] as const) {
      const { answers, tasks, batch } = await ended(
        async (some, { complete }) => {
          const completion = complete(succeed(some))
          await completion.catch((error: unknown) => {
            heard.push(error)
            if (then === 'throws it') throw error
          })
          return then === 'returns' ? succeed(some) : undefined
        },
        {
          answer: (_, names, decisions) => {
            if (names.includes('a') && [...decisions.values()].includes(success)) throw refused
          },
        },
      )
      expect(answers.told.filter(([name]) => name === 'onError')).toEqual([
        ['onError', { topic: 'mail', tasks: tasks.slice(0, 1), activity: 'complete', error: refused }],
      ])
      expect(answers.asked).toEqual(['complete a,b', 'complete a', 'complete a', 'complete b'])
      expect(batch.finished).toHaveLength(2)
    }
    expect(heard).toEqual([refused, refused, refused])
  })

  test('and throws something else then is told of, and its tasks stay completed', async () => {
    const late = new Error('late')
    const { answers, tasks, batch } = await ended(async (some, { complete }) => {
      await complete(succeed(some))
      throw late
    })
    expect(answers.asked).toEqual(['complete a,b'])
    expect(answers.told[1]).toEqual(['onError', { topic: 'mail', tasks, activity: 'handle', error: late }])
    expect(batch.finished).toEqual(tasks)
  })

  test('by a function that throws fails the batch as the handler’s; what it returns instead is what is decided', async () => {
    const failing = await ended(async (_, { complete }) => void (await complete(() => Promise.reject(refused))))
    expect(failing.answers.told[0]).toEqual([
      'onError',
      {
        topic: 'mail',
        tasks: failing.tasks,
        activity: 'handle',
        error: refused,
        decisions: new Map(failing.tasks.map((task, index) => [task, failing.decided()[index]])),
      },
    ])
    expect(failing.decided()).toMatchObject([{ result: 'failure' }, { result: 'failure' }])
    const instead = await ended(async (some, { complete }) => {
      await complete(() => Promise.reject(refused)).catch(() => {})
      return succeed(some)
    })
    expect([instead.decided(), instead.events()]).toEqual([[success, success], ['onComplete']])
  })

  test('by a function, which cannot be written, fails the batch as the completing’s', async () => {
    let asked = 0
    const { answers, tasks, decided } = await ended(
      async (_, { complete }) => void (await complete((__, held) => succeed(held))),
      {
        answer: () => {
          if (asked++ === 0) throw refused
        },
      },
    )
    const decisions = new Map(tasks.map((task, index) => [task, decided()[index]]))
    expect(answers.told[0]).toEqual(['onError', { topic: 'mail', tasks, activity: 'complete', error: refused, decisions }])
    expect(answers.asked).toEqual(['complete a,b', 'complete a,b'])
  })

  test('is not waited for when it is given up: what it could not write is handed back, and is nobody’s fault', async () => {
    const made = make(async (_, { complete }) => void (await complete((__, held) => succeed(held))), {
      answer: (verb) => {
        if (verb === 'complete') throw gone
      },
    })
    const over = made.batch.begin()
    await settled()
    expect(made.clock.pauses).toHaveLength(1)
    made.batch.giveUp()
    await soon(over)
    expect(made.answers.asked).toEqual(['complete a,b', 'complete a,b', 'hand back a,b'])
    expect(made.answers.told).toEqual([
      ['onError', { activity: 'complete', topic: 'mail', error: gone }],
      ['onReturned', { topic: 'mail', tasks: made.tasks }],
      ['onRecovered', { activity: 'complete', topic: 'mail' }],
    ])
  })

  test('after the batch was given up tries once', async () => {
    const gate = Promise.withResolvers<void>()
    const heard: unknown[] = []
    const made = make(
      async (some, { complete }) => {
        await gate.promise
        heard.push(await codeOf(complete(succeed(some))))
      },
      {
        answer: () => {
          throw gone
        },
      },
    )
    const over = made.batch.begin()
    made.batch.giveUp()
    gate.resolve()
    await soon(over)
    expect([heard, made.answers.asked, made.clock.pauses]).toEqual([['DATABASE_UNAVAILABLE'], ['complete a,b'], []])
    expect(made.batch.undecided).toEqual(made.tasks)
  })
})

describe('a handler that ignores its time', () => {
  const ignoring = (
    given: Given = {},
    then: BatchHandler<object> = succeed,
  ): Made & { gate: PromiseWithResolvers<void>; over: Promise<void> } => {
    const gate = Promise.withResolvers<void>()
    const made = make(async (tasks, context) => (await gate.promise, then(tasks, context)), { timeoutMs: 5_000, ...given })
    return { ...made, gate, over: made.batch.begin() }
  }

  test('has its tasks failed, and ends no batch', async () => {
    const { batch, clock, answers, tasks, over, gate, events, decided } = ignoring()
    expect(batch.stuck).toEqual([])
    clock.pass(5_999)
    await settled()
    expect(answers.asked).toEqual([])
    expect(batch.stuck).toEqual(tasks.map(({ sequence, attempt }) => ({ sequence, attempt, forMs: 999 })))
    clock.pass(1)
    await soon(over)
    expect(decided()).toMatchObject([{ reason: 'timeout' }, { reason: 'timeout' }])
    expect(batch.stuck).toEqual([])
    expect(answers.told[0]).toEqual(['onStuck', { topic: 'mail', tasks, heldMs: 6_000 }])
    let handled = false
    void batch.handled.then(() => (handled = true))
    await settled()
    expect(handled).toBe(false)
    gate.resolve()
    await soon(batch.handled)
    expect(events()).toEqual(['onStuck', 'onComplete', 'onLost'])
    expect(answers.asked).toEqual(['complete a,b'])
  })

  test('and then throws is told of, and no more', async () => {
    const { batch, clock, answers, over, gate, tasks } = ignoring({}, () => Promise.reject(refused))
    clock.pass(6_000)
    await soon(over)
    gate.resolve()
    await soon(batch.handled)
    expect(answers.told.at(-1)).toEqual(['onError', { topic: 'mail', tasks, activity: 'handle', error: refused }])
    expect(answers.asked).toEqual(['complete a,b'])
  })

  test('is not failed where its tasks were handed back before', async () => {
    const { batch, clock, answers, over, gate } = ignoring()
    await soon(batch.handBack())
    clock.pass(6_000)
    await soon(over)
    expect(answers.asked).toEqual(['hand back a,b'])
    gate.resolve()
    await soon(batch.handled)
  })

  test('and ends while its tasks are taken from it ends no batch before they are written', async () => {
    const answer = Promise.withResolvers<void>()
    const answers = answering()
    const clock = ringingClock()
    const gate = Promise.withResolvers<void>()
    const { environment } = answers
    const repository = {
      ...environment.repository,
      complete: async (...args: Parameters<typeof environment.repository.complete>) => {
        await answer.promise
        return environment.repository.complete(...args)
      },
    } as BatchEnvironment<object>['repository']
    const batch = new LeasedBatch(
      answers.handledBy(() => gate.promise.then(() => undefined), { clock, timeoutMs: 5_000, repository }),
      tasksOf('ab'),
      false,
    )
    let isOver = false
    void batch.begin().then(() => (isOver = true))
    clock.pass(6_000)
    await settled()
    gate.resolve()
    await soon(batch.handled)
    await settled()
    expect(isOver).toBe(false)
    answer.resolve()
    await soon(batch.ended)
    expect(answers.asked).toEqual(['complete a,b'])
  })

  test('and has completed in time is only told to be stuck', async () => {
    const gate = Promise.withResolvers<void>()
    const made = make(
      async (some, { complete }) => {
        await complete(succeed(some))
        await gate.promise
      },
      { timeoutMs: 5_000 },
    )
    const over = made.batch.begin()
    await settled()
    made.clock.pass(6_000)
    await soon(over)
    expect([made.events(), made.answers.asked]).toEqual([['onComplete', 'onStuck'], ['complete a,b']])
    gate.resolve()
    await soon(made.batch.handled)
    expect(made.events()).toHaveLength(2)
  })

  test('and waits for its completion is kept waiting no longer: it is tried once more', async () => {
    const heard: unknown[] = []
    let broken = true
    const made = make(async (some, { complete }) => void heard.push(await codeOf(complete(succeed(some)))), {
      timeoutMs: 10,
      answer: () => {
        if (broken) throw gone
      },
    })
    const over = made.batch.begin()
    await settled()
    broken = false
    made.clock.pass(1_010)
    await soon(over)
    await soon(made.batch.handled)
    expect(heard).toEqual(['done'])
    expect(made.answers.asked).toEqual(['complete a,b', 'complete a,b', 'complete a,b'])
    expect(made.batch.finished).toEqual(made.tasks)
  })
})
