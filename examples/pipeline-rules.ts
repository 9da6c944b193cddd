import assert from 'node:assert/strict'
import { test } from 'node:test'
import { duplicates, partialBatch, TaskDecision, TaskDecisionError } from '@taskstream/task-api'
import { composite, exponential, pushing, tagging } from '@taskstream/task-processor'
import { testTasks } from '@taskstream/task-testing'

test('a task goes on until a step decides otherwise', async () => {
  await using tasks = await testTasks({ topics: ['mail'] })
  await tasks.push('mail', 'fine', 'old', 'refused', 'unlucky')
  const sent: string[] = []
  const pipeline = composite()
    .each('check', ({ identifier }) => {
      if (identifier === 'old') return TaskDecision.filter('sent last year')
      if (identifier === 'refused') throw new TaskDecisionError(TaskDecision.failure('no such address'))
    })
    .each(
      'send',
      ({ identifier }) => {
        if (identifier === 'unlucky') throw new Error('the mail server is down')
        sent.push(identifier)
      },
      { after: ['check'] },
    )

  const { handled } = await tasks.drain('mail', pipeline, { retry: exponential({ tries: 3, firstMs: 60_000 }) })

  assert.deepEqual(sent, ['fine'])
  assert.deepEqual(
    handled.map(({ task, state }) => `${task.identifier} ${state}`),
    ['fine succeeded', 'old filtered', 'refused failed', 'unlucky suspended'],
  )
})

test('of several mails to one address the last is sent', async () => {
  await using tasks = await testTasks({ topics: ['mail'] })
  await tasks.push('mail', 'a@example.org', 'b@example.org', 'a@example.org')
  const pipeline = composite()
    .batch('latest', duplicates.outdated())
    .batch('greet', partialBatch({ predicate: ({ identifier }) => identifier.startsWith('b'), delegate: () => {} }), {
      after: ['latest'],
    })

  const { handled } = await tasks.drain('mail', pipeline)

  assert.deepEqual(
    handled.map(({ decision }) => decision.result),
    ['filter', 'success', 'success'],
  )
})

test('what contexts write is there with the completion, or not at all', async () => {
  await using tasks = await testTasks({ topics: ['mail'] })
  tasks.database.exec('create table sent (address text primary key)')
  await tasks.push('mail', 'a', 'b', 'b')
  const store = {
    apply: (database: typeof tasks.database, decisions: ReadonlyMap<{ identifier: string }, TaskDecision>) => {
      for (const { identifier } of decisions.keys()) database.prepare('insert into sent values (?)').run(identifier)
    },
  }

  const { handled } = await tasks.drain(
    'mail',
    composite({ contexts: [store] }).each('send', () => {}),
  )

  assert.deepEqual(
    handled.map(({ state }) => state),
    ['failed', 'failed', 'failed'],
  )
  assert.deepEqual(tasks.database.prepare('select * from sent').all(), [])
})

test('an order is packed and paid for, and then it is sent', async () => {
  await using tasks = await testTasks({ topics: ['pay', 'pack'] })
  tasks.repository.initialize(tasks.database, 'send', { keyed: true })
  await tasks.push('send', { identifier: 'order-7', suspended: true })
  await tasks.push('pay', 'order-7')
  await tasks.push('pack', 'order-7')
  const outbox = pushing({ repository: tasks.repository, postprocess: tagging(({ topic, sequence }) => `${topic}@${sequence}`) })
  const pipeline = composite({ contexts: [outbox] }).each('done', (task, supplement) => {
    const pushes = supplement.require(outbox)
    pushes.pushByTask(task, 'send', { identifier: `${task.identifier}:${task.topic}`, suspended: true })
    pushes.junctionByTask(task, 'send', [`${task.identifier}:pay`, `${task.identifier}:pack`])
  })
  const send = () =>
    tasks.repository
      .page(tasks.database, 'send')
      .map(({ identifier, state, reference = '' }) => `${identifier} ${state} ${reference}`.trim())

  await tasks.drain('pay', pipeline)
  assert.deepEqual(send(), ['order-7 suspended', 'order-7:pay suspended pay@2'])

  await tasks.drain('pack', pipeline)
  assert.deepEqual(send(), ['order-7 ready', 'order-7:pay ready pay@2', 'order-7:pack ready pack@3'])
})

test('steps are measured one by one', async () => {
  await using tasks = await testTasks({ topics: ['mail'] })
  await tasks.push('mail', 'a', 'b')
  const measured: string[] = []
  const pipeline = composite({
    decorate:
      ({ id }, run) =>
      async (batch, ...rest) => {
        const began = performance.now()
        try {
          return await run(batch, ...rest)
        } finally {
          measured.push(`${id}: ${batch.length} tasks in ${performance.now() - began < 60_000 ? 'time' : 'vain'}`)
        }
      },
  })
    .each('check', ({ identifier }) => (identifier === 'a' ? TaskDecision.filter() : undefined))
    .batch('send', () => {}, { after: ['check'] })

  await tasks.drain('mail', pipeline)

  assert.deepEqual(measured, ['check: 2 tasks in time', 'send: 1 tasks in time'])
})
