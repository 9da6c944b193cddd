/** A node of all topics. Its handlers write an effect for each task in the transaction that completes it. */
import { setTimeout as delay } from 'node:timers/promises'
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask, TaskNotifier } from '@taskstream/task-api'
import { buffering, exponential, TaskNode } from '@taskstream/task-processor'
import type { BatchHandler, HeartbeatThread, StopReport } from '@taskstream/task-processor'
import { sql } from '@taskstream/task-sql'
import { pgListener } from '@taskstream/task-sql/pg'
import pg from 'pg'
import type { AnyTransaction } from '../../subject.ts'
import type { TaskName } from '../checker/history.ts'
import { leaseMs, optionsOf, topics } from '../setting.ts'
import type { LaboratoryTopic, Orders } from '../setting.ts'
import { beActor, insist } from './actor.ts'

await beActor(async ({ orders, random, history, subject, transactions, tasks }) => {
  const repository = tasks()
  const notifier: TaskNotifier | undefined =
    subject.engine === 'postgres'
      ? pgListener(
          () =>
            new pg.Client({
              connectionString: orders.location.at,
              application_name: `laboratory listener ${orders.actor}`,
              connectionTimeoutMillis: 2_000,
            }),
          { pingMs: 1_000 },
        )
      : undefined

  // The heartbeats of some nodes come from a thread. Those may compute for longer than their lease.
  const heartbeatThread = random() < 0.34 ? threadOf(orders) : undefined

  const handlerOf = ({ strict, next }: LaboratoryTopic): BatchHandler<AnyTransaction> => {
    return async (_, { complete, topic }) => {
      if (random() < 0.02) throw new Error('made up')
      // Most are quick, and some are at it for a while.
      if (random() < 0.1) await delay(random() * 400)
      if (heartbeatThread && random() < 0.005) compute(1.2 * leaseMs)
      await complete(async (transaction, held) => {
        const decisions = held.map((task): [HeldTask, TaskDecision] => [task, decide(strict)])
        for (const [{ sequence, attempt, identifier, input = '' }, { result }] of decisions) {
          if (result !== 'success') continue
          await subject.execute(
            transaction,
            sql`insert into lab_effect (topic, sequence, attempt, task_key) values (${topic}, ${sequence}, ${attempt}, ${input})`,
          )
          if (next !== undefined) await repository.push(transaction, next, [{ identifier, input: `${input} of ${topic}` }])
        }
        return new Map(decisions)
      })
    }
  }
  function decide(isStrict: boolean): TaskDecision {
    const dice = random()
    if (dice < 0.05) return TaskDecision.retry({ afterMs: Math.floor(random() * 200) })
    if (isStrict || dice < 0.9) return TaskDecision.success()
    return dice < 0.95 ? TaskDecision.failure('made up') : TaskDecision.suspension()
  }

  const node = new TaskNode<AnyTransaction>({
    repository,
    transactions,
    ...(notifier && { notifier }),
    heartbeatIntervalMs: leaseMs / 10,
    ...(heartbeatThread && { heartbeatThread }),
    leaseMs,
    maintenanceIntervalMs: leaseMs / 10,
    // Errors are what the laboratory is about. The checker tells which of them did harm.
    listener: {
      onError: ({ activity, topic, error }) =>
        void (activity === 'poll' && topic !== undefined && history.say({ verb: 'unsure', topic, why: String(error) })),
      onFatal: () => {},
      onStuck: () => {},
    },
  })
  for (const topic of topics.filter(({ typed }) => !typed)) {
    const { name, mode, small } = topic
    const handler = handlerOf(topic)
    node.process(name, {
      ...optionsOf(topic),
      handler: small === 'buffered' ? buffering<AnyTransaction>({ buffer: 4, workers: 3, handler }) : handler,
      size: small === undefined ? 1 + Math.floor(random() * 20) : 1,
      ...(small !== 'buffered' && { concurrency: mode === 'transactional' ? 1 : small === 'shared' ? 8 : 2 }),
      ...(small === 'shared' && { share: 50 }),
      ...(mode === 'transactional' && { mode, timeoutMs: leaseMs / 2, abortMs: leaseMs / 4 }),
      retry: exponential({ tries: 1_000, firstMs: 10, maxMs: 200 }),
      idleMs: 500,
    })
  }
  await insist(() => node.start())
  return {
    owner: repository.owner,
    stop: async () => {
      const report = await node.stop({ graceMs: 1_000, abortMs: 1_000, leaveMs: 5_000 })
      history.say({ verb: 'stop', phase: 'done', ...named(report) })
    },
  }
})

function threadOf({ location: { subject, at }, actor }: Orders): HeartbeatThread {
  const module = new URL('../../e2e/beating.ts', import.meta.url)
  module.search = new URLSearchParams({ subject, at, told: actor }).toString()
  const loader = new URL('../../e2e/strip-types.js', import.meta.url).href
  return { module, worker: { execArgv: ['--conditions=@taskstream/source', `--import=${loader}`, '--no-strip-types'] } }
}

/** Makes the event loop stand still. */
function compute(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}

function named({ finished, returned, abandoned }: StopReport): {
  finished: TaskName[]
  returned: TaskName[]
  abandoned: TaskName[]
} {
  const names = (held: readonly HeldTask[]): TaskName[] =>
    held.map(({ topic, sequence, attempt }) => ({ topic, sequence, attempt }))
  return { finished: names(finished), returned: names(returned), abandoned: names(abandoned) }
}
