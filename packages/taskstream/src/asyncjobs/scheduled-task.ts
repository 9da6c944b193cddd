import { checkDuration, checkInput, checkNames, optionNames } from '@taskstream/task-api'
import type { InputSchema } from '@taskstream/task-api'
import { cron, every } from '@taskstream/task-timers'
import type { Timer } from '@taskstream/task-timers'
import { failure } from './errors.ts'
import { checkName } from './names.ts'
import { base64Of, newTask, Task } from './task.ts'
import type { TaskOptions } from './task.ts'
import { checkedQueue } from './work-queue.ts'

/** What may be said of the tasks that a schedule creates. */
export interface ScheduleOptions extends Pick<TaskOptions, 'maxTries' | 'payloadEncoder'> {
  /** How long after its creation a task may be started, in milliseconds, 30 000 to 100 years. Default: as long as its queue allows. */
  readonly deadlineMs?: number
}

const names = optionNames<ScheduleOptions>('a scheduled task', { maxTries: true, payloadEncoder: true, deadlineMs: true })
const shortestDeadlineMs = 30_000
const nanoseconds = 1_000_000

/** A scheduled task by its names on the wire, as it is kept. The deadline is in nanoseconds. */
export interface StoredSchedule {
  readonly name: string
  readonly schedule: string
  readonly queue: string
  readonly task_type: string
  readonly payload: string | null
  readonly deadline?: number
  readonly max_tries: number
  readonly created_at: string
}

/** Tasks that the clock creates. `JSON.stringify` gives its JSON on the wire. */
export class ScheduledTask {
  readonly #stored: StoredSchedule

  constructor(stored: StoredSchedule) {
    this.#stored = stored
  }

  get name(): string {
    return this.#stored.name
  }

  /** Five fields of cron, a name such as `@daily`, or `@every 1h30m`, in UTC. */
  get schedule(): string {
    return this.#stored.schedule
  }

  get queue(): string {
    return this.#stored.queue
  }

  get taskType(): string {
    return this.#stored.task_type
  }

  get payload(): Uint8Array | undefined {
    const { payload } = this.#stored
    return payload === null ? undefined : Buffer.from(payload, 'base64')
  }

  /** How long after its creation a task may be started. Undefined if its queue alone says so. */
  get deadlineMs(): number | undefined {
    const { deadline } = this.#stored
    return deadline === undefined ? undefined : deadline / nanoseconds
  }

  get maxTries(): number {
    return this.#stored.max_tries
  }

  get createdAt(): Date {
    return new Date(this.#stored.created_at)
  }

  toJSON(): StoredSchedule {
    return this.#stored
  }

  /** Makes the task of an occurrence, with an id of its own and the payload as it is. */
  newTask(): Task {
    const { taskType, payload, deadlineMs, maxTries } = this
    return new Task({
      type: taskType,
      queue: '',
      dependencies: [],
      loadDependencies: false,
      payload,
      deadline: deadlineMs === undefined ? undefined : new Date(Date.now() + deadlineMs),
      maxTries,
      state: 'new',
      createdAt: new Date(),
      tries: 0,
      lastErr: '',
    })
  }
}

/** Reads what is kept of a scheduled task. */
export const storedSchedule: InputSchema<StoredSchedule, StoredSchedule> = {
  '~standard': {
    validate: (value) => (isSchedule(value) ? { value } : { issues: [{ message: 'it is no scheduled task of asyncjobs' }] }),
  },
}

function isSchedule(value: unknown): value is StoredSchedule {
  const stored = (value ?? {}) as Partial<Record<keyof StoredSchedule, unknown>>
  return (
    (['name', 'schedule', 'queue', 'task_type', 'created_at'] as const).every((field) => typeof stored[field] === 'string') &&
    typeof stored.max_tries === 'number' &&
    (stored.payload === null || typeof stored.payload === 'string') &&
    (stored.deadline === undefined || typeof stored.deadline === 'number')
  )
}

/** @throws TaskError ARGUMENT_INVALID with the text of asyncjobs */
export function newScheduledTask(
  name: string,
  schedule: string,
  queue: string,
  type: string,
  payload: unknown,
  options: ScheduleOptions,
): { readonly task: ScheduledTask; readonly timer: Timer } {
  checkNames(names, options)
  const { deadlineMs, ...others } = options
  if (name === '') throw failure('ARGUMENT_INVALID', 'scheduleNameRequired', undefined, { argument: 'name', value: name })
  checkName('name', name, 'scheduleNameInvalid')
  const timer = timerOf(schedule)
  checkedQueue(queue)
  const task = newTask(type, payload, others)
  if (deadlineMs !== undefined) checkDuration('deadlineMs', deadlineMs)
  if (deadlineMs !== undefined && deadlineMs < shortestDeadlineMs)
    throw failure('ARGUMENT_INVALID', 'deadlineShort', `at least ${shortestDeadlineMs} ms`, {
      argument: 'deadlineMs',
      value: deadlineMs,
    })
  const stored = {
    name,
    schedule,
    queue,
    task_type: type,
    payload: base64Of(task.payload) ?? null,
    ...(deadlineMs !== undefined && { deadline: deadlineMs * nanoseconds }),
    max_tries: task.maxTries,
    created_at: task.createdAt.toISOString(),
  }
  return { task: new ScheduledTask(checkInput(storedSchedule, name, stored)), timer }
}

/** The timer of a schedule, in UTC. */
function timerOf(schedule: string): Timer {
  const argument = { argument: 'schedule', value: schedule }
  if (typeof schedule !== 'string') throw failure('ARGUMENT_INVALID', 'scheduleInvalid', 'it must be a text', argument)
  if (schedule === '') throw failure('ARGUMENT_INVALID', 'scheduleRequired', undefined, argument)
  try {
    const everyMs = /^@every (.+)$/.exec(schedule)?.[1]
    if (everyMs !== undefined) return every(durationMs(everyMs))
    if (Object.hasOwn(aliases, schedule)) return cron(aliases[schedule]!)
    const fields = schedule.trim().split(/\s+/)
    if (fields.length === 5) return cron(fields.join(' '))
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw failure('ARGUMENT_INVALID', 'scheduleInvalid', `${schedule} (${why})`, argument, error)
  }
  const known = `five fields, ${Object.keys(aliases).join(', ')}, or @every and a duration`
  throw failure('ARGUMENT_INVALID', 'scheduleInvalid', `${schedule} (there is ${known})`, argument)
}

const aliases: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
}

const units: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1_000, ms: 1 }

/** Reads a duration of Go, such as `1h30m`. Less than a second is a second, as it is there. */
function durationMs(text: string): number {
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|h|m|s)/g)]
  if (parts.map(([part]) => part).join('') !== text) throw new RangeError(`${text} is no duration, such as 1h30m`)
  const sumMs = parts.reduce((sum, [, count, unit]) => sum + Number(count) * units[unit!]!, 0)
  return Math.max(1_000, Math.floor(sumMs / 1_000) * 1_000)
}
