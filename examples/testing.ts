import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isTaskError, TaskDecision } from '@taskstream/task-api'
import { eachTask, exponential } from '@taskstream/task-processor'
import { testTasks } from '@taskstream/task-testing'
import { defineJob, json } from 'taskstream'
import { testStream } from 'taskstream/testing'

test('mail without an address is filtered', async () => {
  await using tasks = await testTasks({ topics: ['mail'] })
  await tasks.push('mail', { identifier: 'inv-1', input: 'a@example.org' }, 'inv-2')

  const handler = eachTask(({ input }) => (input ? TaskDecision.success(`sent to ${input}`) : TaskDecision.filter('no address')))
  const { handled } = await tasks.drain('mail', handler)

  assert.deepEqual(
    handled.map(({ task, decision }) => `${task.identifier} ${decision.result}: ${decision.toMessage()}`),
    ['inv-1 success: sent to a@example.org', 'inv-2 filter: no address'],
  )
})

test('an invoice and its mail are there together, or not at all', async () => {
  await using tasks = await testTasks({ topics: ['mail'] })
  tasks.database.exec('create table invoice (id text primary key)')
  const createInvoice = (id: string) =>
    tasks.transactions((database) => {
      tasks.repository.push(database, 'mail', id)
      database.prepare('insert into invoice values (?)').run(id)
    })

  await createInvoice('inv-1')
  await assert.rejects(createInvoice('inv-1'), /UNIQUE/)

  assert.equal(tasks.repository.page(tasks.database, 'mail').length, 1)
})

test('a reminder is sent after a week', async () => {
  await using tasks = await testTasks({ topics: ['reminders'], now: new Date('2026-01-01') })
  await tasks.push('reminders', { identifier: 'inv-1', delayMs: 7 * 86_400_000 })
  const sent: string[] = []
  const handler = eachTask(({ identifier }) => void sent.push(`${identifier} on ${tasks.clock.now().toISOString()}`))

  await tasks.drain('reminders', handler)
  assert.deepEqual(sent, [])

  tasks.clock.advance(7 * 86_400_000)
  await tasks.drain('reminders', handler)
  assert.deepEqual(sent, ['inv-1 on 2026-01-08T00:00:00.000Z'])
})

test('a mail is tried three times', async () => {
  await using tasks = await testTasks({ topics: ['mail'], now: new Date('2026-01-01') })
  await tasks.push('mail', 'inv-1')
  const handler = eachTask(() => {
    throw new Error('the mail server is down')
  })

  const retry = exponential({ tries: 3, firstMs: 5_000, jitter: 0 })
  const { handled } = await tasks.drain('mail', handler, { retry, advance: true })

  assert.deepEqual(
    handled.map(({ state }) => state),
    ['suspended', 'suspended', 'failed'],
  )
  assert.equal(tasks.clock.now().toISOString(), '2026-01-01T00:00:15.000Z')
})

test('a drain is bounded', async () => {
  await using tasks = await testTasks({ topics: ['mail'] })
  await tasks.push('mail', 'inv-1')
  const handler = eachTask(() => TaskDecision.retry({ afterMs: 0 }))

  await assert.rejects(tasks.drain('mail', handler, { rounds: 10 }), (error) => isTaskError(error, 'DRAIN_ENDLESS'))
})

test('a mail that another worker took over is not completed twice', async () => {
  await using tasks = await testTasks({ topics: ['mail'] })
  const rival = tasks.owner('rival')
  rival.register(tasks.database)
  await tasks.push('mail', 'inv-1')

  const { handled, lost } = await tasks.drain(
    'mail',
    eachTask(() => {
      tasks.clock.advance(60_000)
      rival.expire(tasks.database, { olderThanMs: 30_000, then: 'ready' })
      rival.poll(tasks.database, 'mail')
    }),
  )

  assert.deepEqual(handled, [])
  assert.equal(lost[0]?.identifier, 'inv-1')
})

test('an order has its invoice, and a mail that says so', async () => {
  const email = defineJob('email', { input: json<{ to: string; subject: string }>() })
  const invoice = defineJob('invoice', { input: json<{ id: number; customer: string }>() })
  await using stream = await testStream({ jobs: [email] })
  stream.database.exec('create table invoice (id integer)')
  stream.handle(invoice, ({ input, commit }) =>
    commit((tx) => {
      tx.prepare('insert into invoice values (?)').run(input.id)
      stream.push(tx, email, { to: input.customer, subject: `Invoice ${input.id}` })
    }),
  )

  await stream.submit(invoice, { id: 7, customer: 'ann' })
  const tries = await stream.drain()

  assert.deepEqual(
    tries.map(({ job, state }) => `${job} ${state}`),
    ['invoice succeeded'],
  )
  assert.deepEqual(await stream.pushed(email), [{ to: 'ann', subject: 'Invoice 7' }])
})
