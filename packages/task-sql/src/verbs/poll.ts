import {
  checkInteger,
  checkNames,
  checkShares,
  checkTopic,
  defaultShares,
  invalid,
  pollConditions,
  pollHolds,
  pollOrders,
  taskLimits,
  verbOptions,
} from '@taskstream/task-api'
import type { HeldTask, PollOptions } from '@taskstream/task-api'
import type { Claim, ClaimRequest } from '../core/requests.ts'
import { reasons, states } from '../core/states.ts'
import { nothing, sql } from '../core/statement.ts'
import type { Row, Verb } from '../core/verb.ts'
import type { Way } from '../core/lease.ts'
import { claimOrdered } from './claim-ordered.ts'
import { claimShared } from './claim-shared.ts'
import { claimSingular } from './claim-singular.ts'
import { ownerUnknown, topicUnknown } from '../core/verb-context.ts'
import type { Context } from '../core/verb-context.ts'
import { isSameMode, plainMode, topicDifferent } from '../core/topic-mode.ts'
import type { TopicMode } from '../core/topic-mode.ts'
import { enqueueRechecksOf, ofHeld } from './held.ts'
import { heldColumns, isLate, toHeldTask } from '../core/task-row.ts'
import { setBlockingClass } from './recheck.ts'

export function* poll(context: Context, topic: string, options: PollOptions = {}): Verb<HeldTask[]> {
  checkNames(verbOptions.poll, options)
  const { size = 1 } = options
  checkTopic(topic)
  checkInteger('size', size, 0, taskLimits.pollSize)
  checkOneOf('order', options.order, pollOrders)
  checkOneOf('condition', options.condition, pollConditions)
  checkOneOf('hold', options.hold, pollHolds)
  if (options.shares !== undefined) checkShares(options.shares)
  if (size === 0) return []
  const held: HeldTask[] = []
  let mode: TopicMode = plainMode
  let late: number
  do {
    const claimed = yield* claimSome(context, topic, size - held.length, options)
    mode = claimed.mode
    context.unfinished[claimed.more ? 'add' : 'delete'](topic)
    const tooLate: HeldTask[] = []
    const take = (rows: readonly Row[], how: Way): void => {
      for (const row of rows) {
        const into = isLate(row) ? tooLate : held
        // mutants: equivalent method, the rows come in any order
        into.push(toHeldTask(topic, row, how))
      }
    }
    take(claimed.rows, claimed.locked ? 'locked' : mode.condition === 'none' ? 'active' : 'staged')
    take(claimed.ranged ?? [], 'ranged')
    late = tooLate.length
    // mutants: equivalent boundary condition:true, without tasks no statement is made
    if (late > 0) yield* filterLate(context, topic, tooLate)
    // mutants: equivalent boundary:<=, a claim of no tasks takes none
  } while (late > 0 && held.length < size)
  const sorted = held.toSorted(inOrder(mode))
  // Between the statements of a poll without a transaction, an expiry may give back what the first has taken, and the second may take it again.
  return mode.record === 'outcomes' ? sorted.filter(({ sequence }, index) => sorted[index + 1]?.sequence !== sequence) : sorted
}

/**
 * Claims tasks in the topic's mode. The first claim assumes the mode that earlier polls have seen. If the topic has another mode,
 * that claim takes nothing and reports the right mode for a second claim.
 */
function* claimSome(
  { dialect, owner, now, modes, places, columns }: Context,
  topic: string,
  size: number,
  asked: PollOptions,
): Verb<Claim & { readonly mode: TopicMode }> {
  const mayLock = asked.hold === 'transaction'
  if (mayLock && dialect.locks.check) yield* dialect.locks.check()
  const clock = now()
  // mutants: equivalent condition:false, the same columns, made anew
  const returned = clock === null ? columns : heldColumns(dialect, clock)
  const request: ClaimRequest = { topic, owner, size, now: clock, columns: returned, mayLock }
  // mutants: equivalent nullish, a claim with a wrong mode takes nothing and is repeated
  const known = modes.get(topic) ?? plainMode
  // mutants: equivalent property `condition: asked.condition ?? known.condition`, a claim with a wrong mode takes nothing and is repeated
  // mutants: equivalent nullish:asked.order nullish:asked.condition, a claim with a wrong mode takes nothing and is repeated
  let expected: TopicMode = { ...known, order: asked.order ?? known.order, condition: asked.condition ?? known.condition }
  for (;;) {
    const claim = yield* claimAs(request, expected)
    const { mode, ownerKnown } = claim
    if (!mode) throw yield* topicUnknown(dialect, topic)
    if (!ownerKnown) throw ownerUnknown(owner)
    // mutants: equivalent statement, the next claim is repeated too
    modes.set(topic, mode)
    // mutants: equivalent property, the claim has it already
    if (isSameMode(mode, expected)) return { ...claim, mode }
    if ((asked.order ?? mode.order) !== mode.order || (asked.condition ?? mode.condition) !== mode.condition)
      throw topicDifferent(topic, asked, mode)
    expected = mode
  }

  function claimAs(request: ClaimRequest, mode: TopicMode): Verb<Claim> {
    const { order, condition, record } = mode
    if (record === 'outcomes' && dialect.ranges) {
      if (mayLock)
        throw invalid(
          'hold',
          'transaction',
          `must be lease in topic "${topic}", which keeps outcomes: its tasks are held by ranges`,
        )
      return dialect.ranges.claim(request)
    }
    if (condition !== 'none') return (dialect.claims.singular ?? ((...asked) => claimSingular(dialect, ...asked)))(request, mode)
    if (order === 'shared') return claimShared(dialect, request, asked.shares ?? defaultShares, places)
    return order === 'fifo' ? dialect.claims.plain(request) : claimOrdered(dialect, request, mode)
  }
}

/** Filters tasks that were polled after their deadline, so that no handler sees them. */
function* filterLate(context: Context, topic: string, tasks: readonly HeldTask[]): Verb<void> {
  const { dialect, now } = context
  yield* ofHeld(context, topic, tasks, (request) =>
    dialect.writes.changeHeld(
      request,
      ({ take, tries }) => sql`
           state = ${states.filtered},
           listed = ${dialect.expr.false},
           reason = ${reasons.deadline},
           completed = ${dialect.expr.now(now())},
           ${setBlockingClass('ended')}${take}${request.locked ? sql`, tries = ${tries}` : nothing}`,
    ),
  )
  yield* enqueueRechecksOf(context, topic, tasks)
}

function inOrder({ order }: TopicMode): (left: HeldTask, right: HeldTask) => number {
  // mutants: equivalent number result, a sort keeps the order where none is before another
  if (order === 'shared') return () => 0
  if (order === 'lifo') return (left, right) => right.sequence - left.sequence
  if (order === 'priority') return (left, right) => right.priority - left.priority || left.sequence - right.sequence
  return (left, right) => left.sequence - right.sequence
}

function checkOneOf(argument: string, value: unknown, allowed: readonly string[]): void {
  if (value !== undefined && !allowed.includes(value as string))
    throw invalid(argument, value, `must be one of ${allowed.join(', ')}`)
}
