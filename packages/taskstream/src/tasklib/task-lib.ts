import {
  checkInput,
  checkInteger,
  checkNames,
  invalid,
  isTaskError,
  jsonOf,
  optionNames,
  TaskDecision,
  taskLimits,
} from '@taskstream/task-api'
import type { Execution, InputSchema, TaskInfo } from '@taskstream/task-api'
import { defineJob, defineQueue, jobNameOf, json, tagFilter, timeoutOf, uuidV7 } from '@taskstream/task-jobs'
import type { HeldJob, JobTags, Queue } from '@taskstream/task-jobs'
import { lookThrough } from '../find-tasks.ts'
import { given } from '../given.ts'
import type { Stream } from '../stream.ts'
import { reasonOf, submitted, TaskAlreadyRegistered, TaskLibError, TaskNotFound } from './errors.ts'
import { checkSubmitOptions, checkTaskOptions, defaultsOf, millisecondsOf, timeoutMsOf } from './registered-task.ts'
import type {
  CheckedTaskOptions,
  Defaults,
  RegisteredTask,
  SubmitOptions,
  Taking,
  TaskContext,
  TaskFunction,
  TaskJob,
  TaskLibOptions,
  TaskOptions,
} from './registered-task.ts'
import { candidatesOf, rowOf, stateOf, taskLibStates } from './task-row.ts'
import type { TaskLibState, TaskLibTask } from './task-row.ts'

/** What a function without a schema is given, as its parameter says. */
type GivenOf<Fn extends TaskFunction> = [Parameters<Fn>[0]] extends [undefined] ? void : Parameters<Fn>[0]

/** The arguments of a submission after the function. */
type SubmitArguments<Given> = [Given] extends [void]
  ? [options?: SubmitOptions, kwargs?: undefined]
  : [options: SubmitOptions, kwargs: NoInfer<Given>]

export interface ListTasksOptions {
  readonly state?: TaskLibState
  readonly name?: string
  /** Only tasks that have each of these tags, with the same value and type. */
  readonly tags?: JobTags
  /** How many tasks to list at most, 1 to 100 000. Default 100. */
  readonly limit?: number
}

const listNames = optionNames<ListTasksOptions>('listTasks', { state: true, name: true, tags: true, limit: true })

/** A registered function, and its job. */
interface Registered extends RegisteredTask {
  readonly job: TaskJob
  readonly schema: InputSchema<unknown>
}

/** Functions as tasks, in the words of TaskLib. Their tasks are jobs of one queue of the stream, by which all else can be done with them. */
export class TaskLib<Transaction, E extends Execution = 'async'> {
  readonly stream: Stream<Transaction, E>
  /** The queue of the tasks. Jobs that are defined in it are listed with them, and worked off by the same worker. */
  readonly queue: Queue
  readonly #defaults: Defaults
  readonly #byName = new Map<string, Registered>()
  readonly #byFunction = new Map<unknown, Registered>()
  #isReady = false

