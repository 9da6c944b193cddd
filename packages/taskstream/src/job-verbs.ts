import type {
  Cancellation,
  Execution,
  Outcome,
  PageOptions,
  PushedTask,
  PushOptions,
  Rescheduling,
  TaskAttempt,
  TaskCreation,
  TaskDependency,
  TaskInfo,
} from '@taskstream/task-api'
import {
  cancelledChange,
  creationOf,
  dependenciesOf,
  infoOf,
  isLimited,
  isOf,
  parsed,
  pushedChange,
  refOf,
  retriedChange,
  topicOf,
  unreadChange,
} from '@taskstream/task-jobs'
import type {
  AnyJob,
  AnyPushOptions,
  AnyTopic,
  InProcess,
  Job,
  JobDetails,
  JobInfo,
  JobOf,
  JobRef,
  JobSelector,
  JobSignatures,
  PushArguments,
} from '@taskstream/task-jobs'
import type { SqlTaskRepository } from '@taskstream/task-sql'
import { checkWaiting } from './check-waiting.ts'
import type { CheckedDefinition, CheckOptions } from './check-waiting.ts'
import { checked } from './definitions.ts'
import { checkNotContinued, noJob } from './ends.ts'
import { checkList, findTasks } from './find-tasks.ts'
import type { FindOptions, FoundJobs } from './find-tasks.ts'
import { after, firstOf, rejecting } from './outcome.ts'
import { itemsOf } from './push-items.ts'
import { ownPage, ownSelector, ownTask, pageOf, whichOf } from './own-jobs.ts'
import { checkInsertion } from './stream-options.ts'
import type { PushManyOptions } from './stream-options.ts'
import { wordedTasks } from './words.ts'
import type { WordedTasks } from './words.ts'

const jobVerbs = ['push', 'pushMany', 'cancel', 'reschedule', 'get', 'attempts', 'list', 'find', 'retry'] as const

/** What a stream does with jobs in your own transactions. */
export abstract class JobVerbs<Transaction, E extends Execution = 'async'> {
  /** The tasks under the jobs: topics, batches, filters, counts. */
  readonly tasks: SqlTaskRepository<Transaction, E>
  protected readonly process: InProcess
  protected readonly signatures: JobSignatures
  readonly #jobs: WordedTasks<Transaction, E>

  constructor(tasks: SqlTaskRepository<Transaction, E>, process: InProcess, signatures: JobSignatures) {
    this.tasks = tasks
    this.process = process
    this.signatures = signatures
    this.#jobs = wordedTasks(tasks, 'job')
    if (tasks.execution === 'async') rejecting(this, jobVerbs, (transaction, outcome) => process.calling(transaction, outcome))
  }

