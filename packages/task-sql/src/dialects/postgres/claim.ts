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

/** The persisted low watermark may lag so far behind; a cold poll reads at most so many finished rows. */
// mutants: equivalent number, one more or less is as good
const persistEvery = 8192

/** Ready rows that are looked at beyond those asked for, where listed ones are merged in; where others have locked so many, more. */
// mutants: equivalent number, one more or less is as good
const spareRows = 1_000
// mutants: equivalent number, one more or less is as good
const moreRows = 16

/** A database may be replaced while it is polled, but not each time. */
// mutants: equivalent number, one more or less is as good
const manyHistories = 5

/**
 * Takes ready tasks without an index on the state, so that neither taking nor completing a task touches an index.
 *
 * Two kinds of ready rows are merged by sequence. Rows that are `listed` became ready again after their push (handed back,
 * released, expired) and are found through a small partial index. All others are fresh: they lie above the topic's low watermark, a
 * sequence at or below which no fresh row is ready or ever will be, and are read in order from there.
 *
 * The low watermark rides on the polls themselves. Each poll that took something remembers the last sequence drawn so far (high watermark) and
 * its own transaction id (horizon), drawn afterwards. A pusher draws its transaction id before its sequences; so once a later
 * snapshot's xmin has reached the horizon, every transaction with a sequence up to the high watermark has ended and is visible, and the
 * low watermark may rise to just below the first row up to the high watermark that is still ready there. Rows that others have taken but not
 * committed still read as ready, and hold it. Only a transaction that had written nothing before may do this: it would not
 * see its own earlier claims as ready, and might yet roll them back. And only at READ COMMITTED, where the snapshot is not older
 * than what was learned before it.
 *
 * What a process has learned holds for one history: a topic's generation, the storage of its rows, the database, and the server's starts. A
 * crash may take commits back that were not yet on disk (synchronous_commit = off), and a failover those that were not yet on the standby;
 * their tasks are ready again, below a low watermark that is remembered. The persisted low watermark goes back with them. A database that was restored
 * or cloned, and tables that were reloaded, have another storage. What cannot change as long as a session lasts is asked once and
 * kept in it (`taskstream.run`), and asked again where sessions disagree.
 *
 * No sequence is drawn below the low watermark, unless somebody has set the sequence back. Then a claim forgets what is remembered, and a push lists what
 * lies below the persisted low watermark. Each sequence is drawn when its task is pushed, unless sessions draw them in advance: then nothing is taken. To
 * look for that once in each history is enough: what alters a sequence gives it another storage.
 */
export function postgresClaim(tables: PostgresTables, plans: Plans): Claims['plain'] {
  const watermarks = new Map<string, TopicWatermarks>()
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
      return rows.length === 0 ? yield* claimAndLearn(request) : yield* claimMore(request, rows)
    }
    return yield* claimAndLearn(request)
  }

  function* claimMore(request: ClaimRequest, taken: readonly Row[], spare?: number): Verb<Claim> {
    const more = yield* claimAndLearn({ ...request, size: request.size - taken.length }, spare)
    return { ...more, rows: [...taken, ...more.rows] }
  }

  function* claimAndLearn(request: ClaimRequest, spare = spareRows, histories = 0): Verb<Claim> {
    const { history, pending } = recall(watermarks, request.topic)
    if (pending)
      replacePending(watermarks, request.topic, pending, yield* advanceByLocks(tables, request.topic, history, pending))
    const known = recall(watermarks, request.topic)
    const merge = relisting.has(request.topic)
    const rows = yield statementOf(request, known, merge ? spare : undefined)
    const status = rows.find((row) => row['status'] !== null)
    if (!status) return { rows: [], ownerKnown: false }
    const report = toReport(String(status['status']))
    const { relisted, clean } = report
    if (report.high < lastDrawn(known)) watermarks.delete(request.topic)
    plans.learn(report.extent)
    if (report.history !== known.history) {
      if (histories >= manyHistories) throw unsteady()
      yield* checkSequence(tables)
      learn(watermarks, request.topic, known, report)
      return yield* claimAndLearn(request, spare, histories + 1)
    }
    const now = learn(watermarks, request.topic, known, report)
    if (relisted) relisting.add(request.topic)
    else relisting.delete(request.topic)
    // It took nothing: there are rows that it was not looking for.
    if (relisted && !merge) return yield* claimAndLearn(request)
    // What this transaction has pushed itself could not be told from what it has locked: it is made active.
    if (request.mayLock && !clean) return yield* claimAndLearn({ ...request, mayLock: false })
    const taken = rows.filter((row: Row) => row['status'] === null)
    const last = request.mayLock ? undefined : taken.at(-1)?.['sequence']
    fastPath.learn(request, report, last === undefined ? undefined : toNumber(last))
    if (clean && now.low - report.persisted > persistEvery) yield persistLowWatermark(tables, request.topic, now)
    // What is only locked cannot be told apart from what a second claim in this transaction makes active.
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

/** @throws TaskError RUNTIME_UNSUPPORTED where sessions draw sequences in advance */
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

/** Whoever is persisting the same topic's low watermark at this moment does it for us too. */
function persistLowWatermark(tables: PostgresTables, topic: string, { history, low: floor }: TopicWatermarks): Statement {
  return sql`
    update ${tables.topic} p
       set floor = ${floor}::int8
      from (select p.topic
              from ${tables.topic} p
             where p.topic = ${topic} and ${historyOf(tables, raw(sessionsRun))} = ${history} and p.floor < ${floor}::int8
               for no key update skip locked) free
     where p.topic = free.topic`
}
