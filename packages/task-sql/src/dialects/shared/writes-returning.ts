/** For databases with RETURNING: one statement writes and reports. */
import type { PollOrder } from '@taskstream/task-api'
import type { AccessPaths, Dialect, Locks, Writes } from '../../core/dialect.ts'
import type { HeldRequest, HeldValues, Selection, TaskInsertion } from '../../core/requests.ts'
import { join, nothing, raw, sql } from '../../core/statement.ts'
import type { SqlValue, Statement } from '../../core/statement.ts'
import type { Verb } from '../../core/verb.ts'

/** Held tasks inside a statement on `task t`. */
export interface HeldRows extends HeldValues {
  /** Stands before the statement. Default: nothing. */
  readonly before?: Statement
  /** Follows the assignments of an update. */
  readonly updateFrom: Statement
  /** Follows `from task t`. */
  readonly selectFrom: Statement
  /** The fence: this owner holds the row, since the poll that returned the task. */
  readonly where: Statement
}

interface Parts extends Pick<Dialect, 'tables'>, Pick<AccessPaths, 'among' | 'byKey'> {
  /** Begins a statement that inserts rows, and wakes listeners of the topic if `wake` is true. Default: nothing. */
  begin?(topic: string, wake: boolean): { readonly with: Statement; readonly from: Statement }
  /** True if a column has one of the keys of rows to be deleted. Default: `among`. */
  amongKeys?(column: Statement, keys: readonly number[]): Statement
  /** Ends a select whose rows are to be locked until the transaction ends. */
  lock(table: string, mode: Selection['locked']): Statement
  /** The held rows of a request. Each is found by its key, whatever the statistics say. */
  held(request: HeldRequest): HeldRows
  /** Runs an update that returns `sequence` and reports which of `expected` it touched. With `recheck` it returns `identifier`, too, for rechecks. */
  affected(update: Statement, expected: readonly number[], recheck: string | undefined): Verb<ReadonlySet<number>>
  /** Inserts tasks into a topic that keeps outcomes. Absent where none does. */
  numbered?(insertion: TaskInsertion): Statement
  /** True for a topic `p` that keeps states. Default: all do. */
  readonly isPlain?: Statement
  /** Whether `affected` writes rechecks of a topic. */
  readonly rechecksHeld?: boolean
}

interface Returning {
  readonly writes: Omit<Writes, 'inserted' | 'removeOf'>
  readonly locks: Pick<Locks, 'held'>
  readonly paths: Pick<AccessPaths, 'byKeys'>
}

export function writesReturning({
  tables,
  among,
  amongKeys = among,
  byKey,
  lock,
  begin = plain,
  held,
  affected,
  numbered,
  isPlain,
  rechecksHeld = false,
}: Parts): Returning {
  const keyed = (topic: string, sequences: readonly number[]): Statement =>
    sql`t.topic = ${topic} and ${among(raw('t.sequence'), sequences)}`
  const insert = (table: Statement, { topic, wake, columns, values, from, where, orderBy }: Insertion): Statement => {
    const start = begin(topic, wake)
    return sql`
      ${start.with}
      insert into ${table} (${columns})
      select ${values}
        from ${start.from} ${tables.topic} p, ${from}
       where p.topic = ${topic}${where ? sql` and ${where}` : nothing}${orderBy ? sql` order by ${orderBy}` : nothing}`
  }
  const push = (insertion: TaskInsertion): Statement => {
    if (insertion.record === 'outcomes' && numbered) return numbered(insertion)
    const { where } = insertion
    const which = where && isPlain ? sql`${where} and ${isPlain}` : (where ?? isPlain)
    return insert(tables.task, { ...insertion, ...(which && { where: which }) })
  }
  const writes: Returning['writes'] = {
    insertion: (insertion) => ({ ...sql`${push(insertion)} returning sequence`, stablePlan: true }),
    insertNew: function* (insertion) {
      return yield {
        ...sql`
          ${push(insertion)}
              on conflict (topic, external_id) where external_id is not null do nothing
          returning sequence, external_id`,
        stablePlan: true,
      }
    },
    insertAndWake: ({ table, ...insertion }) => insert(table, { ...insertion, wake: true }),
    change: function* ({ topic, sequences, read, which, first, locked, set, returning = raw('sequence') }) {
      const asked = sql`${sequences ? keyed(topic, sequences) : (read?.topic ?? sql`t.topic = ${topic}`)}${which ? sql` and ${which}` : nothing}`
      if (locked === 'wait' && !first)
        return yield sql`update ${tables.task} as t set ${set} where ${asked} returning ${returning}`
      const order = first ? sql` order by ${first.orderBy} limit ${first.limit}` : nothing
      return yield sql`
        with free (free_topic, free_sequence) as (
          select topic, sequence
            from (select t.topic, t.sequence from ${read?.from ?? sql`${tables.task} t`} where ${asked}${order} ${lock('t', locked)}) first)
        update ${tables.task} as t
           set ${set}
          from free
         where ${byKey(raw('free.free_topic'), raw('free.free_sequence'))}
        returning ${returning}`
    },
    rechecksHeld,
    changeHeld: (request, set) => {
      const rows = held(request)
      const sequences = request.tasks.map(({ sequence }) => sequence)
      const recheck = rechecksHeld && request.recheck === true
      const update = sql`${rows.before ?? nothing}update ${tables.task} as t set ${set(rows)} ${rows.updateFrom} where ${rows.where} returning sequence${raw(recheck ? ', identifier' : '')}`
      return affected(update, sequences, recheck ? request.topic : undefined)
    },
    remove: function* ({ table, key, topic, keys, which, returning = raw(key) }) {
      return yield sql`
        delete from ${table} as t
         where t.topic = ${topic} and ${amongKeys(raw(`t.${key}`), keys)}${which ? sql` and ${which}` : nothing}
        returning ${returning}`
    },
    insertIfAbsent: (table, row, key) => sql`
      insert into ${table} (${raw(Object.keys(row).join(', '))})
      values (${valuesOf(row)})
          on conflict (${raw(key)}) do nothing`,
    touched: function* (write) {
      return (yield sql`${write} returning 1 as touched`).length
    },
  }
  return {
    writes,
    paths: { byKeys: (topic, sequences) => sql`${tables.task} t where ${keyed(topic, sequences)}` },
    locks: {
      held: function* (request) {
        const { before = nothing, selectFrom, where } = held(request)
        const rows = yield sql`
          ${before}
          select t.sequence
            from ${tables.task} t ${selectFrom}
           where ${where}
           order by t.sequence
           ${lock('t', 'wait')}`
        return new Set(rows.map(({ sequence }) => Number(sequence)))
      },
    },
  }
}

type Insertion = Omit<TaskInsertion, 'count' | 'record'>

const plain = (): ReturnType<NonNullable<Parts['begin']>> => ({ with: nothing, from: nothing })

/** The order begins with the topic, as the indexes do, because the condition on the topic is a range. */
export function orderByTopic(order: PollOrder): Statement {
  return ordersByTopic[order]
}

const ordersByTopic = {
  fifo: raw('t.topic, t.sequence'),
  lifo: raw('t.topic desc, t.sequence desc'),
  priority: raw('t.topic, t.priority desc, t.sequence'),
  shared: raw('t.topic, t.sequence'),
}

export function valuesOf(row: Readonly<Record<string, SqlValue | Statement>>): Statement {
  return join(
    Object.values(row).map((value) => sql`${value}`),
    ', ',
  )
}
