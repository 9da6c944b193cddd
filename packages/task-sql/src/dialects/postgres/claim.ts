import { TaskError } from '@taskstream/task-api'
import type { Claims, Plans } from '../../core/dialect.ts'
import type { Claim, ClaimRequest } from '../../core/requests.ts'
import { raw, sql } from '../../core/statement.ts'
import type { Statement } from '../../core/statement.ts'
import type { Row, Verb } from '../../core/verb.ts'
import { toFastPathClaim, FastPathClaims } from './fast-path-claim.ts'
import { claimStatements, historyOf, sessionsRun, toReport } from './claim-statement.ts'
import { lastDrawn, learn, recall, replacePending } from './watermarks.ts'
import type { TopicWatermarks } from './watermarks.ts'
import { plainMode, toTopicMode } from '../../core/topic-mode.ts'
import { toNumber } from '../../core/task-row.ts'
import { advanceByLocks } from './xid-horizon.ts'
import type { PostgresTables } from './tables.ts'

/** How far the persisted low watermark may lag behind. The first poll of a process reads no more finished rows than that. */
// mutants: equivalent number, one more or less is as good
const persistEvery = 8192

/** Extra ready rows that a claim reads when it merges listed rows. If others have locked that many, it reads `moreRows` times as many. */
// mutants: equivalent number, one more or less is as good
const spareRows = 1_000
// mutants: equivalent number, one more or less is as good
const moreRows = 16

/** How often one claim may find another history. A database may be replaced while it is polled, but not at every statement. */
// mutants: equivalent number, one more or less is as good
const manyHistories = 5

/**
 * Takes ready tasks without an index on the state, so that neither taking nor completing a task touches an index.
 *
 * A claim merges two kinds of ready rows by sequence. Listed rows, those in the ready list, became ready again after their push (handed
 * back, promoted, expired), and a small partial index finds them. All other ready rows are fresh. They lie above the topic's low
 * watermark: at or below it, no fresh row is ready or ever will be. Claims read fresh rows in order from there.
 *
 * Polls themselves raise the low watermark. A poll that took tasks remembers the last sequence drawn so far (the high watermark), and
 * then its own transaction id (the xid horizon). A push draws its transaction id before its sequences. So once the xmin of a later
 * snapshot has reached the horizon, every transaction with a sequence up to the high watermark has ended and is visible. The low
 * watermark may then rise to just below the first row that is still ready, or to the high watermark if there is none. Rows that others
 * have taken without a commit still read as ready, so the low watermark stays below them.
 *
 * Only a transaction that has written nothing yet may raise the low watermark: it would not see its own earlier claims as ready, and
 * might still roll them back. It must also be at READ COMMITTED, where a snapshot is never older than what the process learned before.
 *
 * The knowledge of a process is valid for one history: a topic's generation, the storage of its rows, the database, and the server's
 * starts. A crash may undo commits that were not yet on disk (synchronous_commit = off), and a failover commits that were not yet on
 * the standby. Their tasks are then ready again below the remembered low watermark, but the persisted one goes back with them. A
 * database that was restored or cloned, and tables that were reloaded, have another storage. The part of a history that cannot change
 * during a session is computed once and kept in a setting of the session (`taskstream.run`). It is computed again if sessions disagree.
 *
 * No sequence is drawn below the low watermark, unless somebody has set the sequence back. In that case a claim forgets what it knows,
 * and a push lists its tasks below the persisted low watermark. If sessions draw sequences in advance, tasks may appear below the low
 * watermark: claims then refuse to take any. One check in each history is enough, because altering a sequence changes its storage.
 */
