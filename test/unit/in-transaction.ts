/** Batches in one transaction, over a database that answers as a test wants it to. */
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask, PollOptions, TransactionSource } from '@taskstream/task-api'
import type { Clock } from '@taskstream/task-processor'
import type { BatchEnvironment } from '../../packages/task-processor/src/batches/batch.ts'
import { Dispatcher } from '../../packages/task-processor/src/core/dispatcher.ts'
import type { BatchHandler } from '../../packages/task-processor/src/core/task-handler.ts'
import { TransactionalBatch } from '../../packages/task-processor/src/batches/transactional-batch.ts'
import { answering, tasksOf } from './answering.ts'
import type { Answering } from './answering.ts'

export const success = TaskDecision.success()
export const succeed = (tasks: readonly HeldTask[]): Map<HeldTask, TaskDecision> => new Map(tasks.map((task) => [task, success]))

export interface Begun {
  readonly batch: TransactionalBatch<object>
  readonly answers: Answering
  readonly polled: Promise<readonly HeldTask[]>
  readonly given: unknown[]
  /** The names of what was told. */
  events(): string[]
}

export interface Given {
  readonly tasks?: readonly HeldTask[]
  /** Comes before the answer to the poll. */
  readonly onPoll?: (batch: TransactionalBatch<object>) => void | Promise<void>
  /** How transactions are run. */
  readonly source?: TransactionSource<object>
  readonly answers?: Answering
  readonly timeoutMs?: number
  readonly clock?: Clock
  readonly discard?: BatchEnvironment<object>['discard']
  readonly holdsSlots?: (leaseLost: boolean) => boolean
}

export function begin(
  handler: BatchHandler<object>,
  {
    tasks = tasksOf('ab'),
    onPoll = () => {},
    source,
    answers = answering(),
    timeoutMs,
    clock = answers.clock,
    discard,
    holdsSlots,
  }: Given = {},
): Begun {
  const given: unknown[] = []
  let polls = 0
  const { repository: below } = answers.environment
  const repository = {
    ...below,
    poll: async (_: object, topic: string, options: PollOptions) => {
      given.push({ topic, ...options })
      await onPoll(batch)
      return polls++ === 0 ? tasks : tasks.map((task) => ({ ...task }))
    },
    complete: async (...args: Parameters<typeof below.complete>) => {
      given.push(args[3])
      return below.complete(...args)
    },
  } as unknown as BatchEnvironment<object>['repository']
  const dispatcher = source
    ? new Dispatcher({ repository, transactions: source, statementTimeoutMs: 60_000 })
    : answers.dispatcher
  const environment = answers.handledBy(handler, { repository, dispatcher, timeoutMs, clock, discard })
  const batch = new TransactionalBatch<object>(environment, holdsSlots)
  const polled = batch.begin({ size: 2 })
  return { batch, answers, polled, given, events: () => answers.told.map(([name]) => name) }
}

/** Everything that goes on by itself has gone on. */
export const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
