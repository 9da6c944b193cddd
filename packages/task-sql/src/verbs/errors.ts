/** What fails, since when, and in which release. */
import { checkDuration, checkInteger, checkNames, checkTopic, verbOptions } from '@taskstream/task-api'
import type { ErrorGroup, ErrorsOptions } from '@taskstream/task-api'
import type { Dialect } from '../core/dialect.ts'
import { outcomes, states } from '../core/states.ts'
import { raw, sql } from '../core/statement.ts'
import type { Statement } from '../core/statement.ts'
import { toInstant, toNumber } from '../core/task-row.ts'
import type { Row, Verb } from '../core/verb.ts'
import type { Context } from '../core/verb-context.ts'
import { checkKnown } from './topics.ts'

/** How many topics are looked at where none is named, and how many groups of each. */
const mostTopics = 200
const mostGroups = 50
/** How far the open tasks of a group are counted. For more of them PostgreSQL would rather read a small table as a whole. */
const mostOpen = 500

/** Suspending a task is no error, whatever its message says. */
const failed = sql`t.outcome <> ${outcomes.suspended} and t.fingerprint is not null`

export function* errors(context: Context, options: ErrorsOptions = {}): Verb<readonly ErrorGroup[]> {
  checkNames(verbOptions.errors, options)
  const { topic, withinMs, limit = 5_000 } = options
  if (topic !== undefined) checkTopic(topic)
  if (withinMs !== undefined) checkDuration('withinMs', withinMs)
  checkInteger('limit', limit, 1, 100_000)
  const { dialect, now } = context
  const since = withinMs === undefined ? undefined : dialect.expr.plusMs(dialect.expr.now(now()), sql`${-withinMs}`)
  const groups: ErrorGroup[] = []
  for (const each of topic === undefined ? yield* failingTopics(dialect, since) : [topic])
    groups.push(...(yield* errorsOf(dialect, each, since, limit)))
  if (topic !== undefined && groups.length === 0) yield* checkKnown(context, topic)
  return groups
}

/** Topics that have attempts. Of each topic the latest one is looked up in the index. */
function* failingTopics(dialect: Dialect, since: Statement | undefined): Verb<readonly string[]> {
  const { topic } = dialect.tables
  const latest = sql`(select t.ended from ${dialect.paths.attempts('ended')} where t.topic = p.topic order by t.ended desc ${dialect.expr.limit(raw('1'))})`
  const rows = yield sql`
    select p.topic
      from ${topic} p
     where ${since === undefined ? sql`${latest} is not null` : sql`${latest} >= ${since}`}
     order by p.topic
     ${dialect.expr.limit(raw(String(mostTopics)))}`
  return rows.map(({ topic: name }) => String(name))
}

function* errorsOf(dialect: Dialect, topic: string, since: Statement | undefined, limit: number): Verb<readonly ErrorGroup[]> {
  const ended = dialect.expr.epochMs(raw('max(g.ended)'))
  const rows = yield sql`
    select g.fingerprint, g.release_name, count(*) as count, ${ended} as last_ended
      from (select t.fingerprint, t.release_name, t.ended, t.outcome
              from ${dialect.paths.attempts('ended')}
             where ${dialect.paths.attemptsOf({ topic, since })}
             order by ${dialect.paths.orderByEnd('ended', 'desc')}
             ${dialect.expr.limit(sql`${limit}`)}) g
     where g.fingerprint is not null and g.outcome <> ${outcomes.suspended}
     group by g.fingerprint, g.release_name`
  const kinds = [...Map.groupBy(rows, ({ fingerprint }) => String(fingerprint))].map(([fingerprint, parts]) => ({
    fingerprint,
    count: parts.reduce((sum, part) => sum + toNumber(part['count']), 0),
    releases: releasesOf(parts),
  }))
  const groups: ErrorGroup[] = []
  for (const kind of kinds.toSorted((left, right) => right.count - left.count).slice(0, mostGroups)) {
    const [first, last] = [
      yield* endOf(dialect, topic, kind.fingerprint, ''),
      yield* endOf(dialect, topic, kind.fingerprint, 'desc'),
    ]
    // Others may have purged the attempts meanwhile.
    if (!first || !last) continue
    groups.push({
      topic,
      ...kind,
      error: last['error'] === null ? 'lost: the heartbeat of its owner stopped' : String(last['error']),
      open: yield* openOf(dialect, topic, kind.fingerprint),
      first: toInstant(first['ended']),
      ...(first['release_name'] !== null && { firstRelease: String(first['release_name']) }),
      last: toInstant(last['ended']),
      lastSequence: toNumber(last['sequence']),
    })
  }
  return groups
}

/** The latest release comes first. */
function releasesOf(parts: readonly Row[]): string[] {
  return parts
    .filter((part) => part['release_name'] !== null)
    .toSorted((left, right) => toNumber(right['last_ended']) - toNumber(left['last_ended']))
    .map((part) => String(part['release_name']))
}

/** The first attempt of a kind, or the last one. */
function* endOf(dialect: Dialect, topic: string, fingerprint: string, direction: '' | 'desc'): Verb<Row | undefined> {
  const [row] = yield sql`
    select t.sequence, t.error, t.release_name, ${dialect.expr.epochMs(raw('t.ended'))} as ended
      from ${dialect.paths.attempts('fingerprint')}
     where ${dialect.paths.attemptsOf({ topic, fingerprint })} and ${failed}
     order by ${dialect.paths.orderByEnd('fingerprint', direction)}
     ${dialect.expr.limit(raw('1'))}`
  return row
}

/** How many tasks are failed or expired since an attempt of this kind. */
function* openOf(dialect: Dialect, topic: string, fingerprint: string): Verb<number> {
  const { paths, tables, expr } = dialect
  // As a value of each row, not as a join: no statistics then make the database read all tasks.
  const isOpen = sql`(select 1 from ${tables.task} t where ${paths.byKey(sql`${topic}`, raw('g.sequence'))} and t.attempt = g.attempt and t.state in (${states.failed}, ${states.expired}))`
  const [row] = yield sql`
    select count(*) as open
      from (select t.sequence, t.attempt
              from ${paths.attempts('fingerprint')}
             where ${paths.attemptsOf({ topic, fingerprint })}
             order by ${paths.orderByEnd('fingerprint', 'desc')}
             ${expr.limit(raw(String(mostOpen)))}) g
     where ${isOpen} = 1`
  return toNumber(row!['open'])
}
