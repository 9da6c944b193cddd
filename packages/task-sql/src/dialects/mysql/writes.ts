import { randomInt } from 'node:crypto'
import type { AccessPaths, Locks, Writes } from '../../core/dialect.ts'
import type { HeldRequest, HeldValues, Selection, TaskInsertion } from '../../core/requests.ts'
import { attemptOf } from '../../core/lease.ts'
import { alike } from '../shared/alike.ts'
import { sequencesOf, toNumber } from '../../core/task-row.ts'
import { states } from '../../core/states.ts'
import { nothing, raw, sql } from '../../core/statement.ts'
import type { Statement } from '../../core/statement.ts'
import type { MysqlTables } from './schema.ts'
import type { Row, Verb } from '../../core/verb.ts'
import { everyRow, writesByKey } from '../shared/writes-by-key.ts'
import { rowLocks } from '../shared/row-locks.ts'
import { keysOf, noSequence, sequenceIn, table, textsOf } from './values.ts'
import type { MysqlVariant } from './variants.ts'
import { valuesOf } from '../shared/writes-returning.ts'

interface MysqlStatements {
  readonly writes: Omit<Writes, 'insertAndWake'>
  readonly locks: Omit<Locks, 'stripes' | 'junction'>
  readonly paths: Pick<AccessPaths, 'byExternalIds' | 'byIdentifiers' | 'byKeys'>
  update(topic: string, keys: readonly number[], set: Statement): Statement
}

/** Extra rows that are read, because other transactions may be working on the first ones. */
const spareRows = 1_000
/** Those that are read at first where rows are seldom locked. */
const fewSpareRows = 100

/** The limit (exclusive) of random marks. An update marks its rows, so that they can be told apart from rows that others have written. */
const markBelow = 2 ** 47

