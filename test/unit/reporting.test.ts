/** What a node tells of itself is small, true of now, and has no secret. */
import { TaskDecision } from '@taskstream/task-api'
import type { Execution, HeldTask, NodeReport, TaskRepository } from '@taskstream/task-api'
import { expect, test } from 'vitest'
import { Dispatcher } from '../../packages/task-processor/src/core/dispatcher.ts'
import { safeListener } from '../../packages/task-processor/src/core/listener.ts'
import { Hearing } from '../../packages/task-processor/src/worker/hearing.ts'
import { Reporting } from '../../packages/task-processor/src/worker/reporting.ts'
import type { ReportingOptions } from '../../packages/task-processor/src/worker/reporting.ts'

const task = { topic: 'mail', sequence: 1, identifier: 'a' } as HeldTask

function completed(hearing: Hearing, decision: TaskDecision): void {
  hearing.onComplete({
    topic: 'mail',
    tasks: [task],
    completion: { completed: [task], lost: [] },
    decisions: new Map([[task, decision]]),
  })
}

test('a topic of which something is completed is in no trouble any more, whoever forgot to say so', () => {
  const hearing = new Hearing()
  for (const activity of ['poll', 'complete'] as const) {
    hearing.onError({ activity, topic: 'mail', error: new Error('gone') })
    expect(hearing.of('mail').error).toMatchObject({ activity, message: 'gone' })
    completed(hearing, TaskDecision.failure())
    expect(hearing.of('mail').error).toBeUndefined()
  }
  expect(hearing.of('mail')).toEqual({ ended: 2, failed: 2 })
  // The failure of a handler is no trouble of the node.
  hearing.onError({ activity: 'handle', topic: 'mail', error: new Error('no') })
  expect(hearing.of('mail').error).toBeUndefined()
})

test.each([
  ['postgres://shop:secret@db/orders', 'postgres://…@db/orders'],
  ['postgres://shop:se/cr@et@db/orders', 'postgres://…@db/orders'],
  ['mysql://shop@db/orders is gone', 'mysql://…@db/orders is gone'],
  ['no address', 'no address'],
  ['x'.repeat(600), `${'x'.repeat(499)}…`],
])('no password of an address is told: %s', (message, told) => {
  const hearing = new Hearing()
  hearing.onError({ activity: 'heartbeat', error: new Error(message) })
  expect(hearing.trouble?.message).toBe(told)
})

test('a report of ten thousand topics is cut, and never refused for its length', async () => {
  const told: NodeReport[] = []
  const repository = {
    report: async (_transaction: object, report: NodeReport) => (told.push(report), { quiet: false }),
    limitStatements: async () => {},
  } as unknown as TaskRepository<object, Execution>
  const managers = Array.from({ length: 10_000 }, (_, index) => ({
    topic: `${index}`.padStart(250, 't'),
    isActive: true,
    processing: { mode: 'leased', size: 100 },
    concurrency: 2,
    batches: [],
  }))
  const reporting = new Reporting<object>({
    repository,
    dispatcher: new Dispatcher<object>({ repository, transactions: async (work) => work({}), statementTimeoutMs: 60_000 }),
    listener: safeListener({}),
    hearing: new Hearing(),
    leaseMs: 30_000,
    clock: { monotonicMs: () => 0 },
    managers: () => managers as unknown as ReturnType<ReportingOptions<object>['managers']>,
    onResumed: () => {},
  })
  await reporting.begin()
  expect(told).toHaveLength(1)
  expect(told[0]!.topics.length).toBeGreaterThan(100)
  expect(JSON.stringify(told[0]!.topics).length).toBeLessThan(262_144)
})
