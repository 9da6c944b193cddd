import { checkInstant, checkInteger, checkNames, invalid, jsonOf, optionNames, TaskError, taskLimits } from '@taskstream/task-api'
import { ksuid } from './ksuid.ts'
import { checkName } from './names.ts'
import type { TaskState } from './states.ts'

/** How often a task is tried that says nothing. */
const defaultMaxTries = 10

/** What a completed task has returned. */
export interface TaskResult {
  readonly payload: unknown
  readonly completedAt: Date
}

/** What may be said of a new task. */
export interface TaskOptions {
  /** Default: a KSUID. Matches `^[a-zA-Z0-9_:-]+$`. */
  readonly id?: string
  /** The task is not started after this instant. */
  readonly deadline?: Date
  /** How often the task is tried at most, 0 to 32 767. Default 10; 0 is no limit. If its queue allows fewer tries, that counts. */
  readonly maxTries?: number
  /** The ids of tasks that must complete before. */
  readonly dependsOnIds?: readonly string[]
  /** Tasks that must complete before, beside `dependsOnIds`. */
  readonly dependsOn?: readonly Task[]
  /** Whether the handler gets what those tasks have returned, in `dependencyResults`. Default false. */
  readonly requiresDependencyResults?: boolean
  /** Makes the payload's bytes. Default: its JSON. It is not called for a payload that is null or undefined. */
  readonly payloadEncoder?: (payload: unknown) => Uint8Array | string
}

const names = optionNames<TaskOptions>('newTask', {
  id: true,
  deadline: true,
  maxTries: true,
  dependsOnIds: true,
  dependsOn: true,
  requiresDependencyResults: true,
  payloadEncoder: true,
})

/** What is known of a task. */
export interface TaskFields {
  readonly id: string
  readonly type: string
  readonly queue: string
  readonly dependencies: readonly string[]
  readonly dependencyResults?: Readonly<Record<string, TaskResult>> | undefined
  readonly loadDependencies: boolean
  readonly payload: Uint8Array | undefined
  readonly deadline?: Date | undefined
  readonly maxTries: number
  readonly result?: TaskResult | undefined
  readonly state: TaskState
  readonly createdAt: Date
  readonly lastTriedAt?: Date | undefined
  readonly tries: number
  readonly lastErr: string
}

/** The tasks whose ids were made for them. */
const made = new WeakSet<Task>()

/** Whether nobody else can have the id of a task: it was made for it, and the task was not enqueued since. */
export function isUnheardOf(task: Task): boolean {
  return task.queue === '' && made.has(task)
}

/** A task in the words of asyncjobs. `JSON.stringify` gives its JSON on the wire. */
export class Task implements TaskFields {
  readonly id: string
  readonly type: string
  /** The name of the queue to which the task was enqueued; empty before. */
  queue: string
  readonly dependencies: readonly string[]
  /** What the dependencies have returned, by their ids, if the task requires these results and is being handled. */
  readonly dependencyResults: Readonly<Record<string, TaskResult>> | undefined
  readonly loadDependencies: boolean
  /** The payload as it was encoded. See `json`. */
  readonly payload: Uint8Array | undefined
  readonly deadline: Date | undefined
  readonly maxTries: number
  readonly result: TaskResult | undefined
  state: TaskState
  readonly createdAt: Date
  /** When a handler was last called. */
  readonly lastTriedAt: Date | undefined
  readonly tries: number
  /** The last error, without its stack, or why the task has ended without one; empty if there is nothing to say. */
  lastErr: string
  readonly #extend: (() => void) | undefined

  /** @param fields without an id, one is made */
  constructor(fields: Omit<TaskFields, 'id'> & { readonly id?: string | undefined }, extend?: () => void) {
    this.id = fields.id ?? ksuid()
    if (fields.id === undefined) made.add(this)
    this.type = fields.type
    this.queue = fields.queue
    this.dependencies = fields.dependencies
    this.dependencyResults = fields.dependencyResults
    this.loadDependencies = fields.loadDependencies
    this.payload = fields.payload
    this.deadline = fields.deadline
    this.maxTries = fields.maxTries
    this.result = fields.result
    this.state = fields.state
    this.createdAt = fields.createdAt
    this.lastTriedAt = fields.lastTriedAt
    this.tries = fields.tries
    this.lastErr = fields.lastErr
    this.#extend = extend
  }

  /** Whether the deadline is over, by the clock of this process. */
  isPastDeadline(): boolean {
    return this.deadline !== undefined && Date.now() > this.deadline.getTime()
  }

  hasDependencies(): boolean {
    return this.dependencies.length > 0
  }

  /** The payload, read as JSON; undefined if there is none. @throws SyntaxError */
  json<Payload = unknown>(): Payload | undefined {
    return this.payload && (JSON.parse(Buffer.from(this.payload).toString('utf8')) as Payload)
  }

