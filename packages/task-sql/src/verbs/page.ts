import { checkInteger, checkNames, checkText, checkTopic, invalid, taskLimits, verbOptions } from '@taskstream/task-api'
import type { PageOptions, TaskInfo } from '@taskstream/task-api'
import { sql } from '../core/statement.ts'
import type { Verb } from '../core/verb.ts'
import type { Context } from '../core/verb-context.ts'
import { meets } from './filter.ts'
import { infoColumns, toTaskInfo } from '../core/task-row.ts'
import { checkKnown } from './topics.ts'

export function* task(
  context: Context,
  topic: string,
  task: number | { readonly externalId: string },
): Verb<TaskInfo | undefined> {
  const { dialect } = context
  checkTopic(topic)
  checkOne(task)
  const which =
    typeof task === 'object'
      ? sql`t.topic = ${topic} and t.external_id = ${task.externalId}`
      : dialect.paths.byKey(sql`${topic}`, sql`${task}`)
  const [row] = yield sql`
    select ${infoColumns(dialect)}
      from ${dialect.tables.task} t
     where ${which}`
  if (!row) yield* checkKnown(context, topic)
  return row && toTaskInfo(topic, row)
}

/** @throws TaskError ARGUMENT_INVALID unless it can name one task */
export function checkOne(task: number | { readonly externalId: string }): void {
  if (typeof task === 'object') checkText('externalId', task?.externalId, taskLimits.externalIdLength)
  else checkInteger('sequence', task, 0, Number.MAX_SAFE_INTEGER)
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
  const rows = yield sql`
    select ${infoColumns(dialect)}
      from ${dialect.paths.inOrder}
     where ${before === undefined ? dialect.paths.inTopic(topic, after) : dialect.paths.inTopic(topic, 0, before)}${meets(dialect, filter)}
     order by ${dialect.paths.orderBy(before === undefined ? 'fifo' : 'lifo')}
     ${dialect.expr.limit(sql`${size}`)}`
  if (rows.length === 0) yield* checkKnown(context, topic)
  return rows.map((row) => toTaskInfo(topic, row))
}