  /**
   * Pushes a job in your own transaction: it exists if, and only if, the transaction commits. The topics of jobs that this process does not handle
   * must be known: see `prepare`.
   *
   * @throws TaskError INPUT_INVALID, ARGUMENT_INVALID, TOPIC_UNKNOWN; nothing was written
   * @example
   * await stream.push(tx, email, { to: 'a@example.org', subject: 'Hello' }, { delayMs: 60_000 })
   */
  push<Name extends string, Given, Needs>(
    transaction: Transaction,
    job: JobOf<Name, Given, Needs>,
    ...[input, options]: PushArguments<Given, Needs>
  ): Outcome<E, JobRef<Name>> {
    const creation = creationOf(checked(job), input, options, this.signatures)
    return this.process.pushing(transaction, () =>
      after(this.#push(transaction, job, [creation], [options]), ([pushed]) => refOf(job, pushed!, creation)),
    )
  }

  /**
   * Pushes several jobs of one definition, each given as its input and options.
   *
   * @param options `insertion` says what becomes of older jobs of the same keys: `append` (default), `supersede`, `replace`
   * @throws TaskError as `push`; TOPIC_NOT_KEYED for an insertion without a key
   * @example
   * await stream.pushMany(tx, page, urls.map((url) => [{ url }]))
   */
  pushMany<Name extends string, Given, Needs>(
    transaction: Transaction,
    job: JobOf<Name, Given, Needs>,
    items: readonly PushArguments<Given, Needs>[],
    options: PushManyOptions = {},
  ): Outcome<E, JobRef<Name>[]> {
    checkInsertion(checked(job), options)
    const pushes = itemsOf(job, items)
    const creations = pushes.map(([input, each]) => creationOf(checked(job), input, each, this.signatures))
    const each = pushes.map(([, one]): AnyPushOptions | undefined => one)
    return this.process.pushing(transaction, () =>
      after(this.#push(transaction, job, creations, each, options), (pushed) =>
        pushed.map((one, index) => refOf(job, one, creations[index]!)),
      ),
    )
  }

  /**
   * Ends jobs that have not ended, as filtered, with the reason `cancelled`. One that is being handled is taken from its handler, which can commit
   * nothing any more.
   *
   * @throws TaskError ARGUMENT_INVALID, TOPIC_UNKNOWN
   * @example
   * await stream.cancel(tx, reminder, 'order 7')
   */
  cancel<Name extends string>(
    transaction: Transaction,
    job: JobOf<Name>,
    selector: JobSelector<NoInfer<Name>>,
  ): Outcome<E, Cancellation> {
    const tasks = this.#tasksOf(job)
    const outcome = after(ownSelector(tasks, transaction, job, selector), (which) =>
      after(tasks.cancel(transaction, topicOf(job), which), (cancellation) => {
        this.process.cancelled(transaction, cancellation.taken)
        const id = typeof selector === 'string' ? selector : 'id' in selector ? selector.id : undefined
        this.process.changed(transaction, () => cancellation.cancelled.map((task) => cancelledChange(job.name, task, id)))
        return cancellation
      }),
    ) as Outcome<E, Cancellation>
    return this.process.calling(transaction, outcome)
  }

  /**
   * Moves jobs that wait to another time, or gives them another deadline or priority.
   *
   * @throws TaskError ARGUMENT_INVALID, TOPIC_UNKNOWN
   * @example
   * await stream.reschedule(tx, reminder, 'order 7', { delayMs: 86_400_000 })
   */
  reschedule<Name extends string>(
    transaction: Transaction,
    job: JobOf<Name>,
    selector: JobSelector<NoInfer<Name>>,
    to: Rescheduling,
  ): ReturnType<SqlTaskRepository<Transaction, E>['reschedule']> {
    const tasks = this.#tasksOf(job)
    const topic = topicOf(job)
    this.process.pushed(transaction, topic)
    const outcome = after(ownSelector(tasks, transaction, job, selector), (which) =>
      after(tasks.reschedule(transaction, topic, which, to), (moved) => {
        this.process.changed(transaction, () => moved.map((task) => unreadChange(job.name, task)))
        return moved
      }),
    ) as ReturnType<SqlTaskRepository<Transaction, E>['reschedule']>
    return this.process.calling(transaction, outcome)
  }

  /** Everything that is known of a job; undefined if there is no such job. @throws TaskError ARGUMENT_INVALID, TOPIC_UNKNOWN */
  get<Name extends string, Given, End>(
    transaction: Transaction,
    job: Job<Name, Given, unknown, string, never, End, never>,
    selector: string | JobRef<NoInfer<Name>>,
  ): Outcome<E, JobDetails<Name, Given, End> | undefined> {
    return after(this.#one(transaction, job, selector), (task) => {
      if (!task) return undefined
      return after(this.tasks.endings(transaction, [task]), ([ending]) => ({
        ...infoOf<Name, Given>(job, task),
        result: parsed(ending?.value) as End | undefined,
      }))
    }) as Outcome<E, JobDetails<Name, Given, End> | undefined>
  }