export function mysqlWrites(tables: MysqlTables, variant: MysqlVariant): MysqlStatements {
  const { task } = tables
  const { lock, latest, returning } = variant
  /** The rows of these keys. Each is looked up, whatever the statistics say, because a scan would lock every row that it passes. */
  const rowsOf = (topic: string, keys: readonly number[], from = task, key = 'sequence'): Statement =>
    sql`${keysOf(keys)} straight_join ${from} t force index (primary) on t.topic = ${topic} and t.${raw(key)} = w.wanted`
  const byKey: typeof rowsOf = (topic, keys, from, key) => rowsOf(topic, [...keys, noSequence], from, key)
  const identified = (topic: string, identifiers: readonly string[]): Statement =>
    sql`${textsOf(identifiers)} straight_join ${task} t force index (task_identifier)
          on t.topic = ${topic} and t.identifier = w.wanted where t.stage is not null`
  const held = ({ topic, owner, tasks, columns }: HeldRequest): { readonly from: Statement; readonly fence: Statement } => ({
    from: sql`${table('w', [
      { name: 'wanted', type: 'integer', values: [...tasks.map(({ sequence }) => sequence), noSequence] },
      { name: 'given_attempt', type: 'integer', values: tasks.map(attemptOf) },
      ...columns.map((column) => ({ ...column, name: `given_${column.name}` })),
    ])} straight_join ${task} t force index (primary) on t.topic = ${topic} and t.sequence = w.wanted`,
    fence: sql`t.state = ${states.active} and t.owner = ${owner} and t.attempt = w.given_attempt`,
  })
  const values: HeldValues = { take: nothing, tries: raw('t.tries'), value: (column) => raw(`w.given_${column}`) }
  /** Held tasks that differ in their sequences only need no table of values. An update that joins nothing also costs the server much less. */
  const heldChange = (request: HeldRequest, set: (values: HeldValues) => Statement, own: number): Statement => {
    const same = alike(request)
    const keyed = same && sequenceIn(same.sequences)
    if (!keyed) {
      const { from, fence } = held(request)
      return sql`update ${from} set ${set(values)}, mark = ${own}, room = null where ${fence}`
    }
    const changed = set({ ...values, value: (column) => sql`${same.values.get(column) ?? null}` })
    return sql`
      update ${task} t force index (primary)
         set ${changed}, mark = ${own}, room = null
       where t.topic = ${request.topic} and ${keyed}
         and t.state = ${states.active} and t.owner = ${request.owner} and t.attempt = ${same.attempt}`
  }
  const [numbered, number] = variant.numbering(tables)
  // The join reads the rows in their order, without a sort: with a sort, rows would be numbered before they are sorted.
  const insert = ({ columns, values: given, topic, from, where }: TaskInsertion, ignore: Statement): Statement => sql`
    insert ${ignore} into ${task} (${numbered}, ${columns})
    select straight_join ${number}, ${given}
      from ${tables.topic} p, ${from}
     where p.topic = ${topic}${where ? sql` and ${where}` : nothing}`
  /**
   * Locks rows that a plain read has found, in the order given. A locking read would also lock the rows that it passes. If it reads backwards,
   * it would lock the row beyond the last one too.
   */
  function* lockByKey(
    topic: string,
    keys: readonly number[],
    which: Statement,
    locked: Selection['locked'],
    limit?: number,
    columns = raw('t.sequence'),
  ): Verb<readonly Row[]> {
    if (keys.length === 0) return []
    const most = limit === undefined ? nothing : sql` limit ${limit}`
    return yield sql`select ${columns} from ${byKey(topic, keys)} where ${which}${most} ${lock('t', locked)}`
  }
  /** Sequences of rows, read without locks. @param spare how many more than are wanted, as others may have locked some */
  function* candidates(selection: Selection, spare = (selection.first?.limit ?? 0) + spareRows): Verb<readonly number[]> {
    const { topic, read, which = everyRow, first } = selection
    const order = first ? sql` order by ${first.orderBy} limit ${first.limit + spare}` : nothing
    const from = read?.from ?? sql`${task} t`
    const rows = yield sql`select t.sequence from ${from} where ${read?.topic ?? sql`t.topic = ${topic}`} and ${which}${order}`
    return rows.map(toSequence)
  }
  // The rows are locked already and all of them are changed, so `noSequence` is not needed.
  const update = (topic: string, keys: readonly number[], set: Statement): Statement => {
    const keyed = sequenceIn(keys)
    if (!keyed) return sql`update ${rowsOf(topic, keys)} set ${set}`
    return sql`update ${task} t force index (primary) set ${set} where t.topic = ${topic} and ${keyed}`
  }
  const at = (topic: string, keys: readonly number[], from?: Statement, key?: string): Statement =>
    sql`${byKey(topic, keys, from, key)} where ${everyRow}`
  const writes = writesByKey({
    at,
    lockRows: function* (selection) {
      const { topic, sequences, which = everyRow, first, locked } = selection
      const keys = sequences ?? (yield* candidates(selection))
      return (yield* lockByKey(topic, keys, which, locked, first?.limit)).map(toSequence)
    },
    update,
    remove: (topic, keys, from, key) => sql`delete t from ${byKey(topic, keys, from, key)} where ${everyRow}`,
    latest,
  })
  const ownWrites: MysqlStatements['writes'] = {
    ...writes,
    insertion: (insertion) => sql`${insert(insertion, nothing)} ${returning('sequence')}`,
    inserted: function* (insertion, topic) {
      const rows = yield* variant.insertedRows(tables, yield insertion, topic, 'sequence')
      return sequencesOf(rows)
    },
    // `insert ignore` also hides errors other than a taken external id. Values are checked before, so that none is too long or missing. A
    // taken number is found by `checkLeftOut`.
    insertNew: function* (insertion) {
      const told = yield sql`${insert(insertion, raw('ignore'))} ${returning('sequence, external_id')}`
      if (told.length < insertion.count) yield* variant.checkLeftOut()
      return yield* variant.insertedRows(tables, told, insertion.topic, 'sequence, external_id')
    },
    locksTaken: true,
    // The index is named: with stale statistics a delete would read all topics, and wait for every row that others have locked.
    removeOf: (table, topic) => sql`delete t from ${table} t force index (primary) where t.topic = ${topic}`,
    changeHeld: function* (request, set) {
      const own = randomInt(markBelow)
      const [told] = yield heldChange(request, set, own)
      const sequences = request.tasks.map(({ sequence }) => sequence)
      if (Number(told?.['affectedRows']) === sequences.length) return new Set(sequences)
      const touched = yield sql`select t.sequence from ${byKey(request.topic, sequences)} where t.mark = ${own}`
      return new Set(touched.map(toSequence))
    },
    insertIfAbsent: (into, row) => sql`
      insert ignore into ${into} (${raw(Object.keys(row).join(', '))}) values (${valuesOf(row)})`,
  }
  const byKeys = (topic: string, sequences: readonly number[]): Statement => at(topic, sequences)
  const locksOfRows = rowLocks({ tables, byKeys, lock })
  return {
    writes: ownWrites,
    update,
    paths: {
      byKeys,
      byIdentifiers: identified,
      // The index is named, because the server may else read and lock every task of the topic that has an external id: others would pass over them all.
      byExternalIds: (topic, externalIds) => sql`${textsOf(externalIds)} straight_join ${task} t force index (task_external_id)
          on t.topic = ${topic} and t.external_id = w.wanted where t.external_id is not null`,
    },
    locks: {
      ...locksOfRows,
      tasks: function* (selection, columns) {
        const { topic, sequences, which, first, locked } = selection
        if (sequences) return yield* locksOfRows.tasks(selection, columns)
        const lockSome = (keys: readonly number[]): Verb<readonly Row[]> =>
          lockByKey(topic, keys, which ?? everyRow, locked, first?.limit, columns)
        const few = yield* candidates(selection, fewSpareRows)
        const rows = yield* lockSome(few)
        // Mostly nobody has locked any of them.
        const isEnough = !first || rows.length === first.limit || few.length < first.limit + fewSpareRows
        return isEnough ? rows : yield* lockSome(yield* candidates(selection))
      },
      identified: function* (topic, identifiers, which, locked) {
        const found = yield sql`select t.sequence from ${identified(topic, identifiers)} and ${which}`
        return (yield* lockByKey(topic, sequencesOf(found), which, locked)).map(toSequence)
      },
      held: function* (request) {
        const { from, fence } = held(request)
        const rows = yield sql`select t.sequence from ${from} where ${fence} ${lock('t', 'wait')}`
        return new Set(rows.map(toSequence))
      },
    },
  }
}

function toSequence({ sequence }: Row): number {
  return toNumber(sequence)
}