  /**
   * Gives the handler the whole run time of the queue once more, from now on. It may be called any number of times.
   *
   * @throws TaskError LIFECYCLE unless a handler is called with this task; the signal's reason if the handler was asked to let go
   */
  markInProgress(): void {
    if (!this.#extend) throw notHandled(this.id)
    this.#extend()
  }

  /** The task as asyncjobs writes it. */
  toJSON(): Record<string, unknown> {
    const { dependencyResults: results, result } = this
    return {
      id: this.id,
      type: this.type,
      queue: this.queue,
      ...(this.dependencies.length > 0 && { dependencies: this.dependencies }),
      ...(results && {
        dependency_results: Object.fromEntries(Object.entries(results).map(([id, one]) => [id, wireResult(one)])),
      }),
      ...(this.loadDependencies && { load_dependencies: true }),
      payload: base64Of(this.payload) ?? null,
      ...(this.deadline && { deadline: this.deadline }),
      max_tries: this.maxTries,
      ...(result && { result: wireResult(result) }),
      state: this.state,
      created: this.createdAt,
      ...(this.lastTriedAt && { tried: this.lastTriedAt }),
      tries: this.tries,
      ...(this.lastErr !== '' && { last_err: this.lastErr }),
    }
  }
}

/** The error of a task that is marked as in progress, and is not. */
export function notHandled(id: string): TaskError {
  return new TaskError('LIFECYCLE', `The task ${id} is not being handled: only its handler can mark it as in progress`, { id })
}

function wireResult({ payload, completedAt }: TaskResult): Readonly<Record<string, unknown>> {
  return { payload, completed: completedAt }
}

export function base64Of(bytes: Uint8Array | undefined): string | undefined {
  return bytes && Buffer.from(bytes).toString('base64')
}

/**
 * Makes a task. It is stored by `enqueueTask`.
 *
 * @param type matches `^[a-zA-Z0-9_:-]+$`; handlers are found by it
 * @param payload whatever JSON can express; null and undefined are no payload
 * @throws TaskError ARGUMENT_INVALID; INPUT_INVALID if JSON cannot express the payload; the error of the encoder
 * @example
 * const task = newTask('email:new', { to: 'ann@example.org' }, { deadline: new Date(Date.now() + 3_600_000), maxTries: 3 })
 */
export function newTask(type: string, payload?: unknown, options: TaskOptions = {}): Task {
  checkName('type', type, 'typeInvalid')
  checkNames(names, options)
  const { id, deadline, maxTries = defaultMaxTries, dependsOnIds = [], dependsOn = [] } = options
  const { requiresDependencyResults: loadDependencies = false, payloadEncoder } = options
  if (id !== undefined) checkName('id', id, 'idInvalid')
  if (deadline !== undefined) checkInstant('deadline', deadline)
  checkInteger('maxTries', maxTries, 0, taskLimits.tries)
  if (typeof loadDependencies !== 'boolean') throw invalid('requiresDependencyResults', loadDependencies, 'must be true or false')
  const dependencies = dependenciesOf(dependsOnIds, dependsOn)
  // It would wait for itself.
  if (id !== undefined && dependencies.includes(id)) throw invalid('dependsOnIds', id, 'must not have the id of the task itself')
  return new Task({
    id,
    type,
    queue: '',
    dependencies,
    loadDependencies,
    payload: encoded(type, payload, payloadEncoder),
    deadline,
    maxTries,
    state: dependencies.length > 0 ? 'blocked' : 'new',
    createdAt: new Date(),
    tries: 0,
    lastErr: '',
  })
}

/** Each dependency once, and in order. */
function dependenciesOf(ids: readonly string[], tasks: readonly Task[]): readonly string[] {
  // A string is a list of letters, and would be taken for as many ids.
  if (!Array.isArray(ids)) throw invalid('dependsOnIds', ids, 'must be a list of ids')
  if (!Array.isArray(tasks) || !tasks.every((task) => task instanceof Task))
    throw invalid('dependsOn', tasks, 'must be a list of tasks: give their ids as dependsOnIds')
  const dependencies = [...new Set<string>([...(ids as readonly string[]), ...tasks.map((task) => task.id)])]
  for (const dependency of dependencies) checkName('dependsOnIds', dependency, 'idInvalid')
  return dependencies
}

function encoded(type: string, payload: unknown, encode: TaskOptions['payloadEncoder']): Uint8Array | undefined {
  if (payload === undefined || payload === null) return undefined
  if (encode === undefined) return Buffer.from(jsonOf(type, payload))
  if (typeof encode !== 'function') throw invalid('payloadEncoder', encode, 'must be a function')
  const bytes: unknown = encode(payload)
  if (typeof bytes === 'string') return Buffer.from(bytes)
  if (bytes instanceof Uint8Array) return bytes
  throw invalid('payloadEncoder', bytes, 'must return bytes or a string')
}
