import type { HeldTask } from '@taskstream/task-api'
import { sql } from '../core/statement.ts'
import { holding, toNumber } from '../core/task-row.ts'
import type { Verb } from '../core/verb.ts'
import type { Context } from '../core/verb-context.ts'
import { attemptOf, isHeld } from '../core/lease.ts'
import { isIn } from './filter-state.ts'
import { sortHeld } from './held.ts'

export function* lost({ dialect, owner }: Context, topic: string, tasks: Iterable<HeldTask>): Verb<HeldTask[]> {
  // What is only locked cannot be taken from the transaction that has locked it.
  const asked = sortHeld(topic, tasks).filter((task) => !isHeld(task, 'locked'))
  // mutants: equivalent condition:false, of no sequences none is there
  if (asked.length === 0) return []
  // An owner may be asked about a former attempt and the present one together.
  const sequences = [...new Set(asked.map(({ sequence }) => sequence))]
  const { attempt, owner: holder } = holding(dialect)
  const rows = yield sql`
    select t.sequence, ${attempt} as attempt
      from ${dialect.paths.byKeys(topic, sequences)} and ${isIn(dialect, 'active')} and ${holder} = ${owner}`
  const held = new Map(rows.map((row) => [toNumber(row['sequence']), toNumber(row['attempt'])]))
  return asked.filter((task) => held.get(task.sequence) !== attemptOf(task))
}
