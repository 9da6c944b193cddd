/** A batch in one transaction that is to let go of it, and what its handler can do then: nothing. */
import { TaskError } from '@taskstream/task-api'
import type { TransactionSource } from '@taskstream/task-api'
import { expect, test } from 'vitest'
import { Dispatcher } from '../../packages/task-processor/src/dispatcher.ts'
import { TransactionalBatch } from '../../packages/task-processor/src/transactional-batch.ts'
import { answering, tasksOf, soon } from './answering.ts'
import { begin, settled, succeed } from './in-transaction.ts'

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

test.each(['abort', 'giveUp'] as const)('that is over before its poll has brought anything handles nothing: %s', async (how) => {
  let handled = 0
  const { batch, polled, answers } = begin(() => (handled++, new Map()), {
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
  expect(committed).toBe(true)
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
