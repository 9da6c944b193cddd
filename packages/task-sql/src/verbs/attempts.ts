/** The history of attempts that neither succeeded nor filtered their task. */
import {
  attemptOutcomes,
  checkDuration,
  checkGiven,
  checkInteger,
  checkTopic,
  headlineOf,
  taskLimits,
  verbOptions,
} from '@taskstream/task-api'
import type { CompleteOptions, HeldTask, PurgeAttemptsOptions, TaskAttempt, TaskDecision } from '@taskstream/task-api'
import type { Dialect } from '../core/dialect.ts'
import { attemptOf } from '../core/lease.ts'
import { outcomes, reasons, states } from '../core/states.ts'
import { raw, sql } from '../core/statement.ts'
import type { Statement } from '../core/statement.ts'
import { present, sequencesOf, toInstant, toNumber, toReason } from '../core/task-row.ts'
import type { Row, Verb } from '../core/verb.ts'
import type { Context } from '../core/verb-context.ts'
import { fingerprintOf, givenFingerprint, lostFingerprint } from './fingerprint.ts'
import type { KindOf } from './fingerprint.ts'
import { checkOne } from './reference.ts'
import { checkKnown } from './topics.ts'

/** Of each task the first attempts are kept, which tell how it began, and the last. */
const keptFirst = 5
const keptLast = 15

const errorLength = 200
/** How much of an error's first line, and of its cause's, tells its kind. */
const fingerprintLength = 500
const messageLength = 4_000
const ellipsis = '...'

const columns = raw(
  'topic, sequence, attempt, started, ended, outcome, reason, owner, error, message, fingerprint, release_name, trace',
)

export function* attempts(
  context: Context,
  topic: string,
  which: number | { readonly externalId: string },
): Verb<readonly TaskAttempt[]> {
  const { dialect } = context
  checkTopic(topic)
  checkOne(which)
  const sequence =
    typeof which === 'object'
      ? sql`(select k.sequence from ${dialect.tables.task} k where k.topic = ${topic} and k.external_id = ${which.externalId})`
      : sql`${which}`
  const rows = yield sql`
    select t.attempt, ${instant(dialect, 'started')}, ${instant(dialect, 'ended')}, t.outcome, t.reason, t.owner, t.error, t.message,
           t.fingerprint, t.release_name, t.trace
      from ${dialect.tables.attempt} t
     where t.topic = ${topic} and t.sequence = ${sequence}
     order by t.attempt`
  // mutants: equivalent condition:true, a topic that has attempts is known
  if (rows.length === 0) yield* checkKnown(context, topic)
  return rows.map(toTaskAttempt)
}

export function* purgeAttempts(context: Context, options: PurgeAttemptsOptions): Verb<number> {
  checkGiven(verbOptions.purgeAttempts, options)
  const { olderThanMs, limit = 10_000 } = options
  const { dialect, now } = context
  checkDuration('olderThanMs', olderThanMs)
  checkInteger('limit', limit, 1, taskLimits.batchSize)
  const until = dialect.expr.plusMs(dialect.expr.now(now()), sql`${-olderThanMs}`)
  // The oldest attempt of each topic is looked up in the index.
  const oldest = sql`
    (select t.ended
       from ${dialect.tables.attempt} t
      where t.topic = p.topic
      order by t.ended
      ${dialect.expr.limit(raw('1'))})`
  const topics = yield sql`select p.topic from ${dialect.tables.topic} p where ${oldest} <= ${until} order by p.topic`
  let purged = 0
  for (const { topic } of topics) {
    // mutants: equivalent boundary condition:false, a limit of none finds none
    if (purged >= limit) break
    purged += yield* purgeTopic(dialect, String(topic), until, limit - purged)
  }
  return purged
}

/**
 * Records the attempts that a completion has ended, of tasks that it has found. The rows of the tasks say how each has ended: they know
 * whether a retry had any tries left. A batch without such attempts costs nothing.
 */
