/** A shop in trouble: what the pictures of the guide show, and what the tests of the browser look at. */
import { TaskDecision } from '@taskstream/task-api'
import { periodicTasks } from '@taskstream/task-scheduler'
import { raw, sql } from '@taskstream/task-sql'
import type { Fixture } from '@taskstream/task-testing/suite'
import type { Subject, Tasks } from '../subject.ts'

export interface Shop {
  readonly poison: number
  readonly blocked: number
  readonly fingerprint: string
  readonly owner: string
  /** Has the processes live: those that a test has not done this for half a minute count as dead. */
  beat(): Promise<void>
}

export async function makeShop(fixture: Fixture<Subject>): Promise<Shop> {
  const { commit, subject } = fixture
  await commit((transaction) => fixture.tasks.destroy(transaction, fixture.topic))
  const topics = {
    invoices: { condition: 'singular-by-identifier-suspend-on-failure' },
    webhooks: {},
    mail: {},
    exports: {},
    thumbs: {},
  } as const
  for (const [topic, options] of Object.entries(topics))
    await commit((transaction) => fixture.tasks.initialize(transaction, topic, options))
  const node = async (name: string, release: string, processed: readonly string[]): Promise<Tasks> => {
    const tasks = subject.tasks({ release, owner: name })
    await commit((transaction) => tasks.register(transaction))
    const told = processed.map((topic, index) => ({
      topic,
      mode: 'leased' as const,
      size: 1,
      concurrency: 8,
      busy: index,
      ended: 120 * (index + 1),
      failed: index,
    }))
    await commit((transaction) =>
      tasks.report(transaction, { kind: 'node', host: name, pid: 881, leaseMs: 30_000, blockedMs: 4, topics: told }),
    )
    return tasks
  }
  const [first, second] = [
    await node('worker-1', '4.2.0', ['invoices', 'mail', 'thumbs']),
    await node('worker-2', '4.2.1', ['invoices', 'webhooks']),
  ]
  const push = (topic: string, creations: Parameters<Tasks['push']>[2]) =>
    commit((transaction) => fixture.tasks.push(transaction, topic, creations))
  const end = async (by: Tasks, topic: string, size: number, decision: TaskDecision): Promise<void> => {
    const held = await commit((transaction) => by.poll(transaction, topic, { size }))
    await commit((transaction) => by.complete(transaction, topic, new Map(held.map((task) => [task, decision]))))
  }
  const order = (index: number) => ({
    identifier: `inv-${index}`,
    reference: `customer-${index % 7}`,
    input: JSON.stringify({ order: index, total: 12.5, card: '4111111111111111' }),
  })
  const done = Array.from({ length: 40 }, (_, index) => order(100 + index))
  await push('invoices', done)
  await end(first, 'invoices', 40, TaskDecision.success())
  const [poison] = await push('invoices', [order(7)])
  await end(second, 'invoices', 1, TaskDecision.failure(new RangeError('card declined: insufficient funds of customer 7')))
  const [blocked] = await push('invoices', [order(7)])
  await push(
    'invoices',
    Array.from({ length: 12 }, (_, index) => order(200 + index)),
  )
  await commit((transaction) => second.poll(transaction, 'invoices', { size: 3 }))
  await push(
    'webhooks',
    Array.from({ length: 60 }, (_, index) => ({ identifier: `hook-${index}`, maxTries: 10 })),
  )
  await end(
    second,
    'webhooks',
    24,
    TaskDecision.retry({ afterMs: 900_000 }, new Error('HTTP 503 from https://hooks.customer.example/in')),
  )
  await end(second, 'webhooks', 6, TaskDecision.failure(new TypeError("Cannot read properties of undefined (reading 'url')")))
  await push(
    'mail',
    Array.from({ length: 37 }, (_, index) => `mail-${index}`),
  )
  await commit((transaction) => fixture.tasks.deactivate(transaction, 'mail', { actor: 'kari', note: 'the SMTP server is down' }))
  await push(
    'exports',
    Array.from({ length: 259 }, (_, index) => `export-${index}`),
  )
  await push(
    'thumbs',
    Array.from({ length: 8 }, (_, index) => ({ identifier: `thumb-${index}`, delayMs: 600_000 * (index + 1) })),
  )
  const age = (table: 'task', topic: string, ms: number): Promise<unknown> => {
    const set = fixture.tasks.verb(function* ({ dialect }) {
      yield sql`update ${dialect.tables[table]} set ${raw('created')} = ${dialect.expr.instant(sql`${Date.now() - ms}`)} where topic = ${topic}`
    })
    return commit((transaction) => set(transaction))
  }
  await age('task', 'exports', 840_000)
  await age('task', 'mail', 10_800_000)
  // The fixture's own owner tells nothing of itself, as one of an early release would.
  await commit((transaction) => fixture.tasks.unregister(transaction))
  const beat = async (): Promise<void> => {
    for (const each of [first, second]) await commit((transaction) => each.heartbeat(transaction))
  }
  const timers = periodicTasks(fixture.tasks)
  await commit(async (transaction) => {
    await timers.schedule(transaction, {
      id: 'nightly-export',
      timer: 'Mon..Fri 02:30 Europe/Oslo',
      topic: 'exports',
      summary: 'Everything for the accountant',
    })
    await timers.schedule(transaction, { id: 'thumbnails', timer: 'hourly', topic: 'thumbs' })
    await timers.pause(transaction, 'thumbnails')
    await fixture.tasks.record(transaction, {
      action: 'pause',
      topic: 'mail',
      actor: 'kari',
      via: 'cli',
      count: 0,
      note: 'the SMTP server is down',
    })
    await fixture.tasks.record(transaction, { action: 'redrive', topic: 'webhooks', actor: 'ola', via: 'console', count: 24 })
  })
  const [group] = await commit((transaction) => fixture.tasks.errors(transaction, { topic: 'webhooks' }))
  return { poison: poison!.sequence, blocked: blocked!.sequence, fingerprint: group!.fingerprint, owner: second.owner, beat }
}
