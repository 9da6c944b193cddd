/** Entry `taskstream/testing`: a stream in memory, for the tests of handlers. */
import { generateKeyPairSync } from 'node:crypto'
import type { DatabaseSync } from 'node:sqlite'
import { checkInteger, checkNames, optionNames, TaskError } from '@taskstream/task-api'
import type { PromotedDue, TaskInfo } from '@taskstream/task-api'
import { completedChange, idOf, InProcess, isOf, jobHandler, jobNameOf, topicOf } from '@taskstream/task-jobs'
import type { AnyJob, AnyTopic, Job, JobHandler, JobOf, JobState, Queue, Topic } from '@taskstream/task-jobs'
import { systemClock } from '@taskstream/task-processor'
import type { ProcessOptions } from '@taskstream/task-processor'
import { testTasks } from '@taskstream/task-testing'
import type { TestClock, TestTasks } from '@taskstream/task-testing'
import { closureOf, topicsOf } from './definitions.ts'
import type { Definition } from './definitions.ts'
import { given } from './given.ts'
import { Stream } from './stream.ts'
import type { HandleOptions } from './stream-options.ts'

export type { TestClock } from '@taskstream/task-testing'

export interface TestStreamOptions {
  /** Jobs and topics that are pushed and not handled in the test. Those that are handled, and those they go on with, are known anyway. */
  readonly jobs?: readonly (AnyJob | AnyTopic)[]
  /** The instant that the clock shows at first. Default: the time of the call. The clock stands still in either case. */
  readonly now?: Date
}

const names = optionNames<TestStreamOptions>('testStream', { jobs: true, now: true })

export interface DrainOptions {
  /** Whether to move the clock on to the next job that waits for its time, until none waits. Default false. */
  readonly advance?: boolean
  /**
   * The most passes over all jobs, and how many tries a pass may have beyond the jobs that were ready at its begin; 1 to 1 000 000. Default 1000, so that a
   * handler that always retries does not hang its test.
   */
  readonly rounds?: number
}

const drainNames = optionNames<DrainOptions>('drain', { advance: true, rounds: true })

/** One try of a job, or of a task of a typed topic, in a drain. What is tried again stands there once for each try. */
export interface DrainedJob {
  /** The name of the job or topic. */
  readonly job: string
  /** The caller's own name for the job, or `@` and its sequence. */
  readonly id: string
  readonly tries: number
  /** The state of the job after this try. */
  readonly state: JobState
  /** The error of a try that failed, or the message of the decision. */
  readonly output: string | undefined
}

type Handled = Pick<ProcessOptions<DatabaseSync>, 'handler' | 'size' | 'retry'>

/**
 * A stream for one test: on SQLite in memory, with a clock that the test moves. Jobs are handled by `drain`, not by `start`. It signs jobs that are
 * signed with a key of its own.
 */
export class TestStream extends Stream<DatabaseSync, 'sync'> {
  /** The clock from which the database takes the time. */
  readonly clock: TestClock
  /** The connection, for the test's own tables. */
  readonly database: DatabaseSync
  readonly #tasks: TestTasks<DatabaseSync>
  readonly #ways = new Map<string, Handled>()
  readonly #handling = new InProcess()

  constructor(tasks: TestTasks<DatabaseSync>) {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519')
    const signed = { signing: { key: privateKey }, verification: { keys: { default: publicKey } } }
    super(
      // By a clock that stands still, nobody would ever look.
      { repository: tasks.repository, transactions: tasks.transactions, waitClock: systemClock },
      { clock: tasks.clock, listener: {}, migrate: false, ...signed },
    )
    this.clock = tasks.clock
    this.database = tasks.database
    this.#tasks = tasks
  }