export function* recordAttempts(
  context: Context,
  topic: string,
  tasks: readonly HeldTask[],
  decisions: ReadonlyMap<HeldTask, TaskDecision>,
  traces: CompleteOptions['traces'],
): Verb<void> {
  const ended = tasks.filter((task) => decisions.get(task)!.isRecorded)
  if (ended.length === 0) return
  const { dialect, release, fingerprint } = context
  const { attempt, task } = dialect.tables
  const sequences = ended.map(({ sequence }) => sequence)
  const texts = ended.map((one) => textsOf(decisions.get(one)!, fingerprint))
  const values = dialect.expr.rows([
    { name: 'ended_sequence', type: 'integer', values: sequences },
    { name: 'ended_error', type: 'text', values: texts.map(({ error }) => error) },
    { name: 'ended_message', type: 'text', values: texts.map(({ message }) => message) },
    { name: 'ended_fingerprint', type: 'text', values: texts.map(({ fingerprint }) => fingerprint) },
    { name: 'ended_trace', type: 'text', values: ended.map((one) => traces?.get(one) ?? null) },
  ])
  // SQLite reads a cross join from left to right: it looks up each task once, instead of reading all values for each.
  yield sql`
    insert into ${attempt} (${columns})
    select t.topic, t.sequence, t.attempt, t.started, t.completed, ${outcome}, t.reason, t.owner, r.ended_error, r.ended_message,
           r.ended_fingerprint, ${release ?? null}, r.ended_trace
      from ${values} cross join ${task} t
     where ${dialect.paths.byKey(sql`${topic}`, raw('r.ended_sequence'))} and ${dialect.paths.among(raw('t.sequence'), sequences)}`
  yield* forgetMiddle(
    dialect,
    topic,
    ended.filter((one) => isLong(attemptOf(one))).map(({ sequence }) => sequence),
  )
}

/**
 * Records attempts that were taken from their owners.
 *
 * @param rows the `sequence` and `attempt` of rows that were changed
 * @param held the `sequence` and `owner` of rows before the change, which may have taken the owners from them
 */
export function* recordLost({ dialect, now }: Context, topic: string, rows: readonly Row[], held: readonly Row[]): Verb<void> {
  // mutants: equivalent condition:false, of no rows no attempts are recorded
  if (rows.length === 0) return
  const { attempt, node, task } = dialect.tables
  const sequences = sequencesOf(rows)
  const owners = new Map(held.map(({ sequence, owner }) => [toNumber(sequence), String(owner)]))
  const values = dialect.expr.rows([
    { name: 'lost_sequence', type: 'integer', values: sequences },
    { name: 'lost_owner', type: 'text', values: sequences.map((sequence) => owners.get(sequence) ?? null) },
  ])
  yield sql`
    insert into ${attempt} (${columns})
    select t.topic, t.sequence, t.attempt, t.started, ${dialect.expr.now(now())}, ${outcomes.lost}, ${reasons.lease}, r.lost_owner, null, null,
           ${raw(`'${lostFingerprint}'`)}, (select n.release_name from ${node} n where n.owner = r.lost_owner) as release_name, null
      from ${values} cross join ${task} t
     where ${dialect.paths.byKey(sql`${topic}`, raw('r.lost_sequence'))} and ${dialect.paths.among(raw('t.sequence'), sequences)}`
  // mutants: equivalent method, of tasks with few attempts none are deleted
  yield* forgetMiddle(dialect, topic, sequencesOf(rows.filter((row) => isLong(toNumber(row['attempt'])))))
}

/** How an attempt has ended, by the row of its task after the completion. */
const outcome = sql`
           case when t.reason = ${reasons.timeout} then ${outcomes.timeout}
                when t.state = ${states.failed} then ${outcomes.failed}
                when t.due is null then ${outcomes.suspended}
                else ${outcomes.retried} end`

