/** Which task a reference names. It is the same for every verb that takes one. */
import { checkInteger, checkText, taskLimits } from '@taskstream/task-api'
import type { TaskInfo, TaskReference } from '@taskstream/task-api'
import { blockingClasses, states } from '../core/states.ts'
import { raw, sql } from '../core/statement.ts'
import { infoColumns, toNumber, toTaskInfo } from '../core/task-row.ts'
import type { TopicMode } from '../core/topic-mode.ts'
import type { Verb } from '../core/verb.ts'
import { topicNotKeyed } from '../core/verb-context.ts'
import type { Context } from '../core/verb-context.ts'
import type { Place } from './why-found.ts'

/** @throws TaskError ARGUMENT_INVALID unless it can name one task */
export function checkOne(task: number | { readonly externalId: string }): void {
  if (typeof task === 'object') checkText('externalId', task?.externalId, taskLimits.externalIdLength)
  else checkInteger('sequence', task, 0, Number.MAX_SAFE_INTEGER)
}

export function isIdentifier(reference: TaskReference): reference is { readonly identifier: string } {
  return typeof reference === 'object' && reference !== null && 'identifier' in reference
}

/** @throws TaskError ARGUMENT_INVALID, TOPIC_NOT_KEYED */
export function* find(context: Context, place: Place, reference: TaskReference): Verb<TaskInfo | undefined> {
  if (isIdentifier(reference)) {
    const sequence = yield* firstOf(context, place, reference.identifier)
    return sequence === undefined ? undefined : yield* infoOf(context, place.topic, sequence)
  }
  checkOne(reference)
  return yield* infoOf(context, place.topic, reference)
}

/** The task of this sequence or external id, which nobody has checked. */
export function* infoOf(
  { dialect }: Context,
  topic: string,
  one: number | { readonly externalId: string },
): Verb<TaskInfo | undefined> {
  const which =
    typeof one === 'object'
      ? sql`t.topic = ${topic} and t.external_id = ${one.externalId}`
      : dialect.paths.byKey(sql`${topic}`, sql`${one}`)
  const [row] = yield sql`select ${infoColumns(dialect)} from ${dialect.tables.task} t where ${which}`
  return row && toTaskInfo(topic, row)
}

/** How far back an identifier's history is read, where an index does not tell open tasks from ended ones. */
const history = 1_000

/** The first task of an identifier that has not ended, or else its latest one. */
function* firstOf({ dialect }: Context, { topic, mode, isKeyed }: Place, identifier: string): Verb<number | undefined> {
  checkText('identifier', identifier, taskLimits.identifierLength)
  if (!isKeyed) throw topicNotKeyed(topic, 'a look for an identifier')
  let open: number | undefined
  let latest: number | undefined
  for (const { stage, direction, limit } of classesOf(mode)) {
    const rows = yield sql`
      select t.sequence, case when t.state in (${openStates}) then 1 else 0 end as is_open
        from ${dialect.paths.identified('t')}
       where t.topic = ${topic} and t.identifier = ${identifier} and t.stage = ${raw(String(stage))}
       order by t.sequence ${raw(direction)}
       ${dialect.expr.limit(raw(String(limit)))}`
    for (const row of rows) {
      const sequence = toNumber(row['sequence'])
      if (toNumber(row['is_open']) === 1) open = Math.min(open ?? sequence, sequence)
      else latest = Math.max(latest ?? sequence, sequence)
    }
  }
  return open ?? latest
}

const openStates = raw([states.active, states.ready, states.expired, states.suspended].map(({ texts }) => texts[0]).join(', '))

interface Reading {
  readonly stage: number
  readonly direction: 'asc' | 'desc'
  readonly limit: number
}

/** Which part of the index of identifiers is read, and from which end. */
function classesOf({ order, condition }: TopicMode): readonly Reading[] {
  const first = (stage: number): Reading => ({ stage, direction: 'asc', limit: 1 })
  const last = (stage: number, limit: number): Reading => ({ stage, direction: 'desc', limit })
  const { active, open, failed, suspended, ended, high, low, aside, unstaged } = blockingClasses
  if (condition !== 'none') return [first(active), first(open), first(failed), first(suspended), last(ended, 1)]
  if (order === 'shared') return [first(high), first(low), last(aside, history)]
  return [last(unstaged, history)]
}