export function postgresClaim(tables: PostgresTables, plans: Plans, watermarks: Map<string, TopicWatermarks>): Claims['plain'] {
  /** Topics that had listed rows when they were last polled. */
  const relisting = new Set<string>()
  const fastPath = new FastPathClaims(tables)
  const statementOf = claimStatements(tables, plans.tableBytes)
  return claim

  function* claim(request: ClaimRequest): Verb<Claim> {
    const statement = relisting.has(request.topic) ? undefined : fastPath.statement(request, recall(watermarks, request.topic))
    if (statement) {
      const { rows, isWhole } = toFastPathClaim(yield statement)
      fastPath.spend(request, rows.length)
      if (isWhole) return { rows, mode: plainMode, ownerKnown: true }
      fastPath.forget(request)
      return yield* claimMore(request, rows)
    }
    return yield* claimAndLearn(request)
  }

  function* claimMore(request: ClaimRequest, taken: readonly Row[], spare?: number): Verb<Claim> {
    const more = yield* claimAndLearn({ ...request, size: request.size - taken.length }, relisting.has(request.topic), spare)
    return { ...more, rows: [...taken, ...more.rows] }
  }

  // mutants: equivalent number `histories = 0`, one more or less is as good
  function* claimAndLearn(
    request: ClaimRequest,
    merge = relisting.has(request.topic),
    spare = spareRows,
    histories = 0,
  ): Verb<Claim> {
    const { history, pending } = recall(watermarks, request.topic)
    if (pending)
      replacePending(watermarks, request.topic, pending, yield* advanceByLocks(tables, request.topic, history, pending))
    const known = recall(watermarks, request.topic)
    const rows = yield statementOf(request, known, merge ? spare : undefined)
    const status = rows.find((row) => row['status'] !== null)
    // mutants: equivalent property literal `ownerKnown: false`, a claim without a mode says that there is no such topic, and nothing else is read
    if (!status) return { rows: [], ownerKnown: false }
    const report = toReport(String(status['status']))
    const { relisted, clean } = report
    if (report.high < lastDrawn(known)) watermarks.delete(request.topic)
    plans.learn(report.extent)
    if (report.history !== known.history) {
      // mutants: equivalent boundary, one more or less is as good
      if (histories >= manyHistories) throw unsteady()
      yield* checkSequence(tables)
      learn(watermarks, request.topic, known, report)
      return yield* claimAndLearn(request, merge, spare, histories + 1)
    }
    const now = learn(watermarks, request.topic, known, report)
    if (relisted) relisting.add(request.topic)
    else relisting.delete(request.topic)
    // This claim took no tasks, because there are listed rows and it did not merge them: the next one does.
    if (relisted && !merge) return yield* claimAndLearn(request, true, spare)
    // The transaction has written before, so rows cannot only be locked: its own pushes would look like rows that it has locked.
    if (request.mayLock && !clean) return yield* claimAndLearn({ ...request, mayLock: false }, merge)
    const taken = rows.filter((row: Row) => row['status'] === null)
    const last = request.mayLock ? undefined : taken.at(-1)?.['sequence']
    fastPath.learn(request, report, last === undefined ? undefined : toNumber(last))
    if (clean && now.low - report.persisted > persistEvery) yield persistLowWatermark(tables, request.topic, now)
    // After a claim that only locks rows there is no second one: its active rows could not be told apart from the locked ones.
    const more = report.crowded || report.taken > taken.length
    if (more && !(request.mayLock && taken.length > 0)) return yield* claimMore(request, taken, spare * moreRows)
    return {
      rows: taken,
      mode: toTopicMode(report.ordering, report.condition),
      ownerKnown: report.ownerKnown,
      locked: request.mayLock,
    }
  }
}

/** @throws TaskError RUNTIME_UNSUPPORTED if sessions draw sequences in advance */
function* checkSequence({ sequenceName, sequenceClass }: PostgresTables): Verb<void> {
  const [row] = yield sql`select cache_size::int8 as cache from pg_catalog.pg_sequence_parameters(${sequenceClass})`
  const cache = toNumber(row!['cache'])
  if (cache === 1) return
  throw new TaskError(
    'RUNTIME_UNSUPPORTED',
    `Sessions draw ${cache} sequences of tasks at a time, so that a task may be pushed behind others that were polled: alter sequence ${sequenceName} cache 1, let every producer connect anew, and then run repair`,
    { found: cache, needed: 1 },
  )
}

function unsteady(): TaskError {
  return new TaskError(
    'DATABASE_UNAVAILABLE',
    'One statement after the other found another history of the database: it is being replaced, or statements reach several servers',
  )
}

/** Persists a topic's low watermark. If another transaction has locked the topic's row, that one is persisting a watermark already. */
function persistLowWatermark(tables: PostgresTables, topic: string, { history, low: floor }: TopicWatermarks): Statement {
  // mutants: equivalent sql-boundary `p.floor < ${floor}::int8`, the same number would be written
  return sql`
    update ${tables.topic} p
       set floor = ${floor}::int8
      from (select p.topic
              from ${tables.topic} p
             where p.topic = ${topic} and ${historyOf(tables, raw(sessionsRun))} = ${history} and p.floor < ${floor}::int8
               for no key update skip locked) free
     where p.topic = free.topic`
}
