/** A task as it is stored: what never changes is the input of its job, and the rest is in the columns of the job. */
import { checkInput, jsonOf } from '@taskstream/task-api'
import type { InputSchema, TaskInfo, TaskReason } from '@taskstream/task-api'
import { json, parsed } from '@taskstream/task-jobs'
import { texts } from './errors.ts'
import { stateOf } from './states.ts'
import type { TaskState } from './states.ts'
import { base64Of, Task } from './task.ts'
import type { TaskFields, TaskResult } from './task.ts'

/** The fields of a task that are kept as the input of its job, by their names on the wire. */
export interface StoredTask {
  readonly type: string
  readonly created: string
  readonly max_tries: number
  /** In base64. */
  readonly payload?: string
  readonly dependencies?: readonly string[]
  readonly load_dependencies?: boolean
  /** Those of the dependencies that were not there when the task was enqueued. */
  readonly missing?: readonly string[]
}

/** What a handler has returned, as it is kept. */
export interface StoredResult {
  readonly payload: unknown
  readonly completed: string
}

/** Reads what is stored. A row that was written in another way is no task, and no handler sees it. */
export const storedTask: InputSchema<StoredTask, StoredTask> = {
  '~standard': {
    validate: (value) => (isStored(value) ? { value } : { issues: [{ message: 'it is no task of asyncjobs' }] }),
  },
}

export const storedResult: InputSchema<StoredResult, StoredResult> = json<StoredResult>()

function isStored(value: unknown): value is StoredTask {
  const { type, created, max_tries, payload, dependencies } = (value ?? {}) as Partial<Record<keyof StoredTask, unknown>>
  return (
    typeof type === 'string' &&
    typeof created === 'string' &&
    typeof max_tries === 'number' &&
    (payload === undefined || typeof payload === 'string') &&
    (dependencies === undefined || Array.isArray(dependencies))
  )
}

/** @param missing the ids of dependencies that are not there */
export function toStored(task: Task, missing: readonly string[] = []): StoredTask {
  const payload = base64Of(task.payload)
  return {
    type: task.type,
    created: task.createdAt.toISOString(),
    max_tries: task.maxTries,
    ...(payload !== undefined && { payload }),
    ...(task.dependencies.length > 0 && { dependencies: task.dependencies }),
    ...(task.loadDependencies && { load_dependencies: true }),
    ...(missing.length > 0 && { missing }),
  }
}

/** The fields of a task that its input says. */
export function fieldsOf({
  type,
  created,
  max_tries,
  payload,
  dependencies = [],
  load_dependencies = false,
}: StoredTask): Pick<TaskFields, 'type' | 'createdAt' | 'maxTries' | 'payload' | 'dependencies' | 'loadDependencies'> {
  return {
    type,
    createdAt: new Date(created),
    maxTries: max_tries,
    payload: payload === undefined ? undefined : Buffer.from(payload, 'base64'),
    dependencies,
    loadDependencies: load_dependencies,
  }
}

/**
 * The task of a row. One that cannot be read has an empty state and an empty type.
 *
 * @param value what its handler has returned, as it is kept
 */
export function toTask(queue: string, info: TaskInfo, value: string | undefined): Task {
  const { externalId, sequence, input, deadline, started, output, reason } = info
  // The poll that finds a task too late counts as a try, and no handler was called.
  const tries = reason === 'deadline' ? info.tries - 1 : info.tries
  const stored = parsed(input)
  const isRead = isStored(stored)
  const state = isRead ? stateOf(info) : ''
  const fields = isRead ? stored : { type: '', created: info.created.toISOString(), max_tries: info.maxTries ?? 0 }
  return new Task({
    ...fieldsOf(fields),
    id: externalId ?? `@${sequence}`,
    queue,
    deadline,
    state,
    lastTriedAt: tries > 0 ? started : undefined,
    tries,
    lastErr: state === 'active' ? '' : (missed(state, stored) ?? lastErrorOf(output ?? withoutWords[reason!])),
    result: resultOf(parsed(value)),
  })
}

export function resultOf(value: unknown): TaskResult | undefined {
  const { payload, completed } = (value ?? {}) as Partial<StoredResult>
  return completed === undefined ? undefined : { payload, completedAt: new Date(completed) }
}

/** What a handler has returned, as it is kept. @throws TaskError ARGUMENT_INVALID unless JSON can express it: the try has failed */
export function toStoredResult(type: string, returned: unknown): StoredResult {
  const payload = returned === undefined ? null : returned
  jsonOf(type, payload, 'output')
  return checkInput(storedResult, type, { payload, completed: new Date().toISOString() }, 'output')
}

/** What is said of ends that no handler has said anything of. */
const withoutWords: Readonly<Partial<Record<TaskReason, string>>> = {
  tries: 'the process that handled it has died, and it has no tries left',
  deadline: 'past its deadline',
  cancelled: 'cancelled',
  dropped: 'dropped by its queue, which was full',
}

/** Why a task is unreachable whose dependencies were not there. The error of its row has no ids. */
function missed(state: TaskState, stored: unknown): string | undefined {
  const { missing } = (stored ?? {}) as Partial<StoredTask>
  if (state !== 'unreachable' || !Array.isArray(missing)) return undefined
  return `${texts.taskMissing}: ${missing.join(', ')}, needed by this one: enqueue what a task depends on before the task itself`
}

/** The message of the last error. It is kept with the name of its class and its stack. */
function lastErrorOf(output: string = ''): string {
  const [line = ''] = output.split('\n')
  return line.replace(/^\w*Error(?: \[\w+\])?: /, '')
}
