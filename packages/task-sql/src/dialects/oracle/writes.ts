import { TaskError } from '@taskstream/task-api'
import type { AccessPaths, Locks, Writes } from '../../core/dialect.ts'
import type { HeldRequest, HeldValues, RowColumn, TaskInsertion } from '../../core/requests.ts'
import { attemptOf } from '../../core/lease.ts'
import { sequencesOf, toNumber } from '../../core/task-row.ts'
import type { OracleTables } from './schema.ts'
import { states } from '../../core/states.ts'
import { nothing, raw, sql } from '../../core/statement.ts'
import type { Statement } from '../../core/statement.ts'
import type { Verb } from '../../core/verb.ts'
import { writesByKey } from '../shared/writes-by-key.ts'
import { byKeyHint, lockOf, oracleLocks } from './row-locks.ts'
import { keysOf, table, textsOf } from './values.ts'
import { valuesOf } from '../shared/writes-returning.ts'

interface OracleStatements {
  readonly writes: Omit<Writes, 'insertAndWake' | 'removeOf'>
  readonly locks: Omit<Locks, 'stripes' | 'junction'>
  readonly paths: Pick<AccessPaths, 'byIdentifiers' | 'byKeys'>
  update(topic: string, keys: readonly number[], set: Statement): Statement
}

