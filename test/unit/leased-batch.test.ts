/** A batch that is held by the lease: what is written and told of it, whoever decides. */
import { TaskError } from '@taskstream/task-api'
import type { HeldTask, TaskDecision } from '@taskstream/task-api'
import { describe, expect, test } from 'vitest'
import type { BatchHandler, HandlerContext } from '../../packages/task-processor/src/core/task-handler.ts'
import { tasksOf, soon } from './answering.ts'
import { codeOf, ended, gone, make, refused, settled, succeed, success } from './leased.ts'

const stop = new TaskError('SHUTDOWN', 'stop')
const leaseLost = new TaskError('LEASE_LOST', 'no lease')

describe('a batch', () => {
  test.each([true, false])('is handled, completed and told of; plain: %s', async (plain) => {
    const { batch, answers, tasks } = await ended(succeed, { plain, heard: ['onStart', 'onCallback'] })
    const event = { topic: 'mail', tasks }
    const outcomes = { success: 2, filter: 0, suspension: 0, failure: 0, retry: 0, snooze: 0 }
    expect(answers.asked).toEqual(['complete a,b'])
    expect(answers.begun).toEqual([plain ? 'autocommit' : 'transaction'])
    expect(answers.told).toEqual([
      ['onStart', event],
      ['onCallback', event],
      ['onComplete', { ...event, completion: { completed: tasks, lost: [] }, decisions: succeed(tasks), outcomes }],
    ])
    expect([batch.finished, batch.returned, batch.undecided, batch.leased]).toEqual([tasks, [], [], []])
    expect([batch.isLeased, batch.setback, batch.event]).toEqual([true, false, event])
  })

  test('holds its tasks until they are written', async () => {
    const gate = Promise.withResolvers<void>()
    const { batch, tasks } = make(async (some) => (await gate.promise, succeed(some)))
    let isOver = false
    void batch.begin().then(() => (isOver = true))
    await settled()
    expect([batch.leased, isOver]).toEqual([tasks, false])
    gate.resolve()
    await soon(batch.ended)
    expect(batch.leased).toEqual([])
  })

  test('fails what its handler leaves out, and all of it when it decides of another task, or of none', async () => {
    const some = await ended((tasks) => succeed(tasks.slice(0, 1)))
    expect(some.decided()).toMatchObject([success, { result: 'failure' }])
    for (const [handler, code] of [
      [(tasks: readonly HeldTask[]) => succeed([...tasks, ...tasksOf('c')]), 'TASK_UNKNOWN'],
      [() => undefined, 'DECISIONS_MISSING'],
      [() => 'yes' as never, 'ARGUMENT_INVALID'],
    ] as [BatchHandler<object>, string][]) {
      const { decided, answers, tasks } = await ended(handler)
      expect(decided()).toMatchObject([{ result: 'failure' }, { result: 'failure' }])
      expect(answers.told[0]).toEqual([
        'onError',
        {
          topic: 'mail',
          tasks,
          activity: 'handle',
          error: expect.objectContaining({ code }),
          decisions: new Map(tasks.map((task, index) => [task, decided()[index]])),
        },
      ])
    }
  })

  test('fails, or is tried again by the policy, when its handler throws', async () => {
    const { answers, decided, tasks } = await ended(() => Promise.reject(refused), { retry: () => 7 })
    expect(decided()).toMatchObject([{ retryAfterMs: 7 }, { retryAfterMs: 7 }])
    const decisions = new Map(tasks.map((task, index) => [task, decided()[index]]))
    expect(answers.told[0]).toEqual(['onError', { topic: 'mail', tasks, activity: 'handle', error: refused, decisions }])
    expect(answers.asked).toEqual(['complete a,b'])
  })

  test('has its retries decided once: those that are told are those that are written', async () => {
    let pauseMs = 7
    const { answers, decided } = await ended(() => Promise.reject(refused), { retry: () => pauseMs++ })
    const told = answers.told[0] as unknown as [string, { decisions: ReadonlyMap<HeldTask, TaskDecision> }]
    expect([...told[1].decisions.values()].map(({ retryAfterMs }) => retryAfterMs)).toEqual([7, 8])
    expect(decided()).toEqual([...told[1].decisions.values()])
  })

  test('that throws in time fails for what it threw, though its time may be up later', async () => {
    const { decided } = await ended(() => Promise.reject(refused), { timeoutMs: 10 })
    expect(decided()[0]).toMatchObject({ explanations: [refused] })
  })

  test('is handed back when its handler says that it is shut down', async () => {
    const { answers, batch, tasks } = await ended(() => Promise.reject(stop))
    expect([answers.asked, batch.returned, batch.setback]).toEqual([['hand back a,b'], tasks, false])
    expect(answers.told).toEqual([['onReturned', { topic: 'mail', tasks }]])
  })

  test('that comes too late is handed back, and never handled', async () => {
    let handled = 0
    const { batch, answers, tasks } = make(() => (handled++, new Map()))
    await soon(batch.decline())
    expect(batch.returned).toEqual(tasks)
    await soon(batch.ended)
    expect([handled, answers.asked, batch.returned, batch.leased]).toEqual([0, ['hand back a,b'], tasks, []])
  })
})

