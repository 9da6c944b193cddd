import { setTimeout as delay } from 'node:timers/promises'
import { checkDuration, checkInteger, checkState, checkTopic, invalid, TaskError, taskLimits } from '@taskstream/task-api'
import type { HeldTask, TaskState, TopicOptions } from '@taskstream/task-api'
import type { Batch, BatchEnvironment } from './batch.ts'
import { PollLoop } from './poll-loop.ts'
import type { RetryPolicy } from './retry-policy.ts'
import type { TaskHandler } from './task-handler.ts'

/** The states that tasks can be kept in for some time, and then purged from. */
export type RetainedState = Exclude<TaskState, 'active' | 'ready'>

/** With an order or a condition, the topic is initialised so; without, it is as it is. */
export interface ProcessOptions<Transaction> extends TopicOptions {
  readonly handler: TaskHandler<Transaction>
  /** Tasks of a batch, 1 to 10 000. Default 100. */
  readonly size?: number
  /**
   * Batches held at a time, 1 to 100. Default 2: one is polled while another is handled. With 1, batches follow each other strictly.
   */
  readonly concurrency?: number
  /** What becomes of a task whose handler throws. Default: it fails. */
  readonly retry?: RetryPolicy
  /**
   * The longest pause between polls of an empty topic, in milliseconds, 1 to one day. Default 30 000 while the node has a notifier, which
   * wakes it earlier, and 1 000 without one, or when it has given up.
   */
  readonly idleMs?: number
  /**
   * How long tasks are kept once they have ended, by state, in milliseconds: maintenance purges what is older. Default: for ever.
   * @example { succeeded: 86_400_000, recreated: 0, redundant: 0 }
   */
  readonly retainMs?: Readonly<Partial<Record<RetainedState, number>>>
}

/** What became of the tasks that were held when a stop began. */
export interface StopReport {
  /** Completed, before their time was up. */
  readonly finished: readonly HeldTask[]
  /** Handed back, undone: ready again, with their try refunded. */
  readonly returned: readonly HeldTask[]
  /** Neither: the database could not be reached, or they were lost before. When the owner is dead they are taken from it. */
  readonly abandoned: readonly HeldTask[]
}

export interface StopOptions {
  /** How long handlers may go on, in milliseconds. Default 10 000. */
  readonly graceMs?: number
  /** How long they may take to let go once they are asked to, in milliseconds. Default 2 000. */
  readonly abortMs?: number
}

/** How long the database may take for what is handed back; after that it counts as abandoned. */
const handBackMs = 10_000

/** Processes one topic: made by `TaskNode.process`. */
export class TaskManager<Transaction> {
  readonly topic: string
  readonly retainMs: NonNullable<ProcessOptions<Transaction>['retainMs']>
  /** What the topic is initialised with, if anything was said. */
  readonly topicOptions: TopicOptions | undefined
  readonly #loop: PollLoop<Transaction>

  constructor(
    environment: BatchEnvironment<Transaction>,
    options: ProcessOptions<Transaction>,
    defaultIdleMs: () => number,
    mayPoll: () => boolean,
  ) {
    const { size = 100, concurrency = 2, idleMs, retainMs = {} } = options
    for (const [state, ms] of Object.entries(retainMs)) {
      checkState('retainMs', state)
      if (state === 'active' || state === 'ready') throw invalid('retainMs', state, 'must be of states that have ended')
      checkDuration(`retainMs.${state}`, ms)
    }
    this.retainMs = retainMs
    const { order, condition, keyed } = options
    const said = order !== undefined || condition !== undefined || keyed !== undefined
    this.topicOptions = said
      ? { ...(order && { order }), ...(condition && { condition }), ...(keyed !== undefined && { keyed }) }
      : undefined
    checkTopic(environment.topic)
    checkInteger('size', size, 1, taskLimits.pollSize)
    checkInteger('concurrency', concurrency, 1, 100)
    if (idleMs !== undefined) checkInteger('idleMs', idleMs, 1, 86_400_000)
    this.topic = environment.topic
    this.#loop = new PollLoop(environment, { size, concurrency, idleMs: () => idleMs ?? defaultIdleMs() }, mayPoll)
  }

  /** Whether it polls. */
  get isActive(): boolean {
    return this.#loop.running
  }

  start(): void {
    this.#loop.start()
  }

  /** There may be work. Never lost, whatever the manager is doing. */
  wake(): void {
    this.#loop.wake()
  }

  /** Asks the handlers of what is held to let go. */
  abort(reason: TaskError): void {
    for (const batch of this.#loop.batches) batch.abort(reason)
  }

  /** Polls no more, lets handlers finish, then asks them to let go, then hands back what they still hold. */
  async stop({ graceMs = 10_000, abortMs = 2_000 }: StopOptions = {}): Promise<StopReport> {
    const batches = new Set(this.#loop.batches)
    const drained = this.#loop.drain((batch) => batches.add(batch))
    await within(graceMs, this.#ended(drained, batches))
    if (this.#loop.batches.size > 0) {
      this.abort(new TaskError('SHUTDOWN', 'The node is stopping, and its grace is over', { graceMs }))
      await within(abortMs, this.#ended(drained, batches))
      const stuck = [...this.#loop.batches]
      await within(handBackMs, Promise.allSettled(stuck.map((batch) => batch.handBack())))
      for (const batch of stuck) batch.giveUp()
    }
    for (const batch of this.#loop.batches) batches.add(batch)
    return report([...batches])
  }

  async #ended(drained: Promise<void>, batches: Set<Batch<Transaction>>): Promise<void> {
    await drained
    for (const batch of this.#loop.batches) batches.add(batch)
    await Promise.all([...batches].map((batch) => batch.ended))
  }
}

async function within(ms: number, work: Promise<unknown>): Promise<void> {
  const timer = new AbortController()
  await Promise.race([work, delay(ms, undefined, { signal: timer.signal }).catch(() => {})])
  timer.abort()
}

function report<Transaction>(batches: readonly Batch<Transaction>[]): StopReport {
  // A poll under way may have brought again what was handed back a moment before: a task is reported once.
  const reported = new Set<number>()
  const once = (tasks: readonly HeldTask[]): HeldTask[] =>
    tasks.filter(({ sequence }) => !reported.has(sequence) && reported.add(sequence))
  return {
    finished: once(batches.flatMap((batch) => batch.finished)),
    returned: once(batches.flatMap((batch) => batch.returned)),
    abandoned: once(batches.flatMap((batch) => batch.tasks)),
  }
}