export function oracleWrites(tables: OracleTables): OracleStatements {
  const { task } = tables
  const { at, keyed, periodic, tasks: lockTasks } = oracleLocks(tables)
  const update = (topic: string, keys: readonly number[], set: Statement): Statement =>
    sql`update /*+ ${raw(byKeyHint)} */ ${task} t set ${set} where ${keyed(topic, keys)}`
  const writes = writesByKey({
    at,
    lockRows: function* (selection) {
      const { sequences, which } = selection
      // Without a condition there is nothing to check, so the rows are not locked first. The update waits for locks of others.
      if (sequences && !which) return sequences
      return (yield* lockTasks(selection, raw('t.sequence'))).map(({ sequence }) => toNumber(sequence))
    },
    update,
    remove: (topic, keys, from, key) => sql`delete /*+ ${raw(byKeyHint)} */ from ${from} t where ${keyed(topic, keys, key)}`,
    latest: nothing,
  })
  const { touched } = writes
  const ofIdentifiers = (identifiers: readonly string[]): Statement =>
    sql`t.stage is not null and t.identifier in (select w.wanted from ${textsOf(identifiers)})`

  /** Inserts rows with sequences that were drawn before: Oracle returns inserted values only for a single row. `nth` pairs the two. */
  const insert = ({ columns, values, topic, from, where }: TaskInsertion, hint: Statement): Statement => sql`
    insert ${hint} into ${task} (sequence, ${columns})
    with n as (select w.nth, w.wanted from ${keysOf([])})
    select n.wanted, ${values}
      from n, ${tables.topic} p, ${from}
     where p.topic = ${topic} and n.nth = r.nth${where ? sql` and ${where}` : nothing}`
  function* drawn(count: number): Verb<number[]> {
    return sequencesOf(yield sql`select ${tables.sequence}.nextval as sequence from dual connect by level <= ${count}`)
  }
  /** Fills the drawn numbers into an insertion. They are the first of its values. */
  const given = (insertion: Statement, numbers: readonly number[]): Statement => ({
    ...insertion,
    values: [JSON.stringify(numbers), ...insertion.values.slice(1)],
  })

  /** Ends a select of the rows that this owner still holds, since the polls that returned their tasks. */
  const areHeld = ({ topic, owner, tasks }: HeldRequest): Statement => sql`
         t.topic = ${topic} and t.state = ${states.active} and t.owner = ${owner}
     and (t.sequence, t.attempt) in (
         select /*+ unnest qb_name(keys) */ w.wanted, w.given_attempt
           from ${table('w', heldColumns(tasks))})
   order by t.sequence`
  const selectHeld = (request: HeldRequest): Statement =>
    sql`select /*+ ${raw(byKeyHint)} */ t.sequence from ${task} t where ${areHeld(request)}`

  const ownWrites: OracleStatements['writes'] = {
    ...writes,
    insertion: (insertion) => insert(insertion, nothing),
    inserted: function* (insertion, _topic, count) {
      const numbers = yield* drawn(count)
      return (yield* touched(given(insertion, numbers))) === 0 ? [] : numbers
    },
    insertNew: function* (insertion) {
      const numbers = yield* drawn(insertion.count)
      const hint = raw('/*+ ignore_row_on_dupkey_index(task, task_external_id) */')
      const count = yield* touched(given(insert(insertion, hint), numbers))
      if (count === numbers.length) return numbers.map((sequence) => ({ sequence }))
      if (count === 0) return []
      return yield sql`select t.sequence, t.external_id from ${at(insertion.topic, numbers)}`
    },
    // The rows are locked first, because a merge does not check its condition again if another transaction has changed a row before it.
    // https://blog.sqlora.com/en/merge-and-ora-30926-part-2-or-differences-in-write-consistency-between-update-and-merge/
    changeHeld: function* (request, set) {
      const { topic, owner, tasks, columns } = request
      const locked = new Set(sequencesOf(yield sql`${selectHeld(request)} ${lockOf('wait')}`))
      if (locked.size === 0) return locked
      const some = [...tasks.keys()].filter((index) => locked.has(tasks[index]!.sequence))
      const rows: RowColumn[] = [
        ...heldColumns(some.map((index) => tasks[index]!)),
        ...columns.map(({ name, type, values }) => ({
          name: `given_${name}`,
          type,
          values: some.map((index) => values[index] ?? null),
        })),
      ]
      const count = yield* touched(sql`
        merge /*+ leading(w) use_nl(t) index(t) */ into ${task} t
        using (select w.* from ${table('w', rows)}) w
           on (t.topic = ${topic} and t.sequence = w.wanted)
         when matched then
              update set ${set(given_)}
               where t.state = ${states.active} and t.owner = ${owner} and t.attempt = w.given_attempt`)
      if (count !== locked.size) throw wasChanged(topic)
      return locked
    },
    insertIfAbsent: (into, row, key) => {
      const name = (into.texts[0] ?? '').replace(/^.*\./, '')
      return sql`
        insert /*+ ignore_row_on_dupkey_index(${raw(name)} (${raw(key)})) */
          into ${into} (${raw(Object.keys(row).join(', '))})
        values (${valuesOf(row)})`
    },
  }
  return {
    writes: ownWrites,
    update,
    paths: {
      byKeys: (topic, sequences) => at(topic, sequences),
      byIdentifiers: (topic, identifiers) => sql`${task} t where t.topic = ${topic} and ${ofIdentifiers(identifiers)}`,
    },
    locks: {
      periodic,
      tasks: lockTasks,
      identified: function* (topic, identifiers, which, locked) {
        const asked = { topic, which: sql`${ofIdentifiers(identifiers)} and ${which}`, locked }
        return sequencesOf(yield* lockTasks(asked, raw('t.sequence')))
      },
      held: function* (request) {
        const locked = yield sql`${selectHeld(request)} ${lockOf('wait')}`
        return new Set(locked.length === 0 ? [] : sequencesOf(yield selectHeld(request)))
      },
    },
  }
}

const given_: HeldValues = { take: nothing, tries: raw('t.tries'), value: (column) => raw(`w.given_${column}`) }

function heldColumns(tasks: HeldRequest['tasks']): RowColumn[] {
  return [
    { name: 'wanted', type: 'integer', values: tasks.map(({ sequence }) => sequence) },
    { name: 'given_attempt', type: 'integer', values: tasks.map(attemptOf) },
  ]
}

function wasChanged(topic: string): TaskError {
  return new TaskError(
    'TRANSACTION_CONFLICT',
    `A task of topic "${topic}" was changed while it was being locked: roll back and run the whole transaction again`,
    { topic },
  )
}