  /** @throws TaskError ARGUMENT_INVALID */
  constructor(stream: Stream<Transaction, E>, options: TaskLibOptions = {}) {
    this.#defaults = defaultsOf(options)
    this.stream = stream
    this.queue = defineQueue(this.#defaults.queue, { order: 'priority', retry: this.#defaults.retry })
  }

  /** Makes the tables, if they are missing, and the queue. Nothing can be submitted or looked at before. @throws as `stream.prepare` */
  async init(): Promise<void> {
    await this.stream.prepare(this.queue)
    this.#isReady = true
  }

  /**
   * Registers a function as a task, by its name.
   *
   * @returns the function, as it is
   * @throws TaskAlreadyRegistered; TaskError ARGUMENT_INVALID
   * @example
   * const sendEmail = lib.task({ kwargs: z.object({ to: z.string(), subject: z.string().default('Hello') }), maxRetries: 5 }, ({ to, subject }) =>
   *   smtp.send(to, subject))
   */
  task<Fn extends TaskFunction>(fn: Fn): Fn & Taking<GivenOf<Fn>>
  task<Given, Kwargs, Fn extends TaskFunction<Kwargs>>(options: CheckedTaskOptions<Kwargs, Given>, fn: Fn): Fn & Taking<Given>
  task<Fn extends TaskFunction>(options: TaskOptions, fn: Fn): Fn & Taking<GivenOf<Fn>>
  task(...[first, second]: [TaskFunction] | [TaskOptions & { readonly kwargs?: InputSchema<object> }, TaskFunction]): unknown {
    const [options, fn] = typeof first === 'function' ? [{}, first] : [first, second]
    checkTaskOptions(options)
    if (typeof fn !== 'function') throw invalid('fn', fn, 'must be a function')
    const { name = fn.name, kwargs: schema = json<object>() } = options as Partial<CheckedTaskOptions<object, object>>
    if (name === '') throw invalid('name', name, 'must be given, as the function has none')
    if (this.#byName.has(name) || this.#byFunction.has(fn))
      throw new TaskAlreadyRegistered('LIFECYCLE', `There is a task "${name}" already`, { job: name })
    const job: TaskJob = defineJob(name, { queue: this.queue, input: schema, output: json<{ readonly value: unknown }>() })
    const registered = { fn, options, schema, job }
    this.#byName.set(name, registered)
    this.#byFunction.set(fn, registered)
    return fn
  }

  /** A copy of what is registered, by name. */
  getRegisteredTasks(): Map<string, RegisteredTask> {
    return new Map([...this.#byName].map(([name, { fn, options }]) => [name, { fn, options: { ...options } }]))
  }

  /**
   * The job of a registered function, by which the stream does all else: push in your own transaction, cancel, retry, attempts, needs.
   *
   * @throws TaskNotFound
   * @example
   * await stream.cancel(tx, lib.jobOf(sendEmail), id)
   */
  jobOf<Given>(fn: TaskFunction & Taking<Given>): TaskJob<Given> {
    return this.#registered(fn).job as TaskJob<Given>
  }

  /**
   * Submits a task. Its arguments are checked, and stored with the defaults of their schema.
   *
   * @returns the id of the task
   * @throws TaskNotFound if the function is not registered; TaskExecutionError if its arguments do not fit; TaskLibError LIFECYCLE before `init`;
   * TaskError ARGUMENT_INVALID; errors of the database
   * @example
   * const id = await lib.submitTask(sendEmail, { delaySeconds: 60, priority: 5 }, { to: 'a@example.org' })
   */
  async submitTask<Given>(fn: TaskFunction & Taking<Given>, ...[options = {}, kwargs]: SubmitArguments<Given>): Promise<string> {
    this.#checkReady()
    const { job, schema, options: own } = this.#registered(fn)
    checkSubmitOptions(options)
    const { delaySeconds, priority, tags } = options
    const maxRetries = options.maxRetries ?? own.maxRetries ?? this.#defaults.maxRetries
    const timeoutSeconds = options.timeoutSeconds ?? own.timeoutSeconds ?? this.#defaults.timeoutSeconds
    const id = uuidV7(new Date())
    await submitted(() =>
      this.stream.submit(job, filled(job.name, schema, kwargs ?? {}), {
        id,
        maxTries: maxRetries + 1,
        ...given({
          delayMs: delaySeconds === undefined ? undefined : millisecondsOf('delaySeconds', delaySeconds),
          timeoutMs: timeoutSeconds === undefined ? undefined : timeoutMsOf('timeoutSeconds', timeoutSeconds),
          priority,
          tags,
        }),
      }),
    )
    return id
  }

  /** A task by its id; undefined if there is none. @throws TaskLibError LIFECYCLE before `init`; errors of the database */
  async getTask(id: string): Promise<TaskLibTask | undefined> {
    this.#checkReady()
    const sequence = /^@(\d{1,15})$/.exec(id)?.[1]
    return this.stream.transaction<TaskLibTask | undefined>(async (transaction) => {
      const which = sequence === undefined ? { externalId: id } : Number(sequence)
      const task: TaskInfo | undefined = await this.stream.tasks.task(transaction, this.queue.name, which)
      return task && (await this.#rows(transaction, [task]))[0]
    })
  }

  /**
   * Lists tasks in the order of their submissions. Tags are no columns: with them, all tasks that the other filters let through are read until enough
   * are found.
   *
   * @throws TaskLibError LIFECYCLE before `init`; TaskError ARGUMENT_INVALID; errors of the database
   * @example
   * const failed = await lib.listTasks({ state: 'failed', name: 'sendEmail' })
   */
  async listTasks(options: ListTasksOptions = {}): Promise<TaskLibTask[]> {
    this.#checkReady()
    checkNames(listNames, options)
    const { state, name, tags, limit = 100 } = options
    if (state !== undefined && !taskLibStates.includes(state))
      throw invalid('state', state, `must be one of ${taskLibStates.join(', ')}`)
    checkInteger('limit', limit, 1, taskLimits.batchSize)
    const hasTags = tagFilter(tags ?? {})
    const isAsked = (task: TaskInfo): boolean =>
      (state === undefined || stateOf(task) === state) && (name === undefined || jobNameOf(task) === name) && hasTags(task)
    const filter = { states: candidatesOf(state), ...given({ identifier: name }) }
    return this.stream.transaction<TaskLibTask[]>(async (transaction) => {
      const found = await lookThrough<E>(
        (portion) => this.stream.tasks.page(transaction, this.queue.name, portion),
        filter,
        isAsked,
        { size: limit, limit: Number.POSITIVE_INFINITY },
      )
      return this.#rows(transaction, found.tasks)
    })
  }

  /** Has the stream handle the tasks. `TaskWorker` calls this. */
  handleAll(concurrency: number, idleMs: number): void {
    for (const { fn, job } of this.#byName.values()) this.stream.handle(job, (held) => called(fn, held as never))
    const missing = ({ name }: { readonly name: string }): never => {
      throw this.#notFound(name)
    }
    this.stream.route(this.queue, { '*': missing }, { concurrency, idleMs })
  }

  async #rows(transaction: Transaction, tasks: readonly TaskInfo[]): Promise<TaskLibTask[]> {
    if (tasks.length === 0) return []
    const endings = await this.stream.tasks.endings(transaction, tasks)
    return tasks.flatMap((task, index) => rowOf(task, endings[index]) ?? [])
  }

  #registered(fn: TaskFunction): Registered {
    const registered = this.#byFunction.get(fn)
    if (!registered) throw this.#notFound(typeof fn === 'function' ? fn.name : String(fn))
    return registered
  }

  #notFound(name: string): TaskNotFound {
    const routes = [...this.#byName.keys()]
    const said = `There is no task "${name}": register its function with task(…) first`
    return new TaskNotFound('ROUTE_MISSING', said, { queue: this.queue.name, job: name, routes })
  }

  #checkReady(): void {
    if (!this.#isReady) throw new TaskLibError('LIFECYCLE', 'taskLib is not initialized: call await lib.init() first')
  }
}

/** The arguments as they are stored: with the defaults of the schema, which must pass it again. */
function filled(name: string, schema: InputSchema<unknown>, kwargs: object): object {
  if (typeof kwargs !== 'object' || Array.isArray(kwargs)) throw invalid('kwargs', kwargs, 'must be an object')
  return checkInput(schema, name, JSON.parse(jsonOf(name, kwargs))) as object
}

async function called(
  fn: TaskFunction,
  held: HeldJob<never, string, never>,
): Promise<{ readonly value: unknown } | TaskDecision> {
  const { id, input, name, tries, tags, task, extend } = held
  let signal: AbortSignal | undefined
  const context: TaskContext = {
    id,
    retryCount: tries - 1,
    tags,
    extend,
    get signal() {
      return (signal ??= named(held.signal))
    },
  }
  const value = await fn(input, context)
  // What comes after the timeout is late, however the function took its signal.
  if (timeoutOf(task) !== undefined && isTaskError(held.signal.reason, 'TASK_TIMEOUT')) throw held.signal.reason
  if (value instanceof TaskDecision) return value
  // JSON makes nothing of a function, and the object around it would be empty.
  jsonOf(name, value ?? null, 'output')
  return { value: value ?? null }
}

/** A signal whose reason has the name that TaskLib gives it. */
function named(signal: AbortSignal): AbortSignal {
  const own = new AbortController()
  const abort = (): void => own.abort(reasonOf(signal.reason))
  if (signal.aborted) abort()
  else signal.addEventListener('abort', abort, { once: true })
  return own.signal
}
