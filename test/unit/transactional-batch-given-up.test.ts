/** A batch in one transaction that is to let go of it, and what its handler can do then: nothing. */
import { TaskError } from '@taskstream/task-api'
import type { TransactionSource } from '@taskstream/task-api'
import { expect, test } from 'vitest'
import { Dispatcher } from '../../packages/task-processor/src/core/dispatcher.ts'
import { TransactionalBatch } from '../../packages/task-processor/src/batches/transactional-batch.ts'
import { answering, tasksOf, soon, unheardOf } from './answering.ts'
import { begin, settled, succeed } from './in-transaction.ts'
import { ringingClock } from './ringing-clock.ts'

const refused = new TaskError('ARGUMENT_INVALID', 'refused')
const gone = new TaskError('DATABASE_UNAVAILABLE', 'gone')
const stop = new TaskError('SHUTDOWN', 'stop')
const timeout = new TaskError('TASK_TIMEOUT', 'too long')

test.each(['some', 'nothing', 'an error'])('that is asked to let go hands back what is not decided: %s', async (what) => {
  const tasks = tasksOf('ab')
  const { batch, answers, polled } = begin(
    (some, { signal }) =>
      new Promise((resolve, reject) => {
        signal.addEventListener('abort', () => {
          if (what === 'some') resolve(succeed(some.slice(0, 1)))
          else if (what === 'nothing') resolve(undefined)
          else reject(signal.reason as Error)
        })
      }),
    { tasks },
  )
  await soon(polled)
  batch.abort(stop)
  await soon(batch.ended)
  const [a, b] = tasks
  if (what === 'some') {
    expect(answers.asked).toEqual(['complete a', 'hand back b'])
    expect(answers.told).toMatchObject([
      ['onComplete', { completion: { completed: [a], lost: [] } }],
      ['onReturned', { topic: 'mail', tasks: [b] }],
    ])
    expect([batch.finished, batch.returned, batch.failed]).toEqual([[a], [b], false])
  } else if (what === 'nothing') {
    expect(answers.asked).toEqual(['complete ', 'hand back a,b'])
    expect([batch.finished, batch.returned, batch.failed]).toEqual([[], tasks, false])
    expect(answers.told.at(-1)).toEqual(['onReturned', { topic: 'mail', tasks }])
  } else {
    expect(answers.asked).toEqual([])
    expect(answers.told).toEqual([['onReturned', { topic: 'mail', tasks }]])
    expect([batch.finished, batch.returned, batch.failed]).toEqual([[], tasks, true])
  }
})

