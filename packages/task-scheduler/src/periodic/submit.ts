/** Pushing the tasks of a timer, and whether one of them has not ended. */
import type { PushedTask, StoredTimer, TaskHeaders } from '@taskstream/task-api'
import { referenceOf } from './occurrence.ts'
import { answer } from './steps.ts'
import type { Steps, Work } from './steps.ts'

/** @param externalIds of the tasks, one for each. @returns the tasks, in this order */
export function submit({ transaction, tasks }: Work, timer: StoredTimer, externalIds: readonly string[]): Steps<PushedTask[]> {
  const { identifier, priority, input, headers, maxTries } = timer
  const creation = {
    identifier,
    priority,
    reference: referenceOf(timer.scope, timer.id),
    ...(input !== null && { input }),
    ...(headers !== null && { headers: JSON.parse(headers) as TaskHeaders }),
    ...(maxTries !== null && { maxTries }),
  }
  const creations = externalIds.map((externalId) => ({ ...creation, externalId }))
  return answer(tasks.push(transaction, timer.topic, creations))
}

/** The sequence of a task of the timer that has not ended: in its topic, or in the topic of the last one. */
export function* unfinished({ transaction, timers }: Work, timer: StoredTimer): Steps<number | undefined> {
  const reference = referenceOf(timer.scope, timer.id)
  // mutants: equivalent nullish:timer.lastTopic, no topic is null
  for (const topic of new Set([timer.topic, timer.lastTopic ?? timer.topic])) {
    const sequence = yield* answer(timers.unfinished(transaction, topic, reference))
    if (sequence !== undefined) return sequence
  }
  return undefined
}
