import { checkInteger, checkTopic, taskLimits } from '@taskstream/task-api'
import type { HeldTask, PollOptions } from '@taskstream/task-api'
import type { Verb } from '../transaction.ts'
import { ownerUnknown, topicUnknown } from './context.ts'
import type { Context } from './context.ts'
import { heldColumns, toHeldTask } from './row.ts'

export function* poll({ dialect, owner, now }: Context, topic: string, options: PollOptions = {}): Verb<HeldTask[]> {
  const { size = 1 } = options
  checkTopic(topic)
  checkInteger('size', size, 0, taskLimits.pollSize)
  if (size === 0) return []
  const claim = yield* dialect.claim({ topic, owner, size, now: now(), columns: heldColumns })
  if (!claim.topicKnown) throw topicUnknown(topic)
  if (!claim.ownerKnown) throw ownerUnknown(owner)
  return claim.rows.map((row) => toHeldTask(topic, row)).toSorted((left, right) => left.sequence - right.sequence)
}
