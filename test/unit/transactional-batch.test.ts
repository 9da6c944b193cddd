/** A batch in one transaction: what is told, answered and left of it, however that transaction ends. */
import { TaskError } from '@taskstream/task-api'
import type { TransactionSource } from '@taskstream/task-api'
import { expect, test } from 'vitest'
import type { BatchHandler, HandlerContext } from '../../packages/task-processor/src/core/task-handler.ts'
import { answering, tasksOf, soon, unheardOf } from './answering.ts'
import { begin, settled, succeed, success } from './in-transaction.ts'

const refused = new TaskError('ARGUMENT_INVALID', 'refused')
const gone = new TaskError('DATABASE_UNAVAILABLE', 'gone')
const busy = new TaskError('DATABASE_BUSY', 'locked', { shortOf: 'lock' })

test('polls, handles and completes, and tells of it', async () => {
  const tasks = tasksOf('ab')
  const { batch, answers, polled, given } = begin(succeed, { tasks, answers: answering('onStart', 'onCallback') })
  expect([batch.tasks, batch.finished, batch.event]).toEqual([[], [], { topic: 'mail', tasks: [] }])
  expect(await soon(polled)).toBe(tasks)
  await soon(batch.ended)
  await soon(batch.handled)
  expect(given).toEqual([{ topic: 'mail', size: 2, hold: 'transaction' }, { strict: true }])
  expect([answers.asked, answers.begun]).toEqual([['complete a,b'], ['transaction']])
  const completion = { completed: tasks, lost: [] }
  const outcomes = { success: 2, filter: 0, suspension: 0, failure: 0, retry: 0, snooze: 0 }
  expect(answers.told).toEqual([
    ['onStart', { topic: 'mail', tasks }],
    ['onCallback', { topic: 'mail', tasks }],
    ['onComplete', { topic: 'mail', tasks, completion, decisions: succeed(tasks), outcomes }],
  ])
  expect([batch.tasks, batch.finished, batch.returned, batch.undecided, batch.leased]).toEqual([tasks, tasks, [], [], []])
  expect([batch.isLeased, batch.failed, batch.setback]).toEqual([false, false, false])
  expect(batch.event).toEqual({ topic: 'mail', tasks })
})

test('may be of one task', async () => {
  const { batch, answers } = begin(succeed, { tasks: tasksOf('a') })
  await soon(batch.ended)
  expect([answers.asked, batch.finished.length]).toEqual([['complete a'], 1])
})

test('tells of nothing where nothing was there', async () => {
  const { batch, polled, events } = begin(succeed, { tasks: [] })
  expect(await soon(polled)).toEqual([])
  await soon(batch.ended)
  await soon(batch.handled)
  expect([events(), batch.failed, batch.finished, batch.tasks]).toEqual([[], false, [], []])
})

test('is no batch where the poll fails', async () => {
  const { batch, polled, events } = begin(succeed, {
    onPoll: () => {
      throw gone
    },
  })
  await expect(polled).rejects.toBe(gone)
  await soon(batch.ended)
  expect([events(), batch.failed, batch.returned]).toEqual([[], false, []])
})

test.each([1, 2])('fails what the handler leaves out, and refuses what is none of its tasks: %d', async (count) => {
  const tasks = tasksOf('ab')
  const written: unknown[] = []
  const answers = answering()
  answers.answer = (_, __, decisions) => void written.push(...decisions.values())
  const { batch } = begin((batch_) => succeed(count === 1 ? batch_.slice(0, 1) : [...batch_, ...tasksOf('c')]), {
    tasks,
    answers,
  })
  await soon(batch.ended)
  if (count === 1) {
    expect(written).toMatchObject([success, { result: 'failure' }])
    expect([batch.finished, batch.failed]).toEqual([tasks, false])
  } else {
    expect(answers.told).toMatchObject([['onError', { activity: 'handle', tasks, error: { code: 'TASK_UNKNOWN' } }]])
    expect([batch.failed, batch.setback, answers.asked]).toEqual([true, false, []])
  }
})

test.each([
  ['throws', () => Promise.reject(refused), refused],
  ['throws what looks like the database', () => Promise.reject(busy), busy],
  [
    'throws in what it completes with',
    (_: unknown, { complete }: HandlerContext<object>) => complete(() => Promise.reject(refused)).then(() => {}),
    refused,
  ],
  ['decides nothing', () => undefined, expect.objectContaining({ code: 'DECISIONS_MISSING' })],
  ['decides something else', () => 'yes' as never, expect.objectContaining({ code: 'ARGUMENT_INVALID' })],
] as [string, BatchHandler<object>, unknown][])(
  'is rolled back where the handler %s, and that is the handler’s',
  async (_, handler, error) => {
    const tasks = tasksOf('ab')
    const { batch, answers } = begin(handler, { tasks })
    await soon(batch.ended)
    expect(answers.told).toEqual([['onError', { topic: 'mail', tasks, activity: 'handle', error }]])
    expect([batch.failed, batch.setback, batch.finished, batch.returned]).toEqual([true, false, [], tasks])
    expect(answers.asked).toEqual([])
    await soon(batch.handled)
  },
)

