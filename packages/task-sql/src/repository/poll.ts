import {
  checkInteger,
  checkNames,
  checkTopic,
  invalid,
  pollConditions,
  pollHolds,
  pollOrders,
  taskLimits,
  taskReasons,
  verbOptions,
} from '@taskstream/task-api'
import type { HeldTask, PollOptions } from '@taskstream/task-api'
import type { Claim, ClaimRequest } from '../dialect.ts'
import { raw, sql } from '../statement.ts'
import type { Verb } from '../transaction.ts'
import { claimOrdered } from './claim-ordered.ts'
import { claimSingular } from './claim-singular.ts'
import { ownerUnknown, topicUnknown } from './context.ts'
import type { Context } from './context.ts'
import { isSamePolling, plainPolling, topicDifferent } from './polling.ts'
import type { Polling } from './polling.ts'
import { heldRequests } from './held.ts'
import { isStaged } from './lease.ts'
import { heldColumns, isLate, toHeldTask } from './row.ts'
import { noteIdentifiers, setStage } from './turns.ts'

export function* poll(context: Context, topic: string, options: PollOptions = {}): Verb<HeldTask[]> {
  checkNames(verbOptions.poll, options)
  const { size = 1 } = options
  checkTopic(topic)
  checkInteger('size', size, 0, taskLimits.pollSize)
  checkOneOf('order', options.order, pollOrders)
  checkOneOf('condition', options.condition, pollConditions)
  checkOneOf('hold', options.hold, pollHolds)
  if (size === 0) return []
  const held: HeldTask[] = []
  let polling: Polling = plainPolling
  let late: number
  do {
    const claimed = yield* claimSome(context, topic, size - held.length, options)
    polling = claimed.polling
    const how = claimed.locked ? 'locked' : polling.condition === 'none' ? 'active' : 'staged'
    const tooLate: HeldTask[] = []
    for (const row of claimed.rows) {
      const into = isLate(row) ? tooLate : held
      into.push(toHeldTask(topic, row, how))
    }
    late = tooLate.length
    if (late > 0) yield* filterLate(context, topic, tooLate)
  } while (late > 0 && held.length < size)
  return held.toSorted(inOrder(polling))
}

/** Claims as the topic is polled: what is known of it from before, and what a first claim says, where that is not so. */
function* claimSome(
  { dialect, owner, now, pollings }: Context,
  topic: string,
  size: number,
  asked: PollOptions,
): Verb<Claim & { readonly polling: Polling }> {
  const mayLock = asked.hold === 'transaction'
  if (mayLock && dialect.checkLocks) yield* dialect.checkLocks()
  const request: ClaimRequest = { topic, owner, size, now: now(), columns: heldColumns(dialect, now()), mayLock }
  const known = pollings.get(topic) ?? plainPolling
  // mutants: equivalent nullish:asked.order nullish:asked.condition, a guess that does not hold claims nothing, and is made again
  let expected: Polling = { order: asked.order ?? known.order, condition: asked.condition ?? known.condition }
  for (;;) {
    const claim = yield* claimAs(request, expected)
    const { polling, ownerKnown } = claim
    if (!polling) throw yield* topicUnknown(dialect, topic)
    if (!ownerKnown) throw ownerUnknown(owner)
    pollings.set(topic, polling)
    if (isSamePolling(polling, expected)) return { ...claim, polling }
    if ((asked.order ?? polling.order) !== polling.order || (asked.condition ?? polling.condition) !== polling.condition)
      throw topicDifferent(topic, asked, polling)
    expected = polling
  }

  function claimAs(request: ClaimRequest, { order, condition }: Polling): Verb<Claim> {
    if (condition !== 'none') return claimSingular(dialect, request, { order, condition })
    return order === 'fifo' ? dialect.claimPlain(request) : claimOrdered(dialect, request, { order, condition })
  }
}

/** Nobody gets to see a task after its deadline. */
function* filterLate(context: Context, topic: string, tasks: readonly HeldTask[]): Verb<void> {
  const { dialect, now } = context
  for (const request of heldRequests(context, topic, tasks)) {
    yield* dialect.changeHeld(
      request,
      ({ take }) => sql`
           state = 5,
           listed = ${dialect.false},
           reason = ${raw(String(taskReasons.indexOf('deadline')))},
           completed = ${dialect.now(now())},
           ${setStage('ended')}${take}`,
    )
  }
  yield* noteIdentifiers(
    context,
    topic,
    tasks.filter(isStaged).map(({ identifier }) => identifier),
  )
}

function inOrder({ order }: Polling): (left: HeldTask, right: HeldTask) => number {
  if (order === 'lifo') return (left, right) => right.sequence - left.sequence
  if (order === 'priority') return (left, right) => right.priority - left.priority || left.sequence - right.sequence
  return (left, right) => left.sequence - right.sequence
}

function checkOneOf(argument: string, value: unknown, allowed: readonly string[]): void {
  if (value !== undefined && !allowed.includes(value as string))
    throw invalid(argument, value, `must be one of ${allowed.join(', ')}`)
}
