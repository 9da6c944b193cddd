import { checkInteger, checkNames, optionNames, TaskError, taskLimits, taskToString } from '@taskstream/task-api'
import type { HeldTask, PromotedDue, TaskDecision, TaskRepository, TaskState, TransactionSource } from '@taskstream/task-api'
import { handleBatch } from '@taskstream/task-processor'
import type { BatchOutcome, ProcessOptions, TaskHandler } from '@taskstream/task-processor'
import type { TestClock } from './test-clock.ts'

export interface DrainOptions<Transaction> extends Pick<ProcessOptions<Transaction>, 'size' | 'retry'> {
  /** Whether to move the clock to the topic's next due time when no task is ready, until no task waits for one. Default false. */
  readonly advance?: boolean
  /**
   * The most batches, and the most moves of the clock; 1 to 1 000 000. Default 1000, so that a handler that always retries does
   * not hang its test.
   */
  readonly rounds?: number
}

const names = optionNames<DrainOptions<never>>('drain', { size: true, retry: true, advance: true, rounds: true })

/** A completed task and its decision. A task that is retried appears once for each of its tries. */
export interface HandledTask {
  readonly task: HeldTask
  readonly decision: TaskDecision
  /** The task's state after its completion. A retry becomes `'failed'`, for example, where no tries are left. */
  readonly state: TaskState
}

export interface Drained {
  /** The completed tasks, in the order of their completion. */
  readonly handled: readonly HandledTask[]
  /** Tasks that were no longer held when they were to be completed. The drain wrote nothing for them. */
  readonly lost: readonly HeldTask[]
}

/** Everything that a drain uses. */
export interface DrainEnvironment<Transaction> {
  readonly repository: TaskRepository<Transaction, 'sync'>
  readonly transactions: TransactionSource<Transaction>
  readonly clock: TestClock
}

/** Runs a node's poll loop without its waiting: promotes, polls, handles and completes until no task is ready. */
export async function drain<Transaction>(
  environment: DrainEnvironment<Transaction>,
  topic: string,
  handler: TaskHandler<Transaction>,
  options: DrainOptions<Transaction> = {},
): Promise<Drained> {
  const { repository, transactions, clock } = environment
  checkNames(names, options)
  const { size = 100, rounds = 1_000, advance = false, retry } = options
  checkInteger('size', size, 1, taskLimits.pollSize)
  checkInteger('rounds', rounds, 1, 1_000_000)
  const handled: HandledTask[] = []
  const lost: HeldTask[] = []
  for (let round = 1, moves = 1; ;) {
    const nextDueMs = await release(environment, topic)
    const batch = await transactions<HeldTask[]>((transaction) => {
      // A drain counts as a live node, so the owner must not seem dead however far the test has moved the clock.
      repository.heartbeat(transaction)
      return repository.poll(transaction, topic, { size })
    })
    if (batch.length === 0) {
      if (!advance || !nextDueMs) return { handled, lost }
      // A move of the clock usually makes a task ready. Another owner may take or postpone the task each time, so moves are
      // limited too.
      if (moves++ > rounds) throw await endless(environment, topic, rounds, [])
      clock.advance(nextDueMs)
      continue
    }
    if (round++ > rounds) throw await endless(environment, topic, rounds, batch)
    const outcome = await handleBatch(batch, { repository, transactions, topic, handler, ...(retry ? { retry } : {}) })
    handled.push(...(await states(environment, topic, outcome)))
    lost.push(...outcome.completion.lost)
  }
}

/** @returns the milliseconds until the next task is due, or undefined if no task waits */
async function release<Transaction>(
  { repository, transactions }: DrainEnvironment<Transaction>,
  topic: string,
): Promise<number | undefined> {
  for (;;) {
    const { promoted, nextDueMs } = await transactions<PromotedDue>((transaction) => repository.promoteDue(transaction, topic))
    if (promoted === 0) return nextDueMs
  }
}

function states<Transaction>(
  { repository, transactions }: DrainEnvironment<Transaction>,
  topic: string,
  { decisions, completion }: BatchOutcome,
): Promise<HandledTask[]> {
  return transactions((transaction) =>
    completion.completed.flatMap((task) => {
      const decision = decisions.get(task)
      return decision
        ? [{ task, decision, state: repository.task(transaction, topic, task.sequence)?.state ?? decision.state }]
        : []
    }),
  )
}

/** Hands the polled tasks back, so that the test can look at them or drain again. */
async function endless<Transaction>(
  { repository, transactions }: DrainEnvironment<Transaction>,
  topic: string,
  rounds: number,
  tasks: readonly HeldTask[],
): Promise<TaskError> {
  await transactions((transaction) => repository.handBack(transaction, topic, tasks))
  const what = tasks[0] ? `are still ready, the first is ${taskToString(tasks[0])}` : 'still wait to be due'
  return new TaskError(
    'DRAIN_ENDLESS',
    `After ${rounds} rounds tasks of topic "${topic}" ${what}: does the handler retry or push for ever? Otherwise allow more rounds`,
    { topic, rounds, tasks },
  )
}
