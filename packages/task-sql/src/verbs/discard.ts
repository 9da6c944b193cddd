/** Deletes tasks in the transaction that ends them. */
import { invalid } from '@taskstream/task-api'
import type { DiscardedState, HeldTask, TaskDecision, TaskState } from '@taskstream/task-api'
import { raw, sql } from '../core/statement.ts'
import { sequencesOf } from '../core/task-row.ts'
import type { Verb } from '../core/verb.ts'
import type { Context } from '../core/verb-context.ts'
import { hasFailed } from './dead-letter.ts'
import { removeTasks } from './removal.ts'

const states: readonly TaskState[] = ['succeeded', 'failed', 'filtered']

/** @throws TaskError ARGUMENT_INVALID */
export function checkDiscard(discard: readonly DiscardedState[]): void {
  if (!Array.isArray(discard) || !discard.every((state) => states.includes(state)))
    throw invalid('discard', discard, `must be a list of ${states.join(', ')}`)
}

/** Deletes completed tasks whose decisions have led to one of these states, but those on which others depend: their results are still to be read. */
export function* discardEnded(
  { dialect }: Context,
  topic: string,
  tasks: readonly HeldTask[],
  decisions: ReadonlyMap<HeldTask, TaskDecision>,
  discard: readonly DiscardedState[],
): Verb<void> {
  const given: readonly TaskState[] = discard
  const ended = tasks.filter((task) => given.includes(stateOf(task, decisions.get(task)!))).map(({ sequence }) => sequence)
  // mutants: equivalent condition:false, of no tasks none are deleted
  if (ended.length === 0) return
  // mutants: equivalent sql-distinct `distinct d.parent`, a set is made of them
  // mutants: equivalent sql-logic `d.parent_topic = ${topic} and`, a sequence is one of one topic
  const needed = yield sql`
    select distinct d.parent as sequence
      from ${dialect.tables.dependency} d
     where d.parent_topic = ${topic} and ${dialect.paths.among(raw('d.parent'), ended)}`
  const kept = new Set(sequencesOf(needed))
  const gone = ended.filter((sequence) => !kept.has(sequence))
  // mutants: equivalent boundary condition:true, to delete none changes nothing
  if (gone.length > 0) yield* removeTasks(dialect, topic, gone)
}

function stateOf(task: HeldTask, decision: TaskDecision): TaskState {
  return hasFailed(task, decision) ? 'failed' : decision.state
}