/** Both texts are in ASCII if the message is, as the message of a decision that the database could not keep at first. */
function textsOf(decision: TaskDecision, kindOf?: KindOf): Record<'error' | 'message' | 'fingerprint', string | null> {
  const message = decision.toMessage()
  // mutants: equivalent property, undefined is null in JSON
  if (message === undefined) return { error: null, message: null, fingerprint: null }
  const error = decision.explanations.find((explanation) => explanation instanceof Error)
  // An error may have been given another message than its stack begins with.
  const head = error && headlineOf(error, fingerprintLength)
  const told = head !== undefined && (isAscii(head) || !isAscii(message))
  // Oracle would store an empty text as null.
  // mutants: equivalent number:3, only the first part can be empty
  const line = told ? head : message.split(/[\r\n]+/, 2).find((one) => one.length > 0)
  return {
    error: line === undefined ? null : told ? headlineOf(error!, errorLength) : shortened(line, errorLength),
    message: shortened(message, messageLength),
    fingerprint:
      (kindOf && error && givenFingerprint(kindOf, error)) ?? (line === undefined ? null : fingerprintOf(line, error?.stack)),
  }
}

function isAscii(text: string): boolean {
  return !/[^\0-\x7F]/.test(text)
}

/** Unlike that of other texts, the ellipsis is in ASCII. No surrogate pair is cut. */
function shortened(text: string, maximum: number): string {
  if (text.length <= maximum) return text
  return `${text.slice(0, maximum - ellipsis.length).replace(/[\uD800-\uDBFF]$/, '')}${ellipsis}`
}

function isLong(attempt: number): boolean {
  return attempt > keptFirst + keptLast
}

/** Deletes attempts between the first and the last of each task. The row of the task says which attempt is the last. */
function* forgetMiddle(dialect: Dialect, topic: string, sequences: readonly number[]): Verb<void> {
  if (sequences.length === 0) return
  const { attempt, task } = dialect.tables
  const last = sql`(select k.attempt from ${task} k where k.topic = ${topic} and k.sequence = t.sequence)`
  yield* dialect.writes.remove({
    table: attempt,
    key: 'sequence',
    topic,
    keys: sequences,
    which: sql`t.attempt > ${raw(String(keptFirst))} and t.attempt <= ${last} - ${raw(String(keptLast))}`,
  })
}

function* purgeTopic(dialect: Dialect, topic: string, until: Statement, limit: number): Verb<number> {
  const { attempt, task } = dialect.tables
  // As a value of each row, not as a join: no statistics then make the database read all tasks.
  const state = sql`(select k.state from ${task} k where k.topic = ${topic} and k.sequence = t.sequence)`
  // mutants: equivalent sql-number `coalesce(${state}, ${states.succeeded})`, either state lets the attempts of a task go that is gone
  const found = yield sql`
    select t.sequence, ${instant(dialect, 'ended')}
      from ${attempt} t
     where t.topic = ${topic} and t.ended <= ${until}
       and coalesce(${state}, ${states.succeeded}) not in (${states.expired}, ${states.failed}, ${states.suspended})
     order by t.ended
     ${dialect.expr.limit(sql`${limit}`)}`
  if (found.length === 0) return 0
  // Of these tasks all that has ended up to the last of them was found. Some databases keep instants more exactly than they are read.
  const after = toNumber(found.at(-1)!['ended']) + 1
  yield* dialect.writes.remove({
    table: attempt,
    key: 'sequence',
    topic,
    keys: [...new Set(sequencesOf(found))],
    which: sql`t.ended < ${dialect.expr.instant(sql`${after}`)}`,
  })
  return found.length
}

function instant(dialect: Dialect, name: string): Statement {
  return sql`${dialect.expr.epochMs(raw(`t.${name}`))} as ${raw(name)}`
}

function toTaskAttempt(row: Row): TaskAttempt {
  return {
    attempt: toNumber(row['attempt']),
    ended: toInstant(row['ended']),
    outcome: attemptOutcomes[toNumber(row['outcome'])] ?? 'failed',
    ...present('started', row['started'], toInstant),
    ...present('reason', row['reason'], toReason),
    ...present('owner', row['owner'], String),
    ...present('error', row['error'], String),
    ...present('message', row['message'], String),
    ...present('fingerprint', row['fingerprint'], String),
    ...present('release', row['release_name'], String),
    ...present('trace', row['trace'], String),
  }
}