  /**
   * The tries of a job that did not succeed, the oldest first: when each began and ended, how, and with which error. A job that is tried again keeps
   * its history. Of one job the first five and the last fifteen are kept, and once it has succeeded they go after `keepAttemptsMs`, 14 days by default.
   *
   * @throws TaskError ARGUMENT_INVALID, TOPIC_UNKNOWN
   * @example
   * const [first] = await stream.attempts(tx, invoice, 'order 7')
   */
  attempts<Name extends string>(
    transaction: Transaction,
    job: JobOf<Name>,
    selector: string | JobRef<NoInfer<Name>>,
  ): Outcome<E, readonly TaskAttempt[]> {
    const tasks = this.#tasksOf(job)
    if (!job.settings.queue) return tasks.attempts(transaction, job.name, whichOf(job, selector))
    return after(ownTask(tasks, transaction, job, selector), (task) =>
      task ? tasks.attempts(transaction, topicOf(job), task.sequence) : [],
    ) as Outcome<E, readonly TaskAttempt[]>
  }

  /**
   * Lists jobs of a definition in the order of their pushes: a hundred, or as many as `size` says. Go on with `after: last.task.sequence`. As `identifier`,
   * give a key. To look for jobs by their tags, use `find`.
   *
   * @throws TaskError ARGUMENT_INVALID, TOPIC_UNKNOWN
   * @example
   * const failed = await stream.list(tx, invoice, { states: ['failed'] })
   */
  list<Name extends string, Given>(
    transaction: Transaction,
    job: JobOf<Name, Given>,
    options: PageOptions = {},
  ): Outcome<E, JobInfo<Name, Given>[]> {
    checkList(options)
    return after(ownPage(this.#tasksOf(job), transaction, job, options), (page) =>
      page.map((task) => infoOf<Name, Given>(job, task)),
    )
  }

  /**
   * Looks for jobs of a definition by their tags, in the order of their pushes. Tags are no columns, so jobs are read until enough are found, or
   * `limit` are looked at: `next` says where to go on, and is undefined once all have been looked at. To find one job, give it an `id` or a `key`.
   *
   * @throws TaskError ARGUMENT_INVALID, TOPIC_UNKNOWN
   * @example
   * const { jobs, lookedAt, next } = await stream.find(tx, invoice, { tags: { tenant: 7 }, states: ['failed'] })
   * const more = next && (await stream.find(tx, invoice, { tags: { tenant: 7 }, states: ['failed'], ...next }))
   */
  find<Name extends string, Given>(
    transaction: Transaction,
    job: JobOf<Name, Given>,
    options: FindOptions,
  ): Outcome<E, FoundJobs<Name, Given>> {
    const tasks = this.#tasksOf(job)
    return after(
      findTasks<E>(pageOf(tasks, transaction, job), options, (task) => isOf(job, task)),
      ({ tasks, ...found }) => ({ ...found, jobs: tasks.map((task) => infoOf<Name, Given>(job, task)) }),
    )
  }

  /**
   * Has a job that has ended, or waits, tried at once, in its old place: with all its tries, and with a new deadline if its definition has one.
   *
   * @throws TaskError TASK_STATE if there is no such job, if it is ready or being handled, or if another job went on with its work; ARGUMENT_INVALID,
   * TOPIC_UNKNOWN
   * @example
   * await stream.retry(tx, invoice, 'order 7')
   */
  retry<Name extends string>(
    transaction: Transaction,
    job: JobOf<Name>,
    selector: string | JobRef<NoInfer<Name>>,
  ): Outcome<E, void> {
    const { name, settings } = checked(job)
    const { deadlineMs } = settings
    const topic = topicOf(job)
    const tasks = this.#tasksOf(job)
    this.process.pushed(transaction, topic)
    const outcome = after(this.#one(transaction, job, selector), (task) => {
      if (!task) throw noJob(name, typeof selector === 'string' ? selector : selector.id)
      return after(this.tasks.endings(transaction, [task]), ([ending]) => {
        checkNotContinued(job, task, ending)
        return after(tasks.recreate(transaction, topic, 'reset', [task]), () => {
          this.process.changed(transaction, () => [retriedChange(name, task)])
          if (deadlineMs === undefined) return undefined
          return after(tasks.reschedule(transaction, topic, task.sequence, { deadlineMs }), () => undefined)
        })
      })
    }) as Outcome<E, void>
    return this.process.calling(transaction, outcome)
  }