test('that took too long, and lets go by an error, is told of as failed', async () => {
  const tasks = tasksOf('ab')
  const { batch, answers, polled } = begin(
    (_, { signal }) => new Promise((__, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
    { tasks },
  )
  await soon(polled)
  batch.abort(timeout)
  await soon(batch.ended)
  expect(answers.told).toEqual([['onError', { topic: 'mail', tasks, activity: 'handle', error: timeout }]])
})

test.each(['handBack', 'giveUp'] as const)(
  'of which the handler does not let go is rolled back all the same: %s',
  async (how) => {
    const tasks = tasksOf('ab')
    const gate = Promise.withResolvers<void>()
    const heard = Promise.withResolvers<unknown>()
    const { batch, answers, polled } = begin(
      async (some, { complete }) => {
        await gate.promise
        await complete(succeed(some)).catch(heard.resolve)
      },
      { tasks },
    )
    await soon(polled)
    void batch[how]()
    await soon(batch.ended)
    expect(answers.told).toEqual([
      [
        'onError',
        {
          topic: 'mail',
          tasks,
          activity: 'handle',
          error: expect.objectContaining({ code: 'TRANSACTION_ABANDONED', data: { topic: 'mail' } }),
        },
      ],
    ])
    expect([batch.failed, batch.setback, batch.returned, answers.asked]).toEqual([true, false, tasks, []])
    gate.resolve()
    expect(await soon(heard.promise)).toMatchObject({ code: 'TASK_LOST' })
    await soon(batch.handled)
    expect(answers.asked).toEqual([])
  },
)

test('that is given up writes nothing of what its handler decides at that moment', async () => {
  const gate = Promise.withResolvers<void>()
  const { batch, answers, polled } = begin(async (some) => (await gate.promise, succeed(some)))
  await soon(polled)
  gate.resolve()
  batch.giveUp()
  await soon(batch.ended)
  await settled()
  expect(answers.asked).toEqual([])
})

test('that is given up while it is being completed is as the database says', async () => {
  const answers = answering()
  answers.answer = () => batch.giveUp()
  const { batch, events } = begin(succeed, { answers })
  await soon(batch.ended)
  // It was not waited for any more.
  expect([events(), batch.failed]).toEqual([['onError'], true])
})

test('of which the handler ignores its time is rolled back when it should have let go', async () => {
  const clock = ringingClock()
  const { batch, answers, polled } = begin(() => new Promise(() => {}), { timeoutMs: 5_000, clock })
  await soon(polled)
  clock.pass(5_999)
  await settled()
  expect(answers.told).toEqual([])
  clock.pass(1)
  await soon(batch.ended)
  expect(answers.told).toMatchObject([
    ['onStuck', { heldMs: 6_000 }],
    ['onError', { activity: 'handle', error: { code: 'TRANSACTION_ABANDONED' } }],
  ])
  expect(batch.failed).toBe(true)
  let handled = false
  void batch.handled.then(() => (handled = true))
  await settled()
  expect(handled).toBe(false)
})

test('that is given up runs nothing more in its transaction, also before that is rolled back', async () => {
  const gate = Promise.withResolvers<void>()
  const rollback = Promise.withResolvers<void>()
  const heard: unknown[] = []
  let written = 0
  const { batch, polled } = begin(
    async (some, { complete }) => {
      await gate.promise
      await complete(() => (written++, succeed(some))).catch(({ code }: TaskError) => heard.push(code))
    },
    {
      source: async (work) => {
        try {
          return await work({})
        } catch (error) {
          await rollback.promise
          throw error
        }
      },
    },
  )
  await soon(polled)
  batch.giveUp()
  gate.resolve()
  await settled()
  expect([heard, written]).toEqual([['TASK_LOST'], 0])
  rollback.resolve()
  await soon(batch.ended)
})

test('that is given up when it is committed stays so', async () => {
  const gate = Promise.withResolvers<void>()
  const heard: unknown[] = []
  const { batch, answers, events } = begin(async (some, { complete }) => {
    await complete(succeed(some))
    await gate.promise
    await complete(succeed(some)).catch(({ code }: TaskError) => heard.push(code))
    throw refused
  })
  await settled()
  expect(events()).toEqual(['onComplete'])
  batch.giveUp()
  gate.resolve()
  await soon(batch.ended)
  expect([heard, events(), batch.failed]).toEqual([['LIFECYCLE'], ['onComplete', 'onError'], false])
  expect(answers.told[1]).toMatchObject(['onError', { error: refused }])
})

test('of which the poll took too long is handled by nobody when it comes', async () => {
  let handled = 0
  const answers = answering()
  const { batch, polled } = begin(() => (handled++, new Map()), { answers, onPoll: () => answers.dispatcher.end(gone) })
  await expect(soon(polled)).rejects.toBe(gone)
  await soon(batch.ended)
  await settled()
  expect([handled, batch.tasks]).toEqual([0, []])
})

test.each(['abort', 'giveUp'] as const)('that is over before its poll has brought anything handles nothing: %s', async (how) => {
  using unheard = unheardOf()
  let handled = 0
  const { batch, polled, answers } = begin(() => (handled++, new Map()), {
    tasks: tasksOf('a'),
    onPoll: (one) => (how === 'abort' ? one.abort(stop) : one.giveUp()),
  })
  expect(await soon(polled)).toEqual([])
  await soon(batch.ended)
  expect([handled, answers.told, answers.asked, batch.failed, batch.tasks]).toEqual([0, [], [], false, []])
  // That there was nothing is written: what it took off a list, say.
  let committed = false
  const empty = begin(() => new Map(), {
    tasks: [],
    onPoll: (one) => (how === 'abort' ? one.abort(stop) : one.giveUp()),
    source: async (work) => {
      const result = await work({})
      committed = true
      return result
    },
  })
  await soon(empty.batch.ended)
  await settled()
  expect([committed, unheard.errors]).toEqual([true, []])
})

test('limits nothing, also where the database has been slow', async () => {
  const answers = answering()
  const slow = new TaskError('DATABASE_BUSY', 'slow', { shortOf: 'time' })
  let limited = 0
  const repository = { limitStatements: async () => void limited++ }
  const source: TransactionSource<object> = async (work) => work({})
  const dispatcher = new Dispatcher({ repository, transactions: source, statementTimeoutMs: 60_000 })
  await dispatcher.once(() => Promise.reject(slow)).catch(() => {})
  await dispatcher.once(() => {})
  expect(limited).toBe(1)
  const environment = answers.handledBy(succeed, {
    dispatcher,
    repository: { ...answers.environment.repository, poll: async () => tasksOf('a') } as never,
  })
  const batch = new TransactionalBatch<object>(environment)
  await batch.begin({ size: 1 })
  await soon(batch.ended)
  expect([limited, batch.failed]).toEqual([1, false])
})