describe('a batch that is asked to let go', () => {
  const letGo = async (
    handler: (tasks: readonly HeldTask[], reason: Error) => ReturnType<BatchHandler<object>>,
    reason = stop,
  ) => {
    const made = make(
      (tasks, { signal }) =>
        new Promise((resolve, reject) => {
          signal.addEventListener('abort', () => {
            Promise.resolve()
              .then(() => handler(tasks, signal.reason as Error))
              .then(resolve, reject)
          })
        }),
    )
    const over = made.batch.begin()
    await settled()
    made.batch.abort(reason)
    await soon(over)
    return made
  }

  test('is completed as far as it is decided; the rest is handed back', async () => {
    const { answers, batch, tasks } = await letGo((some) => succeed(some.slice(0, 1)))
    const [a, b] = tasks
    expect(answers.asked).toEqual(['complete a', 'hand back b'])
    expect([batch.finished, batch.returned]).toEqual([[a], [b]])
  })

  test('is completed, where it is decided of all', async () => {
    const { answers } = await letGo((some) => succeed(some))
    expect(answers.asked).toEqual(['complete a,b'])
  })

  test.each([
    ['nothing is decided', () => undefined],
    ['it decides of none', () => new Map()],
    ['it throws', (_: unknown, reason: Error) => Promise.reject(reason)],
    ['it throws something else', () => Promise.reject(refused)],
  ] as [string, Parameters<typeof letGo>[0]][])('is handed back, and no error, where %s', async (_, handler) => {
    for (const reason of [stop, leaseLost]) {
      const { answers, batch, tasks } = await letGo(handler, reason)
      expect([answers.asked, batch.returned]).toEqual([['hand back a,b'], tasks])
      expect(answers.told).toEqual([['onReturned', { topic: 'mail', tasks }]])
    }
  })

  test('fails by its time where it throws for it, and says so once', async () => {
    const made = make(
      (_, { signal }) =>
        new Promise((__, reject) =>
          signal.addEventListener('abort', () => reject(new Error('let go', { cause: signal.reason }))),
        ),
      { timeoutMs: 5_000 },
    )
    const over = made.batch.begin()
    made.clock.pass(5_000)
    await soon(over)
    expect(made.decided()).toMatchObject([{ result: 'failure', reason: 'timeout' }, { reason: 'timeout' }])
    expect(made.decided()[0]).toMatchObject({ explanations: [expect.objectContaining({ code: 'TASK_TIMEOUT' })] })
    expect(made.events()).toEqual(['onError', 'onComplete'])
  })
})

describe('a batch that was handed back', () => {
  test('is refused to its handler, and that is told each time; what it throws is told too', async () => {
    const gate = Promise.withResolvers<void>()
    const contexts: HandlerContext<object>[] = []
    const made = make(async (_, context) => {
      contexts.push(context)
      await gate.promise
      throw refused
    })
    const over = made.batch.begin()
    await settled()
    await soon(made.batch.handBack())
    made.answers.told.splice(0)
    const refusal = await contexts[0]!.complete(new Map()).catch((error: unknown) => error)
    expect(refusal).toMatchObject({ code: 'TASK_LOST', data: { lost: made.tasks } })
    expect(made.answers.told).toEqual([['onLost', { topic: 'mail', tasks: made.tasks }]])
    gate.resolve()
    await soon(over)
    expect(made.answers.told.slice(1)).toEqual([
      ['onError', { topic: 'mail', tasks: made.tasks, activity: 'handle', error: refused }],
    ])
    expect(made.answers.asked).toEqual(['hand back a,b'])
  })

  test('has what its handler returns told as lost', async () => {
    const gate = Promise.withResolvers<void>()
    const made = make(async (some) => (await gate.promise, succeed(some)))
    const over = made.batch.begin()
    await settled()
    await soon(made.batch.handBack())
    gate.resolve()
    await soon(over)
    expect(made.events()).toEqual(['onReturned', 'onLost'])
    expect(made.answers.asked).toEqual(['hand back a,b'])
    // Again there is nothing to hand back.
    await soon(made.batch.handBack())
    expect(made.answers.asked).toHaveLength(1)
  })

  test('is not its handler’s any more, be it one task', async () => {
    const gate = Promise.withResolvers<void>()
    const made = make(async (some) => (await gate.promise, succeed(some)), { names: 'a' })
    const over = made.batch.begin()
    await soon(made.batch.handBack())
    gate.resolve()
    await soon(over)
    expect(made.events()).toEqual(['onReturned', 'onLost'])
  })

  test('is still its handler’s where nothing of it could be', async () => {
    const gate = Promise.withResolvers<void>()
    const made = make(async (some) => (await gate.promise, succeed(some)), {
      answer: (verb) => {
        if (verb === 'hand back') throw refused
      },
    })
    const over = made.batch.begin()
    await settled()
    await soon(made.batch.handBack())
    gate.resolve()
    await soon(over)
    expect(made.batch.finished).toEqual(made.tasks)
  })

  test('is as it was decided, where that came first', async () => {
    const { batch, answers } = await ended(succeed)
    await soon(batch.handBack())
    expect(answers.asked).toEqual(['complete a,b'])
  })

  test('ends what its handler had asked for and could not have', async () => {
    let asked = 0
    const heard: unknown[] = []
    const made = make(async (some, { complete }) => void heard.push(await codeOf(complete(succeed(some)))), {
      answer: (verb) => {
        if (verb === 'complete' && asked++ < 3) throw gone
      },
    })
    const over = made.batch.begin()
    await settled()
    await soon(made.batch.handBack())
    await soon(over)
    expect(heard).toEqual(['DATABASE_UNAVAILABLE'])
    expect(made.answers.asked).toEqual(['complete a,b', 'hand back a,b', 'complete a,b'])
    // It pauses no more.
    expect(made.clock.pauses).toHaveLength(1)
  })
})