test('is rolled back where the database does not complete it, or says so to what the handler writes, and that is the database’s', async () => {
  const tasks = tasksOf('ab')
  const answers = answering()
  answers.answer = () => {
    throw refused
  }
  const heard: unknown[] = []
  const one = begin(
    async (batch, { complete }) => void (await complete(succeed(batch)).catch((error: unknown) => heard.push(error))),
    { tasks, answers },
  )
  await soon(one.batch.ended)
  expect(answers.told).toEqual([['onError', { topic: 'mail', tasks, activity: 'complete', error: refused }]])
  expect([one.batch.failed, one.batch.setback, heard]).toEqual([true, true, [refused]])
  const other = begin(async (_, { complete }) => void (await complete(() => Promise.reject(busy))), { tasks })
  await soon(other.batch.ended)
  expect(other.answers.told).toEqual([['onError', { topic: 'mail', tasks, activity: 'complete', error: busy }]])
  expect([other.batch.failed, other.batch.setback]).toEqual([true, true])
})

test('is the handler’s to answer for, where what it writes with throws something else; and the database’s where that has a name for it', async () => {
  const mine = new Error('mine')
  const handler: BatchHandler<object> = async (_, { complete }) => void (await complete(() => Promise.reject(mine)))
  const source: TransactionSource<object> = async (work) => work({})
  for (const [classify, activity] of [
    [undefined, 'handle'],
    [(error: unknown) => error, 'handle'],
    [() => busy, 'complete'],
  ] as const) {
    const { batch, answers } = begin(handler, { source: Object.assign(source, { classify }) as never })
    await soon(batch.ended)
    // What the database has a name for is told by it, as in leased mode.
    expect(answers.told).toMatchObject([['onError', { activity, error: activity === 'complete' ? busy : mine }]])
    expect([batch.failed, batch.setback]).toEqual([true, activity === 'complete'])
  }
})

test('is completed by who has asked for that and returned, and no rejection of it goes unheard', async () => {
  using unheard = unheardOf()
  const gate = Promise.withResolvers<void>()
  const { batch, answers } = begin((some, { complete }) => {
    void complete(() => gate.promise.then(() => succeed(some)))
    return undefined
  })
  await settled()
  expect(answers.told).toEqual([])
  gate.resolve()
  await soon(batch.ended)
  expect(answers.told).toMatchObject([['onComplete', {}]])
  const failing = begin(() => Promise.reject(refused))
  await soon(failing.batch.ended)
  failing.batch.giveUp()
  await settled()
  expect(unheard.errors).toEqual([])
})

test('says nothing of tasks where nobody knows whether they were committed, and hands them back where they were not', async () => {
  const tasks = tasksOf('ab')
  const losing: TransactionSource<object> = async (work) => {
    await work({})
    throw gone
  }
  const { batch, answers } = begin(succeed, { tasks, source: losing })
  await soon(batch.ended)
  expect([batch.returned, batch.finished, batch.failed]).toEqual([[], [], true])
  expect(answers.told).toMatchObject([['onError', { activity: 'complete', error: gone }]])
  const before = begin(() => Promise.reject(gone), { tasks })
  await soon(before.batch.ended)
  expect(before.batch.returned).toBe(tasks)
  const conflict = new TaskError('TRANSACTION_CONFLICT', 'not committed')
  const refusing: TransactionSource<object> = async (work) => {
    await work({})
    throw conflict
  }
  const known = begin(succeed, { tasks, source: refusing })
  await soon(known.batch.ended)
  expect(known.batch.returned).toBe(tasks)
})

test('of which the transaction is begun again is handled again, and who completed it before hears of it', async () => {
  const tasks = tasksOf('ab')
  const twice: TransactionSource<object> = async (work) => {
    await work({})
    return work({})
  }
  const heard: unknown[] = []
  const { batch, events } = begin(
    async (some, { complete }) => {
      await complete(() => succeed(some)).then(
        ({ completed }) => heard.push(completed),
        (error: TaskError) => heard.push(error.code, error.data),
      )
    },
    { tasks, source: twice },
  )
  await soon(batch.ended)
  await soon(batch.handled)
  expect([heard, events()]).toEqual([['TRANSACTION_CONFLICT', { topic: 'mail' }, tasks], ['onComplete']])
})

