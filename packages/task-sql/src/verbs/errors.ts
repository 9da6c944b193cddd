/** What fails, since when, and in which release. */
import { checkDuration, checkInteger, checkNames, checkTopic, verbOptions } from '@taskstream/task-api'
import type { ErrorGroup, ErrorsOptions } from '@taskstream/task-api'
import type { Dialect } from '../core/dialect.ts'
import { outcomes, states } from '../core/states.ts'
import { join, raw, sql } from '../core/statement.ts'
import type { Statement } from '../core/statement.ts'
import { toInstant, toNumber } from '../core/task-row.ts'
import type { Row, Verb } from '../core/verb.ts'
import type { Context } from '../core/verb-context.ts'
import { checkKnown } from './topics.ts'

/** How many topics are looked at where none is named, and how many groups of each. */
const mostTopics = 200
const mostGroups = 50
/** Of so many groups the ends are asked for by one statement. */
const groupsAtOnce = 10
/** A group of fewer attempts may have older ones, of tasks that are open: so many of them are looked at. */
const mostOlder = 100

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
  const { paths, expr } = dialect
  // The second limit changes nothing. It keeps MariaDB from merging the selects: it would lose a column of the innermost.
  const rows = yield sql`
    select e.fingerprint, e.release_name, count(*) as count,
           count(case e.fate when ${fates.open} then 1 end) as open, count(distinct case e.fate when ${fates.pending} then e.sequence end) as pending,
           ${expr.epochMs(raw('max(e.ended)'))} as last_ended
      from (select g.sequence, g.fingerprint, g.release_name, g.ended, ${fateOf(dialect, topic)} as fate
              from (select t.sequence, t.attempt, t.fingerprint, t.release_name, t.ended, t.outcome
                      from ${paths.attempts('ended')}
                     where ${paths.attemptsOf({ topic, since })}
                     order by ${paths.orderByEnd('ended', 'desc')}
                     ${expr.limitInOrder(sql`${limit}`)}) g
             where g.fingerprint is not null and g.outcome <> ${outcomes.suspended}
             ${expr.limit(sql`${limit}`)}) e
     group by e.fingerprint, e.release_name`
  const kinds = [...Map.groupBy(rows, ({ fingerprint }) => String(fingerprint))]
    .map(([fingerprint, parts]) => ({
      fingerprint,
      count: sumOf(parts, 'count'),
      open: sumOf(parts, 'open'),
      pending: sumOf(parts, 'pending'),
      releases: releasesOf(parts),
    }))
    .toSorted((left, right) => right.count - left.count)
    .slice(0, mostGroups)
  const groups: ErrorGroup[] = []
  for (let from = 0; from < kinds.length; from += groupsAtOnce) {
    const some = kinds.slice(from, from + groupsAtOnce)
    const ends = yield* endsOf(
      dialect,
      topic,
      some.map(({ fingerprint }) => fingerprint),
    )
    for (const [place, kind] of some.entries()) {
      const first = ends.get(place)
      const last = ends.get(-1 - place)
      // Others may have purged the attempts meanwhile.
      if (!first || !last) continue
      const looksOn = kind.open === 0 && kind.count < mostOlder
      groups.push({
        topic,
        ...kind,
        error: last['error'] === null ? 'lost: the heartbeat of its owner stopped' : String(last['error']),
        open: looksOn ? yield* openOf(dialect, topic, kind.fingerprint) : kind.open,
        first: toInstant(first['ended']),
        ...(first['release_name'] !== null && { firstRelease: String(first['release_name']) }),
        last: toInstant(last['ended']),
        lastSequence: toNumber(last['sequence']),
      })
    }
  }
  return groups
}

function sumOf(parts: readonly Row[], column: string): number {
  return parts.reduce((sum, part) => sum + toNumber(part[column]), 0)
}

/** The latest release comes first. */
function releasesOf(parts: readonly Row[]): string[] {
  return parts
    .filter((part) => part['release_name'] !== null)
    .toSorted((left, right) => toNumber(right['last_ended']) - toNumber(left['last_ended']))
    .map((part) => String(part['release_name']))
}

/** The first and the last attempt of each of these kinds: the first of the first kind is number 0, and the last of it -1. */
function* endsOf(dialect: Dialect, topic: string, fingerprints: readonly string[]): Verb<ReadonlyMap<number, Row>> {
  const { paths, expr } = dialect
  const endOf = (fingerprint: string, place: number, direction: '' | 'desc'): Statement => sql`
    select e.place, e.sequence, e.error, e.release_name, e.ended from (
      select ${raw(String(place))} as place, t.sequence, t.error, t.release_name, ${expr.epochMs(raw('t.ended'))} as ended
        from ${paths.attempts('fingerprint')}
       where ${paths.attemptsOf({ topic, fingerprint })} and ${failed}
       order by ${paths.orderByEnd('fingerprint', direction)}
       ${expr.limit(raw('1'))}) e`
  const rows = yield join(
    fingerprints.flatMap((fingerprint, place) => [endOf(fingerprint, place, ''), endOf(fingerprint, -1 - place, 'desc')]),
    ' union all ',
  )
  return new Map(rows.map((row) => [toNumber(row['place']), row]))
}

/** How many tasks are failed or expired since one of the latest attempts of this kind. */
function* openOf(dialect: Dialect, topic: string, fingerprint: string): Verb<number> {
  const { paths, expr } = dialect
  const [row] = yield sql`
    select count(*) as open
      from (select t.sequence, t.attempt
              from ${paths.attempts('fingerprint')}
             where ${paths.attemptsOf({ topic, fingerprint })}
             order by ${paths.orderByEnd('fingerprint', 'desc')}
             ${expr.limitInOrder(raw(String(mostOlder)))}) g
     where ${fateOf(dialect, topic)} = ${fates.open}`
  return toNumber(row!['open'])
}

/** What has become of the task of an attempt. One that has ended otherwise, or is gone, has none of these. */
const fates = { open: raw('2'), pending: raw('1') }

/**
 * The fate of the task of an attempt `g`: failed or expired since then, or still to be done. As a value of each row, not as a join: no statistics then make
 * the database read all tasks.
 */
function fateOf({ paths, tables }: Dialect, topic: string): Statement {
  return sql`(
    select case when t.state in (${states.ready}, ${states.active}, ${states.suspended}) then ${fates.pending}
                when t.state in (${states.failed}, ${states.expired}) and t.attempt = g.attempt then ${fates.open} end
      from ${tables.task} t
     where ${paths.byKey(sql`${topic}`, raw('g.sequence'))})`
}
