import { checkInteger, checkNames, optionNames, TaskError, taskLimits, taskToString } from '@taskstream/task-api'
import type { HeldTask, PromotedDue, TaskDecision, TaskRepository, TaskState, TransactionSource } from '@taskstream/task-api'
import { handleBatch } from '@taskstream/task-processor'
import type { BatchOutcome, ProcessOptions, TaskHandler } from '@taskstream/task-processor'
import type { TestClock } from './test-clock.ts'

export interface DrainOptions<Transaction> extends Pick<ProcessOptions<Transaction>, 'size' | 'retry'> {
  /** Go on when nothing is ready: move the clock to the next due time of the topic, until nothing waits for one. Default false. */
  readonly advance?: boolean
  /** Batches, and moves of the clock, at most; 1 to 1 000 000. Default 1000: a handler that always retries must not hang its test. */
  readonly rounds?: number
}

const names = optionNames<DrainOptions<never>>('drain', { size: true, retry: true, advance: true, rounds: true })

/** What became of a task. A task that is retried is there once for each time. */
export interface HandledTask {
  readonly task: HeldTask
  readonly decision: TaskDecision
  /** What the task was after its completion: `'failed'`, say, where a retry found no tries left. */
  readonly state: TaskState
}

export interface Drained {
  /** Every completion, in their order. */
  readonly handled: readonly HandledTask[]
  /** No longer held when they were to be completed: nothing was written for them. */
  readonly lost: readonly HeldTask[]
}

/** What a drain works on. */
export interface DrainEnvironment<Transaction> {
  readonly repository: TaskRepository<Transaction, 'sync'>
  readonly transactions: TransactionSource<Transaction>
  readonly clock: TestClock
}

/** A node's poll loop without its waiting: release, poll, handle, complete, one after the other, until nothing is ready. */
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
      // Whatever the clock has been moved by meanwhile: a node that polls is one that lives.
      repository.heartbeat(transaction)
      return repository.poll(transaction, topic, { size })
    })
    if (batch.length === 0) {
      if (!advance || !nextDueMs) return { handled, lost }
      // A move brings a batch, unless somebody else takes what is due or puts it off, which may go on for ever as well.
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

/** @returns the milliseconds until the next task is due, if one waits */
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

/** What was polled is let go of: the test can still look at it, or drain again. */
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
