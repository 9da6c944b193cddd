import type { Tables, Writes } from '../../core/dialect.ts'
import { attemptOf } from '../../core/lease.ts'
import type { HeldRequest } from '../../core/requests.ts'
import { states } from '../../core/states.ts'
import { nothing, raw, sql } from '../../core/statement.ts'
import type { Statement } from '../../core/statement.ts'
import type { Verb } from '../../core/verb.ts'
import { alike } from '../shared/alike.ts'
import type { HeldRows } from '../shared/writes-returning.ts'
import { byKey, rows, sequenceIn } from './values.ts'

/** The fewest rows that are written without RETURNING. It costs a third of an update, but for few rows a second statement costs more. */
export const manyRows = 32

/** Held rows. Their keys are named `held_…`, so that `sequence` in a returning clause can only mean the task's column. */
export function held(request: HeldRequest): HeldRows {
  const { topic, owner, tasks, columns } = request
  const fence = sql`+t.state = ${states.active} and t.owner = ${owner}`
  const common = { take: nothing, tries: raw('t.tries') }
  const same = alike(request)
  if (same) {
    return {
      ...common,
      updateFrom: nothing,
      selectFrom: nothing,
      where: sql`${sequenceIn(same.sequences)} and +t.topic = ${topic} and ${fence} and t.attempt = ${same.attempt}`,
      value: (column) => sql`${same.values.get(column) ?? null}`,
    }
  }
  const values = rows([
    { name: 'held_sequence', type: 'integer', values: tasks.map(({ sequence }) => sequence) },
    { name: 'held_attempt', type: 'integer', values: tasks.map(attemptOf) },
    ...columns,
  ])
  return {
    ...common,
    updateFrom: sql`from ${values}`,
    selectFrom: sql`, ${values}`,
    where: sql`${byKey(sql`${topic}`, raw('r.held_sequence'))} and ${fence} and t.attempt = r.held_attempt`,
    value: (column) => raw(`r.${column}`),
  }
}

/**
 * Many tasks that are alike are counted before they are changed, as nobody else writes meanwhile. If all are still held, the change need not return
 * which they were.
 */
export function changeHeld({ task }: Tables, returning: Writes['changeHeld']): Writes['changeHeld'] {
  return function* (request, set): Verb<ReadonlySet<number>> {
    const { tasks } = request
    if (tasks.length >= manyRows && alike(request)) {
      const rows = held(request)
      const [counted] = yield sql`select count(*) as held from ${task} t where ${rows.where}`
      if (Number(counted?.['held']) === tasks.length) {
        yield sql`update ${task} as t set ${set(rows)} where ${rows.where}`
        return new Set(tasks.map(({ sequence }) => sequence))
      }
    }
    return yield* returning(request, set)
  }
}

export function* affected(update: Statement): Verb<ReadonlySet<number>> {
  const touched = yield update
  return new Set(touched.map((row) => Number(row['sequence'])))
}
