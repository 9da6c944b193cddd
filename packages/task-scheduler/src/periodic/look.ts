/** Finds timers. */
import { checkNames, checkText, optionNames, TaskError } from '@taskstream/task-api'
import type { StoredTimer, TaskHeaders } from '@taskstream/task-api'
import { periodicLimits } from './definition.ts'
import type { PeriodicTaskInfo } from './periodic-task.ts'
import { answer } from './steps.ts'
import type { Steps, Work } from './steps.ts'

/** Selects timers by all the fields that are given. */
export interface PeriodicFilter {
  readonly name?: string
  readonly application?: string
}

const names = optionNames<PeriodicFilter>('list', { name: true, application: true })

export function* get({ transaction, timers }: Work, scope: string, id: string): Steps<PeriodicTaskInfo | undefined> {
  checkText('id', id, periodicLimits.nameLength)
  const timer = yield* answer(timers.get(transaction, { scope, id }))
  return timer && toInfo(timer)
}

/** Lists timers in order of scope and id. @param scope undefined for every scope */
export function* list(
  { transaction, timers }: Work,
  scope: string | undefined,
  filter: PeriodicFilter = {},
): Steps<PeriodicTaskInfo[]> {
  checkNames(names, filter)
  const { name, application } = filter
  return (yield* answer(timers.list(transaction, { scope, name, application }))).map(toInfo)
}

/** Locks the timer until the transaction ends. @throws TaskError TIMER_UNKNOWN */
export function* find({ transaction, timers }: Work, scope: string, id: string): Steps<StoredTimer> {
  checkText('id', id, periodicLimits.nameLength)
  const timer = yield* answer(timers.lock(transaction, { scope, id }))
  if (timer) return timer
  throw new TaskError('TIMER_UNKNOWN', `There is no timer "${id}" in the scope "${scope}": list shows which there are`, {
    scope,
    id,
  })
}

function toInfo(timer: StoredTimer): PeriodicTaskInfo {
  const { scope, id, topic, identifier, priority, misfire, whileUnfinished, jitterMs, status, fired, skipped } = timer
  const { lastTopic, lastSequence, lastOccurrence } = timer
  return {
    scope,
    id,
    timer: timer.timer,
    topic,
    identifier,
    priority,
    misfire,
    whileUnfinished,
    jitterMs,
    status,
    fired,
    skipped,
    created: new Date(timer.created),
    changed: new Date(timer.changed),
    ...(timer.name !== null && { name: timer.name }),
    ...(timer.summary !== null && { summary: timer.summary }),
    ...(timer.input !== null && { input: timer.input }),
    ...(timer.headers !== null && { headers: JSON.parse(timer.headers) as TaskHeaders }),
    ...(timer.maxTries !== null && { maxTries: timer.maxTries }),
    ...(timer.lateMs !== null && { lateMs: timer.lateMs }),
    ...(timer.start !== null && { start: new Date(timer.start) }),
    ...(timer.end !== null && { end: new Date(timer.end) }),
    ...(timer.maxCount !== null && { maxCount: timer.maxCount }),
    ...(timer.application !== null && { application: timer.application }),
    ...(timer.note !== null && { note: timer.note }),
    ...(timer.occurrence !== null && { next: new Date(timer.occurrence) }),
    ...(timer.due !== null && { due: new Date(timer.due) }),
    ...(lastTopic !== null && {
      last: {
        topic: lastTopic,
        sequence: lastSequence!,
        ...(lastOccurrence !== null && { occurrence: new Date(lastOccurrence) }),
      },
    }),
  }
}
