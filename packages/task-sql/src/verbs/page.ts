import { checkInteger, checkNames, checkTopic, invalid, taskLimits, verbOptions } from '@taskstream/task-api'
import type { PageOptions, TaskInfo, TaskReference } from '@taskstream/task-api'
import { sql } from '../core/statement.ts'
import type { Verb } from '../core/verb.ts'
import type { Context } from '../core/verb-context.ts'
import { meets } from './filter.ts'
import { infoColumns, toTaskInfo } from '../core/task-row.ts'
import { checkOne, find, infoOf, isIdentifier } from './reference.ts'
import { checkKnown } from './topics.ts'
import { lookAt } from './why-found.ts'

export function* task(context: Context, topic: string, reference: TaskReference): Verb<TaskInfo | undefined> {
  checkTopic(topic)
  if (isIdentifier(reference)) return yield* find(context, yield* lookAt(context, topic), reference)
  checkOne(reference)
  const found = yield* infoOf(context, topic, reference)
  if (!found) yield* checkKnown(context, topic)
  return found
}

export function* page(context: Context, topic: string, options: PageOptions = {}): Verb<TaskInfo[]> {
  const { dialect } = context
  checkNames(verbOptions.page, options)
  const { after, before, size = 100, ...filter } = options
  checkTopic(topic)
  checkInteger('size', size, 0, taskLimits.batchSize)
  if (after !== undefined && before !== undefined) throw invalid('before', before, 'cannot be given together with after')
  // mutants: equivalent number `after ?? 0`, 1 is as good a number
  checkInteger(before === undefined ? 'after' : 'before', before ?? after ?? 0, 0, Number.MAX_SAFE_INTEGER)
  if (size === 0) return []
  // It also checks the filter, before anything is made of it.
  const met = meets(dialect, filter)
  const { from, to = Number.MAX_SAFE_INTEGER } = filter
  // What the filter leaves out at both ends is not read either.
  const first = from === undefined ? after : Math.max(after ?? 0, from - 1)
  const end = to < Number.MAX_SAFE_INTEGER ? Math.min(before ?? to + 1, to + 1) : before
  const rows = yield sql`
    select ${infoColumns(dialect)}
      from ${dialect.paths.inOrder}
     where ${end === undefined ? dialect.paths.inTopic(topic, first) : dialect.paths.inTopic(topic, first ?? 0, end)}${met}
     order by ${dialect.paths.orderBy(before === undefined ? 'fifo' : 'lifo')}
     ${dialect.expr.limit(sql`${size}`)}`
  if (rows.length === 0) yield* checkKnown(context, topic)
  return rows.map((row) => toTaskInfo(topic, row))
}