test('is completed once, whoever asks: before, and after it is committed or rolled back', async () => {
  const tasks = tasksOf('ab')
  const contexts: HandlerContext<object>[] = []
  const code = (promise: Promise<unknown>): Promise<unknown> =>
    promise.then(
      () => 'done',
      (error: TaskError) => error.code,
    )
  const twice: unknown[] = []
  const { batch } = begin(
    async (some, { complete }) => {
      const first = complete(succeed(some))
      twice.push(await code(complete(succeed(some))), await code(first))
    },
    { tasks },
  )
  await soon(batch.handled)
  expect(twice).toEqual(['LIFECYCLE', 'done'])
  const returning = begin((some, context) => (contexts.push(context), succeed(some)), { tasks })
  await soon(returning.batch.ended)
  expect(await code(contexts[0]!.complete(new Map()))).toBe('LIFECYCLE')
  const throwing = begin((_, context) => (contexts.push(context), Promise.reject(refused)), { tasks })
  await soon(throwing.batch.ended)
  await expect(contexts[1]!.complete(new Map())).rejects.toMatchObject({ code: 'TASK_LOST', data: { lost: tasks } })
})

test('gives what the handler completes with its transaction and its tasks', async () => {
  const tasks = tasksOf('ab')
  const transaction = {}
  const seen: unknown[] = []
  const { batch } = begin(
    async (_, { complete }) => {
      const completion = await complete((...given) => (seen.push(...given), succeed(tasks)))
      seen.push(completion)
    },
    { tasks, source: async (work) => work(transaction) },
  )
  await soon(batch.ended)
  expect(seen[0]).toBe(transaction)
  expect(seen.slice(1)).toEqual([tasks, { completed: tasks, lost: [] }])
})

test('that is committed goes on with its handler; what that throws then is told, and otherwise nothing', async () => {
  const tasks = tasksOf('ab')
  const gate = Promise.withResolvers<void>()
  const late = begin(
    async (some, { complete }) => {
      await complete(succeed(some))
      await gate.promise
      throw refused
    },
    { tasks },
  )
  await settled()
  let ended = false
  void late.batch.ended.then(() => (ended = true))
  await settled()
  expect([ended, late.events(), late.batch.finished]).toEqual([false, ['onComplete'], tasks])
  gate.resolve()
  await soon(late.batch.ended)
  expect(late.answers.told[1]).toEqual(['onError', { topic: 'mail', tasks, activity: 'handle', error: refused }])
  expect(late.batch.failed).toBe(false)
  // Of what was rolled back it was told.
  const answers = answering()
  answers.answer = () => {
    throw busy
  }
  const failed = begin(async (some, { complete }) => void (await complete(succeed(some))), { tasks, answers })
  await soon(failed.batch.handled)
  expect(failed.events()).toEqual(['onError'])
})

test('discards what it has ended, as the topic does', async () => {
  const { batch, given } = begin(succeed, { discard: ['succeeded'] })
  await soon(batch.ended)
  expect(given.at(-1)).toEqual({ strict: true, discard: ['succeeded'] })
})

test.each([
  ['LEASE_LOST', 'rolled back', []],
  ['SHUTDOWN', 'completed', ['complete a,b']],
] as const)(
  'of a topic with a total that is asked to let go by %s is %s, whatever its handler decides',
  async (code, _, asked) => {
    const gate = Promise.withResolvers<void>()
    const { batch, answers, polled, events } = begin(
      async (tasks) => {
        await gate.promise
        return succeed(tasks)
      },
      { holdsSlots: (leaseLost) => !leaseLost },
    )
    await soon(polled)
    batch.abort(new TaskError(code, 'let go'))
    gate.resolve()
    await soon(batch.ended)
    expect(answers.asked).toEqual(asked)
    expect(events()).toEqual([asked.length > 0 ? 'onComplete' : 'onReturned'])
    expect(batch.failed).toBe(asked.length === 0)
  },
)

test('of which others may have the slots says so, as nobody has asked it to let go', async () => {
  const { batch, answers, polled } = begin(succeed, { holdsSlots: (leaseLost) => leaseLost })
  const tasks = await soon(polled)
  await soon(batch.ended)
  expect([answers.asked, batch.returned]).toEqual([[], tasks])
  expect(answers.told).toMatchObject([['onError', { activity: 'complete', error: { code: 'TASK_LOST', data: { lost: tasks } } }]])
})

test('tells of an error that the database cannot name as it is', async () => {
  const odd = new Error('odd')
  const answers = answering()
  Object.assign(answers.transactions, { classify: () => undefined })
  answers.answer = () => {
    throw odd
  }
  const { batch } = begin(succeed, { answers })
  await soon(batch.ended)
  expect(answers.told).toMatchObject([['onError', { activity: 'complete', error: odd }]])
  expect(answers.told[0]![1]['error']).toBe(odd)
})
