/**
 * The suite that every engine of taskstream passes, to be run against your own adapter or dialect. It needs vitest and fast-check.
 *
 * @example
 * import { conformance, subjectOf } from '@taskstream/task-testing/suite'
 * conformance({ name: 'my driver', family: 'sqlite', connections: 1, writers: 1, synchronous: true, open: () => subjectOf(...) })
 */
import { activation } from './activation.ts'
import { adapter } from './adapter.ts'
import { ages } from './ages.ts'
import { attempts } from './attempts.ts'
import { attemptsKept } from './attempts-kept.ts'
import { badInput } from './bad-input.ts'
import { blockedTasks } from './blocked-tasks.ts'
import { cancel } from './cancel.ts'
import { catalog } from './catalog.ts'
import { clean } from './clean.ts'
import { complete } from './complete.ts'
import { deadline } from './deadline.ts'
import { deadLetters } from './dead-letters.ts'
import { defaults } from './defaults.ts'
import { delayed } from './delayed.ts'
import { dependencies } from './dependencies.ts'
import { dependencySuccessors } from './dependency-successors.ts'
import { discard } from './discard.ts'
import { keptRight } from './kept-right.ts'
import { limitsApart } from './limits-apart.ts'
import { limits } from './limits.ts'
import { limitsSet } from './limits-set.ts'
import { edges } from './edges.ts'
import { endings } from './endings.ts'
import { entries } from './entries.ts'
import { filters } from './filters.ts'
import { givenClock } from './given-clock.ts'
import { holdTransaction } from './hold-transaction.ts'
import { inspection } from './inspection.ts'
import { insertion } from './insertion.ts'
import { junction } from './junction.ts'
import { junctionSiblings } from './junction-siblings.ts'
import { looking } from './looking.ts'
import { nodes } from './nodes.ts'
import { nothingDue } from './nothing-due.ts'
import { optionNames } from './option-names.ts'
import { order } from './order.ts'
import { settling } from './settling.ts'
import { sharedMany } from './shared-many.ts'
import { shared } from './shared.ts'
import { owner } from './owner.ts'
import { ownerBounds } from './owner-bounds.ts'
import { peek } from './peek.ts'
import { periodic } from './periodic.ts'
import { periodicChanges } from './periodic-changes.ts'
import { periodicClocks } from './periodic-clocks.ts'
import { periodicEdits } from './periodic-edits.ts'
import { periodicOutcomes } from './periodic-outcomes.ts'
import { periodicRivals } from './periodic-rivals.ts'
import { periodicStates } from './periodic-states.ts'
import { periodicUnfinished } from './periodic-unfinished.ts'
import { poll } from './poll.ts'
import { push } from './push.ts'
import { putOff } from './put-off.ts'
import { reassign } from './reassign.ts'
import { reschedule } from './reschedule.ts'
import { resolved } from './resolved.ts'
import { restoring } from './restoring.ts'
import { returnedRows } from './returned-rows.ts'
import { revive } from './revive.ts'
import { savepoint } from './savepoint.ts'
import { singular } from './singular.ts'
import { singularRivals } from './singular-rivals.ts'
import { timerLists } from './timer-lists.ts'
import { timerScopes } from './timer-scopes.ts'
import { timers } from './timers.ts'
import { tries } from './tries.ts'
import { typedTimers } from './typed-timers.ts'
import { unknownTopic } from './unknown-topic.ts'
import { values } from './values.ts'
import { why } from './why.ts'
import { whyOthers } from './why-others.ts'
import type { Engine, Part } from './engine.ts'

export { subjectOf } from './engine.ts'
export type { AnyTransaction, Engine, Session, Subject, SubjectParts, Tasks, TasksOptions } from './engine.ts'
export { codeOf, names, openFixture, thrownBy, useFixture, whileTested } from './fixture.ts'
export type { Fixture, FixtureOptions } from './fixture.ts'

/** The parts of the suite by the names of their files. */
const parts: Readonly<Record<string, Part>> = {
  activation,
  adapter,
  ages,
  attempts,
  'attempts-kept': attemptsKept,
  'bad-input': badInput,
  cancel,
  catalog,
  clean,
  complete,
  deadline,
  defaults,
  delayed,
  dependencies,
  'dependency-successors': dependencySuccessors,
  'blocked-tasks': blockedTasks,
  settling,
  discard,
  limits,
  'limits-set': limitsSet,
  'limits-apart': limitsApart,
  entries,
  'dead-letters': deadLetters,
  edges,
  endings,
  filters,
  'given-clock': givenClock,
  'hold-transaction': holdTransaction,
  insertion,
  inspection,
  junction,
  'junction-siblings': junctionSiblings,
  'kept-right': keptRight,
  looking,
  nodes,
  'nothing-due': nothingDue,
  'option-names': optionNames,
  order,
  shared,
  'shared-many': sharedMany,
  owner,
  'owner-bounds': ownerBounds,
  peek,
  periodic,
  'periodic-changes': periodicChanges,
  'periodic-clocks': periodicClocks,
  'periodic-edits': periodicEdits,
  'periodic-outcomes': periodicOutcomes,
  'periodic-rivals': periodicRivals,
  'periodic-states': periodicStates,
  'periodic-unfinished': periodicUnfinished,
  poll,
  push,
  'put-off': putOff,
  reassign,
  reschedule,
  resolved,
  restoring,
  'returned-rows': returnedRows,
  revive,
  savepoint,
  singular,
  'singular-rivals': singularRivals,
  'timer-lists': timerLists,
  'timer-scopes': timerScopes,
  timers,
  tries,
  'typed-timers': typedTimers,
  'unknown-topic': unknownTopic,
  values,
  why,
  whyOthers,
}

/** Registers every test of the suite that the engine can be asked to pass. Call it in a test file, at its top level. */
export function conformance(engine: Engine): void {
  for (const [file, part] of Object.entries(parts)) part(engine, file)
}
