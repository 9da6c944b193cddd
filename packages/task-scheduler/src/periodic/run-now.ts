import { find } from './look.ts'
import { externalIdByHand } from './occurrence.ts'
import type { RunNow } from './periodic-task.ts'
import { answer } from './steps.ts'
import type { Steps, Work } from './steps.ts'
import { submit, unfinished } from './submit.ts'

/**
 * Submits a task of the timer now. The timer's next occurrence stays as it is.
 *
 * @throws TaskError TIMER_UNKNOWN, TOPIC_UNKNOWN
 */
export function* runNow(work: Work, scope: string, id: string): Steps<RunNow> {
  const timer = yield* find(work, scope, id)
  const sequence = timer.whileUnfinished === 'skip' ? yield* unfinished(work, timer) : undefined
  if (sequence !== undefined) return { unfinished: sequence }
  const [task] = yield* submit(work, timer, [externalIdByHand(scope, id, timer.now)])
  const last = { lastTopic: task!.topic, lastSequence: task!.sequence, lastOccurrence: null }
  yield* answer(work.timers.change(work.transaction, { scope, id }, last))
  return { submitted: task! }
}