  override handle<Name extends string, Given, Input, Next extends string, Returned, Needs>(
    job: Job<Name, Given, Input, Next, Returned, unknown, Needs>,
    handler: JobHandler<DatabaseSync, Name, Input, Next, Returned, Needs>,
    options: HandleOptions<DatabaseSync> = {},
  ): this {
    super.handle(job, handler, options)
    this.#known(job)
    // The loop of a queue is opened by the first drain, as its options may still come.
    if (job.settings.queue) return this
    const environment = { ...this.environment(), process: this.#handling }
    this.#drained(job, {
      handler: jobHandler(environment, job, handler, { concurrency: 1, ahead: false, use: options.use ?? [] }),
      size: 1,
      retry: job.settings.retry,
    })
    return this
  }

  protected override processed(definition: AnyTopic | Queue, options: ProcessOptions<DatabaseSync>): void {
    super.processed(definition, options)
    this.#known(definition)
    this.#drained(definition, options)
  }

  /** Makes topics known at once, as the driver is synchronous, so that tasks can be pushed. */
  #known(definition: Definition): void {
    for (const { name, topic } of topicsOf(closureOf([definition]).values())) this.tasks.initialize(this.database, name, topic)
  }

  #drained(definition: Definition, { handler, size, retry }: Handled): void {
    this.#ways.set(definition.name, { handler, ...given({ size, retry }) })
  }

  /**
   * Handles jobs as a started stream would, one at a time, and typed topics in their batches, until none is ready.
   *
   * @throws TaskError DRAIN_ENDLESS if jobs are still ready after `rounds`; ARGUMENT_INVALID
   * @example
   * await stream.submit(invoice, { id: 7, customer: 'ann', total: 100 })
   * expect(await stream.drain()).toMatchObject([{ job: 'invoice', state: 'succeeded' }, { job: 'email', state: 'succeeded' }])
   */
  async drain(options: DrainOptions = {}): Promise<DrainedJob[]> {
    checkNames(drainNames, options)
    const { advance = false, rounds = 1_000 } = options
    this.openQueues()
    checkInteger('rounds', rounds, 1, 1_000_000)
    const all: DrainedJob[] = []
    for (let round = 1; ; round++) {
      if (round > rounds)
        throw new TaskError(
          'DRAIN_ENDLESS',
          `Jobs are still ready after ${rounds} rounds: does a handler retry or push for ever?`,
          {
            rounds,
          },
        )
      const handled = await this.#pass(rounds)
      all.push(...handled)
      if (handled.length > 0) continue
      const nextMs = advance ? await this.#nextDueMs() : undefined
      if (nextMs === undefined) return all
      this.clock.advance(nextMs)
    }
  }

  /** The inputs of all jobs or tasks of a definition that were ever pushed, in their order, as they were given. @throws TaskError TOPIC_UNKNOWN */
  async pushed<Given>(definition: JobOf<string, Given> | Topic<string, Given, unknown>): Promise<Given[]> {
    await this.prepare(definition)
    const topic = topicOf(definition as AnyJob)
    const found = await this.transaction<TaskInfo[]>((database) => this.tasks.page(database, topic, { size: 100_000 }))
    const own = found.filter((task) => isOf(definition, task))
    return own.map(({ input }) => (input === undefined ? undefined : JSON.parse(input)) as Given)
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
    await this.#tasks[Symbol.asyncDispose]()
  }

  /** Handles what is ready in each topic once. */
  async #pass(more: number): Promise<DrainedJob[]> {
    const all: DrainedJob[] = []
    for (const [topic, { handler, ...options }] of this.#ways) {
      await this.transaction((database) => this.tasks.settle(database, topic))
      const rounds = Math.min((await this.#ready(topic)) + more, 1_000_000)
      const { handled } = await this.#tasks.drain(topic, handler, { ...options, rounds })
      const what = this.handled.get(topic)?.settings.what
      const isQueue = what === 'queue'
      if (what !== 'topic') this.process.watching?.(handled.map(({ task, decision }) => completedChange(task, decision)))
      for (const { task, decision, state } of handled)
        all.push({
          job: (isQueue ? jobNameOf(task) : undefined) ?? topic,
          id: idOf(task),
          tries: task.tries,
          // The row of one that waits for its time is that of one that waits for somebody.
          state: (state === 'suspended' ? completedChange(task, decision).state : undefined) ?? state,
          output: decision.toMessage(),
        })
    }
    return all
  }

  /** How many jobs are ready, or due: as many rounds are no sign of a handler that never ends. */
  async #ready(topic: string): Promise<number> {
    const promoted = (): Promise<PromotedDue> => this.transaction((database) => this.tasks.promoteDue(database, topic))
    while ((await promoted()).promoted > 0);
    const counts = await this.transaction((database) => this.tasks.count(database, { topic }))
    return counts.get(topic)?.get('ready')?.count ?? 0
  }

  async #nextDueMs(): Promise<number | undefined> {
    const waits: number[] = []
    for (const topic of this.#ways.keys()) {
      const { nextDueMs } = await this.transaction<PromotedDue>((database) => this.tasks.promoteDue(database, topic))
      if (nextDueMs !== undefined) waits.push(nextDueMs)
    }
    return waits.length > 0 ? Math.min(...waits) : undefined
  }
}

/**
 * Makes a stream for one test, in memory. It shares nothing with others.
 *
 * @throws TaskError ARGUMENT_INVALID, RUNTIME_UNSUPPORTED
 * @example
 * await using stream = await testStream()
 * handleOrders(stream)
 * await stream.submit(invoice, { id: 7, customer: 'ann', total: 100 })
 * await stream.drain()
 * assert.deepEqual(await stream.pushed(email), [{ to: 'ann', subject: 'Invoice 7' }])
 */
export async function testStream(options: TestStreamOptions = {}): Promise<TestStream> {
  checkNames(names, options)
  const { jobs = [], now } = options
  const stream = new TestStream(await testTasks(now === undefined ? {} : { now }))
  await stream.prepare(...jobs)
  return stream
}
