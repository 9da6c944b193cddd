import { checkInteger, checkTopic, taskLimits } from '@taskstream/task-api'
import type { PushedTask, TaskCreation } from '@taskstream/task-api'
import type { RowColumn } from '../dialect.ts'
import { raw, sql } from '../statement.ts'
import type { Statement } from '../statement.ts'
import type { Row, Verb } from '../transaction.ts'
import { topicUnknown } from './context.ts'
import type { Context } from './context.ts'
import { checkCreation } from './creation.ts'
import type { CheckedCreation } from './creation.ts'
import { toNumber } from './row.ts'

export function* push(
  context: Context,
  topic: string,
  creations: string | TaskCreation | readonly (string | TaskCreation)[],
): Verb<PushedTask[]> {
  checkTopic(topic)
  const list = (Array.isArray(creations) ? creations : [creations]) as readonly (string | TaskCreation)[]
  checkInteger('the number of creations', list.length, 0, taskLimits.batchSize)
  if (list.length === 0) return []
  const checked = list.map((creation, index) => checkCreation(creation, list.length > 1 ? `creations[${index}].` : ''))
  const inserted = yield checked.every(({ plain }) => plain)
    ? insertPlain(context, topic, checked)
    : insertAny(context, topic, checked)
  // Sequences ascend in the order of the rows given, whatever order the rows come back in.
  const rows = inserted.toSorted((left, right) => toNumber(left['sequence']) - toNumber(right['sequence']))
  const duplicates = rows.length < checked.length ? yield* findDuplicates(context, topic, checked, rows) : undefined
  return toPushedTasks(topic, checked, rows, duplicates)
}

/** Most pushes carry identifiers and inputs only. */
function insertPlain({ dialect, now }: Context, topic: string, creations: readonly CheckedCreation[]): Statement {
  const { task, topic: topics } = dialect.tables
  const start = dialect.beginPush(topic, true)
  const columns: RowColumn[] = [
    { name: 'identifier', type: 'text', values: creations.map(({ identifier }) => identifier) },
    { name: 'input', type: 'text', values: creations.map(({ input }) => input) },
  ]
  return sql`
    ${start.with}
    insert into ${task} (topic, identifier, input, created)
    select p.topic, r.identifier, r.input, ${dialect.now(now())}
      from ${start.from} ${topics} p, ${dialect.rows(columns)}
     where p.topic = ${topic}
    returning sequence`
}

function insertAny({ dialect, now }: Context, topic: string, creations: readonly CheckedCreation[]): Statement {
  const { task, topic: topics } = dialect.tables
  const waits = ({ suspended, dueMs, delayMs }: CheckedCreation): boolean => suspended || dueMs !== null || (delayMs ?? 0) > 0
  // A task that is due later wakes listeners too: they must not sleep past it.
  const start = dialect.beginPush(
    topic,
    creations.some(({ suspended }) => !suspended),
  )
  const text = (name: string, pick: (creation: CheckedCreation) => string | null): RowColumn => ({
    name,
    type: 'text',
    values: creations.map(pick),
  })
  const integer = (name: string, pick: (creation: CheckedCreation) => number | null): RowColumn => ({
    name,
    type: 'integer',
    values: creations.map(pick),
  })
  const columns = [
    text('identifier', ({ identifier }) => identifier),
    text('input', ({ input }) => input),
    text('reference', ({ reference }) => reference),
    text('external_id', ({ externalId }) => externalId),
    text('headers', ({ headers }) => headers),
    integer('priority', ({ priority }) => priority),
    integer('max_tries', ({ maxTries }) => maxTries),
    integer('state', (creation) => (waits(creation) ? 4 : 1)),
    // Pushed suspended, a task waits for somebody, not for its time.
    integer('due', ({ suspended, dueMs }) => (suspended ? null : dueMs)),
    integer('delay', ({ suspended, delayMs }) => (suspended || delayMs === 0 ? null : delayMs)),
  ]
  const due = sql`case when r.due is not null then ${dialect.instant(raw('r.due'))}
                       when r.delay is not null then ${dialect.plusMs(dialect.now(now()), raw('r.delay'))} end`
  return sql`
    ${start.with}
    insert into ${task} (topic, identifier, input, created, reference, external_id, headers, priority, max_tries, state, due)
    select p.topic, r.identifier, r.input, ${dialect.now(now())}, r.reference, r.external_id, ${dialect.json(raw('r.headers'))},
           r.priority, r.max_tries, r.state, ${due}
      from ${start.from} ${topics} p, ${dialect.rows(columns)}
     where p.topic = ${topic}
        on conflict (topic, external_id) where external_id is not null do nothing
    returning sequence, external_id`
}

/** Rows that were not inserted: their external id was there before, or stands twice in this push; or the topic is unknown. */
function* findDuplicates(
  { dialect }: Context,
  topic: string,
  creations: readonly CheckedCreation[],
  inserted: readonly Row[],
): Verb<ReadonlyMap<string, Row>> {
  const externalIds = [...new Set(creations.flatMap(({ externalId }) => externalId ?? []))]
  const rows =
    externalIds.length === 0
      ? []
      : // A statement of its own, so that it sees what a rival has committed since the insert began.
        yield sql`
          select t.sequence, t.identifier, t.external_id
            from ${dialect.rows([{ name: 'external_id', type: 'text', values: externalIds }])}
            join ${dialect.tables.task} t on t.external_id = r.external_id
           where t.topic = ${topic} and t.external_id is not null`
  if (inserted.length === 0 && rows.length === 0) throw topicUnknown(topic)
  return new Map(rows.map((row) => [String(row['external_id']), row]))
}

function toPushedTasks(
  topic: string,
  creations: readonly CheckedCreation[],
  inserted: readonly Row[],
  duplicates: ReadonlyMap<string, Row> | undefined,
): PushedTask[] {
  const created = new Set(duplicates && inserted.map((row) => row['external_id']))
  let next = 0
  return creations.map(({ identifier, externalId }) => {
    const first =
      externalId !== null && duplicates !== undefined && !created.delete(externalId) ? duplicates.get(externalId) : undefined
    if (first)
      return { topic, sequence: toNumber(first['sequence']), identifier: String(first['identifier']), outcome: 'duplicate' }
    return { topic, sequence: toNumber(inserted[next++]?.['sequence']), identifier, outcome: 'created' }
  })
}