  /**
   * Reads the inputs of all that waits of these jobs and topics as their handlers would: what is ready, delayed, blocked, suspended or being handled. It changes
   * nothing, and migrates nothing. Call it before a deploy, to know whether the new definitions can read what the old ones have pushed. What waits is
   * found by reading each topic to its end, in portions, each in a transaction of its own.
   *
   * @returns a finding for each definition, in their order. A definition that the database does not know has nothing that waits, and `known: false`
   * @throws TaskError ARGUMENT_INVALID, also if there are no definitions; errors of the database
   * @example
   * const found = await stream.check([invoice, email])
   * if (found.some(({ misfits }) => misfits.length > 0)) process.exitCode = 1
   */
  async check(definitions: readonly (AnyJob | AnyTopic)[], options: CheckOptions = {}): Promise<CheckedDefinition[]> {
    const page = (name: string, portion: PageOptions): Promise<TaskInfo[]> =>
      this.transaction<TaskInfo[]>((transaction) => this.tasks.page(transaction, name, portion))
    return checkWaiting(page, this.signatures, definitions, options)
  }

  /** Runs `work` in a transaction. See `Stream`. */
  abstract transaction<Result>(work: (transaction: Transaction) => Result | Promise<Result>): Promise<Result>

  #push(
    transaction: Transaction,
    job: AnyJob,
    creations: readonly TaskCreation[],
    given: readonly (AnyPushOptions | undefined)[],
    options?: PushOptions,
  ): Outcome<E, PushedTask[]> {
    const topic = topicOf(job)
    this.process.pushed(transaction, topic)
    this.process.pushes(job)
    const tasks = this.#tasksOf(job)
    const push = (): Outcome<E, PushedTask[]> => tasks.push(transaction, topic, creations, options)
    const pushing = (isLimited(job) ? after(this.#admit(transaction, topic, creations), push) : push()) as Outcome<
      E,
      PushedTask[]
    >
    if (job.settings.needs === undefined && !this.process.watching) return pushing
    const needs = given.map((one) => dependenciesOf(job, one?.needs))
    return after(pushing, (pushed) => {
      this.process.changed(transaction, () =>
        pushed.map((one, index) => pushedChange(job.name, one, creations[index]!, needs[index]!)),
      )
      return after(this.#depend(transaction, pushed, needs), () => pushed)
    }) as Outcome<E, PushedTask[]>
  }

  #admit(transaction: Transaction, topic: string, creations: readonly TaskCreation[]): Outcome<E, void> {
    const externalIds = creations.flatMap(({ externalId }) => externalId ?? [])
    return this.tasks.admit(transaction, topic, creations.length, externalIds)
  }

  /** A job that was there before has its own needs, and one that became redundant has none. */
  #depend(
    transaction: Transaction,
    pushed: readonly PushedTask[],
    needs: readonly (readonly TaskDependency[])[],
  ): Outcome<E, void> {
    const blocked = pushed.flatMap((task, index) =>
      needs[index]!.length > 0 && task.outcome === 'created' ? [{ task, on: needs[index]! }] : [],
    )
    let done = 0
    const dependOfOne = (): Outcome<E, boolean | undefined> => {
      const next = blocked[done++]
      const outcome = next ? after(this.tasks.depend(transaction, next.task, next.on), () => undefined) : true
      return outcome as Outcome<E, boolean | undefined>
    }
    return after(firstOf<E, boolean>(dependOfOne), () => undefined) as Outcome<E, void>
  }

  #one(transaction: Transaction, job: AnyJob, selector: string | JobRef): Outcome<E, TaskInfo | undefined> {
    return ownTask(this.#tasksOf(job), transaction, job, selector)
  }

  /** The verbs for a job, whose errors name it and not its queue. */
  #tasksOf(job: AnyJob): WordedTasks<Transaction, E> {
    return checked(job).settings.queue ? wordedTasks(this.tasks, 'job', job.name) : this.#jobs
  }
}
