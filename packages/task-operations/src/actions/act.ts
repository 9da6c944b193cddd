/** Runs an action on many tasks, from one portion to the next, or from one call to the next. */
import { checkText, invalid, TaskError } from '@taskstream/task-api'
import type { LockedTask, RecordedAction } from '@taskstream/task-api'
import { readingOf } from './operator.ts'
import type { Operator } from './operator.ts'
import { doPortion, portionSize } from './portion.ts'
import type { PortionDone } from './portion.ts'
import { inPortions } from './portions.ts'
import { filterOf } from './request.ts'
import type { ActionRequest } from './request.ts'

/** Where an action has ended, to go on from there in another call. It is JSON. */
export interface ActionCursor {
  readonly id: string
  /** How many portions there were. */
  readonly portions: number
  /** The first sequence of the rest. */
  readonly from?: number
  /** How many tasks were changed. */
  readonly done: number
}

export interface ActOptions {
  /** The instant of the preview, by the database's clock: what has changed since is not meant. */
  readonly asOf: Date
  /** The last sequence that the preview has found. */
  readonly to?: number
  /** How many tasks at most, over all calls: the count of the preview, so that no more happens than was shown. Default: all. */
  readonly limit?: number
  /** How many tasks a second at most, 0.01 to 1 000 000. Default: as many as the database does. */
  readonly perSecond?: number
  /** How many portions this call does at most. Default: all. */
  readonly portions?: number
  /** Where an earlier call has ended. */
  readonly after?: ActionCursor
  /** Aborted: the action ends after the portion that runs. */
  readonly signal?: AbortSignal
  /** Called after each portion, with how many tasks were changed in all. */
  readonly onProgress?: (done: number) => void
}

/** What an action has done. */
export interface Acted {
  /** The id of the action, for `undo`. Undefined if no task was changed. */
  readonly id?: string
  /** How many tasks were changed, over all calls. */
  readonly count: number
  /** The lowest and the highest sequence that this call has changed. */
  readonly first?: number
  readonly last?: number
  /** How many of the changed tasks were at work. */
  readonly taken: number
  /** What the tasks were that were changed, if they were named; otherwise the first 20. */
  readonly tasks: readonly LockedTask[]
  /** Where to go on. Undefined if the action is done. */
  readonly next?: ActionCursor
  /** Why the action ended before its end, if not because of `portions`: it was aborted, or an error. What was done stays done. */
  readonly stopped?: { readonly error?: unknown }
}

/**
 * Does something to many tasks. Each portion of at most 1,000 tasks is one transaction, with its record.
 *
 * @throws TaskError ARGUMENT_INVALID if the request is wrong, or `after` is of another action; ACTION_UNKNOWN if its record was purged; errors of the database are in `stopped`
 * @example
 * const { count, asOf } = await preview(operator, request)
 * const { id } = await act(operator, request, { asOf, limit: count })
 */
export async function act(operator: Operator, request: ActionRequest, options: ActOptions): Promise<Acted> {
  filterOf(request)
  if (options.after) await checkOwn(operator, request, options.after)
  const { limit = Infinity, perSecond, after, signal, portions, to, onProgress } = options
  const sum = new Sum(after)
  const { isOver, stopped } = await inPortions({
    total: Math.min(limit, request.try ?? Infinity) - sum.count,
    portion: portionSize,
    next: async (size) => {
      const done = await next(operator, request, options, sum, size)
      sum.add(done, request)
      // The newest ones are one portion. Of one error the first ones come again if others have locked them.
      const goesOn = request.try === undefined && (request.fingerprint === undefined || done.tasks.length > 0)
      const isPast = to !== undefined && sum.from !== undefined && sum.from > to
      return { count: done.tasks.length, hasMore: done.hasMore && goesOn && !isPast }
    },
    onProgress: () => onProgress?.(sum.count),
    ...(signal && { signal }),
    ...(perSecond !== undefined && { perSecond }),
    ...(portions !== undefined && { most: portions }),
  })
  return isOver ? sum.over() : sum.acted(stopped)
}

/** A cursor goes through the hands of whoever asks. What is recorded under an id is undone with it, so it must be of the same action by the same person. */
async function checkOwn(operator: Operator, { action, topic }: ActionRequest, { id }: ActionCursor): Promise<void> {
  checkText('after.id', id, 20)
  const records = await readingOf(operator)<readonly RecordedAction[]>((transaction) =>
    operator.tasks.actions(transaction, { id, portions: false, details: false }),
  )
  const record = records.find((one) => one.id === id)
  if (!record)
    throw new TaskError('ACTION_UNKNOWN', `There is no action ${id} that could go on, or its record was purged: begin anew`, {
      id,
    })
  if (record.action !== action || record.topic !== topic || record.actor !== (operator.actor || undefined))
    throw invalid('after', id, 'must be of the same action, on the same topic and by the same person')
}

function next(
  operator: Operator,
  request: ActionRequest,
  { asOf, to }: ActOptions,
  sum: Sum,
  size: number,
): Promise<PortionDone> {
  return operator.transactions((transaction) =>
    doPortion(operator, transaction, request, {
      size,
      asOf,
      ...(sum.from !== undefined && { from: sum.from }),
      ...(to !== undefined && { to }),
      ...(sum.id !== undefined && { portion: { of: sum.id, number: sum.portions } }),
    }),
  )
}

/** What the portions have done together. */
class Sum {
  id: string | undefined
  from: number | undefined
  portions: number
  count: number
  #first: number | undefined
  #last: number | undefined
  #taken = 0
  readonly #tasks: LockedTask[] = []

  constructor(after: ActionCursor | undefined) {
    this.id = after?.id
    this.from = after?.from
    this.portions = after?.portions ?? 0
    this.count = after?.done ?? 0
  }

  add({ id, tasks, last }: PortionDone, { named, fingerprint }: ActionRequest): void {
    if (id !== undefined) {
      this.id ??= id
      this.portions++
    }
    this.count += tasks.length
    this.#taken += tasks.filter(({ state }) => state === 'active').length
    this.#tasks.push(...(named === undefined ? tasks.slice(0, 20 - this.#tasks.length) : tasks))
    this.#first = Math.min(this.#first ?? Infinity, tasks[0]?.sequence ?? Infinity)
    this.#last = Math.max(this.#last ?? 0, tasks.at(-1)?.sequence ?? 0)
    // What was changed is not looked at again, even if it has failed again meanwhile.
    if (fingerprint === undefined && last !== undefined) this.from = last + 1
  }

  acted(stopped?: Acted['stopped']): Acted {
    const { id, portions, count, from } = this
    return {
      ...this.over(),
      ...(id !== undefined && { next: { id, portions, done: count, ...(from !== undefined && { from }) } }),
      ...(stopped && { stopped }),
    }
  }

  over(): Acted {
    const { id, count } = this
    return {
      count,
      taken: this.#taken,
      tasks: this.#tasks,
      ...(id !== undefined && { id }),
      ...(this.#last !== undefined && this.#last > 0 && { first: this.#first!, last: this.#last }),
    }
  }
}
