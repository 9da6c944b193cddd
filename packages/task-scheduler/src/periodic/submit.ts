/** Pushes the tasks of a timer, and finds a task of the timer that has not ended. */
import type { PushedTask, StoredTimer, TaskHeaders } from '@taskstream/task-api'
import { referenceOf } from './occurrence.ts'
import { answer } from './steps.ts'
import type { Steps, Work } from './steps.ts'

/** Pushes a task for each external id. @returns the tasks, in the order of `externalIds` */
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

/** Finds the sequence of a task of the timer that has not ended, in the timer's topic or in the topic of its last task. */
export function* unfinished({ transaction, timers }: Work, timer: StoredTimer): Steps<number | undefined> {
  const reference = referenceOf(timer.scope, timer.id)
  // mutants: equivalent nullish:timer.lastTopic, no topic has the name null
  for (const topic of new Set([timer.topic, timer.lastTopic ?? timer.topic])) {
    const sequence = yield* answer(timers.unfinished(transaction, topic, reference))
    if (sequence !== undefined) return sequence
  }
  return undefined
}
