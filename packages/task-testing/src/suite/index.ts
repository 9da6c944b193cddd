/**
 * The suite that every engine of taskstream passes, to be run against your own adapter or dialect. It needs vitest and fast-check.
 *
 * @example
 * import { conformance, subjectOf } from '@taskstream/task-testing/suite'
 * conformance({ name: 'my driver', family: 'sqlite', connections: 1, writers: 1, synchronous: true, open: () => subjectOf(...) })
 */
import { activation } from './activation.ts'
import { adapter } from './adapter.ts'
import { badInput } from './bad-input.ts'
import { catalog } from './catalog.ts'
import { clean } from './clean.ts'
import { complete } from './complete.ts'
import { deadline } from './deadline.ts'
import { delayed } from './delayed.ts'
import { givenClock } from './given-clock.ts'
import { holdTransaction } from './hold-transaction.ts'
import { insertion } from './insertion.ts'
import { junction } from './junction.ts'
import { looking } from './looking.ts'
import { optionNames } from './option-names.ts'
import { order } from './order.ts'
import { owner } from './owner.ts'
import { periodicChanges } from './periodic-changes.ts'
import { periodicClocks } from './periodic-clocks.ts'
import { periodicEdits } from './periodic-edits.ts'
import { periodicOutcomes } from './periodic-outcomes.ts'
import { periodicRivals } from './periodic-rivals.ts'
import { periodicUnfinished } from './periodic-unfinished.ts'
import { periodic } from './periodic.ts'
import { poll } from './poll.ts'
import { push } from './push.ts'
import { revive } from './revive.ts'
import { savepoint } from './savepoint.ts'
import { singularRivals } from './singular-rivals.ts'
import { singular } from './singular.ts'
import { timers } from './timers.ts'
import { unknownTopic } from './unknown-topic.ts'
import { values } from './values.ts'
import { ages } from './ages.ts'
import { resolved } from './resolved.ts'
import { defaults } from './defaults.ts'
import { edges } from './edges.ts'
import { filters } from './filters.ts'
import { junctionSiblings } from './junction-siblings.ts'
import { nothingDue } from './nothing-due.ts'
import { ownerBounds } from './owner-bounds.ts'
import { tries } from './tries.ts'
import { timerLists } from './timer-lists.ts'
import { timerScopes } from './timer-scopes.ts'
import { periodicStates } from './periodic-states.ts'
import type { Engine, Part } from './engine.ts'

export { subjectOf } from './engine.ts'
export type { AnyTransaction, Engine, Session, Subject, SubjectParts, Tasks, TasksOptions } from './engine.ts'
export { codeOf, names, openFixture, useFixture, whileTested } from './fixture.ts'
export type { Fixture, FixtureOptions } from './fixture.ts'

/** The parts of the suite by the names of their files. */
const parts: Readonly<Record<string, Part>> = {
  activation,
  adapter,
  'bad-input': badInput,
  catalog,
  clean,
  complete,
  deadline,
  delayed,
  'given-clock': givenClock,
  'hold-transaction': holdTransaction,
  insertion,
  junction,
  looking,
  'option-names': optionNames,
  order,
  owner,
  'periodic-changes': periodicChanges,
  'periodic-clocks': periodicClocks,
  'periodic-edits': periodicEdits,
  'periodic-outcomes': periodicOutcomes,
  'periodic-rivals': periodicRivals,
  'periodic-unfinished': periodicUnfinished,
  periodic,
  poll,
  push,
  revive,
  savepoint,
  singular,
  'singular-rivals': singularRivals,
  timers,
  'unknown-topic': unknownTopic,
  ages: ages,
  resolved: resolved,
  defaults: defaults,
  edges,
  filters: filters,
  'junction-siblings': junctionSiblings,
  'nothing-due': nothingDue,
  'owner-bounds': ownerBounds,
  tries: tries,
  'timer-lists': timerLists,
  'timer-scopes': timerScopes,
  'periodic-states': periodicStates,
  values,
}

/** Registers every test of the suite that the engine can be asked to pass. Call it in a test file, at its top level. */
export function conformance(engine: Engine): void {
  for (const [file, part] of Object.entries(parts)) part(engine, file)
}
