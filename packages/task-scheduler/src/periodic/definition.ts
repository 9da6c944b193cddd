/** Checks a periodic task and fills in its defaults, as it is stored. */
import {
  checkDuration,
  checkInstant,
  checkInteger,
  checkOptions,
  checkStorable,
  checkText,
  checkTopic,
  invalid,
  misfires,
  overlaps,
  taskLimits,
} from '@taskstream/task-api'
import type { TaskHeaders, TimerDefinition } from '@taskstream/task-api'
import { parseTimer } from '@taskstream/task-timers'
import type { Timer } from '@taskstream/task-timers'
import { isEach } from './schedule.ts'
import type { PeriodicTask } from './periodic-task.ts'

/** The greatest values of a periodic task. Lengths are in UTF-16 code units. */
export const periodicLimits = {
  /** The length of scope, id, name and application. An external id contains scope and id, and has at most 500 characters. */
  nameLength: 200,
  summaryLength: 500,
  jitterMs: 86_400_000,
} as const

export interface CheckedTask {
  readonly id: string
  readonly timer: Timer
  /** Undefined if the timer stays as it is. */
  readonly paused: boolean | undefined
  readonly definition: TimerDefinition
}

const names: Record<keyof PeriodicTask, true> = {
  id: true,
  timer: true,
  topic: true,
  name: true,
  summary: true,
  identifier: true,
  input: true,
  headers: true,
  priority: true,
  maxTries: true,
  misfire: true,
  lateMs: true,
  whileUnfinished: true,
  jitterMs: true,
  start: true,
  end: true,
  maxCount: true,
  paused: true,
}

/** Checks a periodic task and fills in its defaults. @throws TaskError ARGUMENT_INVALID, which names the wrong field */
export function checkPeriodicTask(task: PeriodicTask): CheckedTask {
  if (typeof task !== 'object' || task === null) throw invalid('task', task, 'must be an object')
  checkOptions('a periodic task', task, names)
  const { id, topic, name, summary, input, headers, start, end, maxCount, lateMs } = task
  const { misfire = 'once', whileUnfinished = isEach(misfire) ? 'push' : 'skip', jitterMs = 0 } = task
  const { priority = 0, maxTries, identifier = id, paused } = task
  checkText('id', id, periodicLimits.nameLength)
  const timer = toTimer(task.timer)
  checkTopic(topic)
  if (name !== undefined) checkText('name', name, periodicLimits.nameLength)
  if (summary !== undefined) checkStorable('summary', summary, periodicLimits.summaryLength)
  checkText('identifier', identifier, taskLimits.identifierLength)
  if (input !== undefined) checkStorable('input', input, taskLimits.inputLength)
  checkInteger('priority', priority, -taskLimits.priority, taskLimits.priority)
  if (maxTries !== undefined) checkInteger('maxTries', maxTries, 1, taskLimits.tries)
  if (!misfires.includes(misfire)) throw invalid('misfire', misfire, `must be one of ${misfires.join(', ')}`)
  if (!overlaps.includes(whileUnfinished))
    throw invalid('whileUnfinished', whileUnfinished, `must be one of ${overlaps.join(', ')}`)
  if (lateMs !== undefined) checkDuration('lateMs', lateMs)
  checkInteger('jitterMs', jitterMs, 0, periodicLimits.jitterMs)
  if (start !== undefined) checkInstant('start', start)
  if (end !== undefined) checkInstant('end', end)
  if (start !== undefined && end !== undefined && start > end)
    throw invalid('start', start.toISOString(), `must not be after end, which is ${end.toISOString()}`)
  if (maxCount !== undefined) checkInteger('maxCount', maxCount, 1, Number.MAX_SAFE_INTEGER)
  if (paused !== undefined && typeof paused !== 'boolean') throw invalid('paused', paused, 'must be true or false')
  return {
    id,
    timer,
    paused,
    definition: {
      name: name ?? null,
      timer: timer.expression,
      summary: summary || null,
      topic,
      identifier,
      input: input !== undefined && /\S/.test(input) ? input : null,
      headers: headers === undefined ? null : toText(headers),
      priority,
      maxTries: maxTries ?? null,
      misfire,
      lateMs: lateMs ?? null,
      whileUnfinished,
      jitterMs,
      start: start?.getTime() ?? null,
      end: end?.getTime() ?? null,
      maxCount: maxCount ?? null,
    },
  }
}

/** Timers are stored as text, so a timer object of the user's own must have an expression that `parseTimer` reads. */
function toTimer(timer: Timer | string): Timer {
  const text = typeof timer === 'string' ? timer : timer?.expression
  if (typeof text !== 'string') throw invalid('timer', timer, 'must be a timer or the text of one')
  return parseTimer(text)
}

/** Checks headers by the rules of a push, so that they fail here and not when the first task is pushed. */
function toText(headers: TaskHeaders): string {
  if (typeof headers !== 'object' || headers === null || Array.isArray(headers))
    throw invalid('headers', headers, 'must be an object')
  const text = JSON.stringify(headers)
  checkStorable('headers', text, taskLimits.headersLength)
  const escapes = text.replaceAll('\\\\', '')
  if (/\\u0000|\\ud[89a-f]/i.test(escapes))
    throw invalid('headers', text, 'must not contain a NUL character or an unpaired surrogate')
  return text
}
