/** Submitting what is due of one timer, whose row is locked. */
import type { PushedTask } from '@taskstream/task-api'
import { sql } from '@taskstream/task-sql'
import type { Verb, VerbContext } from '@taskstream/task-sql'
import { assigned, toSchedule } from './columns.ts'
import type { TimerRow, Values } from './columns.ts'
import { overlaps } from './definition.ts'
import { fireSome, passOver } from './firing.ts'
import type { Firing } from './firing.ts'
import { externalIdOf } from './occurrence.ts'
import { submit, unfinished } from './submit.ts'
import { waiting } from './waiting.ts'
import { zonesDiffer } from './zones-differ.ts'
import type { ZonesDiffer } from './zones-differ.ts'

/** Which timer. */
export interface TimerKey {
  readonly scope: string
  readonly id: string
}

/** What came of an occurrence that was due. */
export interface FiredOccurrence {
  readonly outcome: 'submitted' | 'unfinished' | 'late'
  readonly timer: TimerKey
  /** The occurrence that was due. */
  readonly occurrence: Date
  readonly task?: PushedTask
  /** The timer will never fire again, because of this. */
  readonly ended?: string
}

/** What came of each occurrence, and the row as it is then. */
export interface FiredTimer {
  readonly occurrences: readonly FiredOccurrence[]
  readonly row: TimerRow
  /** The first of them is not what this node would have found. */
  readonly differs?: ZonesDiffer
}

/** Tasks of one statement have so many characters of input together, or there is one. */
const inputsLength = 1_000_000

/**
 * Submits the occurrences that are due, at most so many, and moves the timer on. Where an occurrence has to wait for the task before it, one is
 * looked at.
 */
export function* fireTimer(context: VerbContext, row: TimerRow, most: number): Verb<FiredTimer> {
  const schedule = toSchedule(row)
  const occurrence = row.occurrence!
  const timer = { scope: row.scope!, id: row.id! }
  const differs = zonesDiffer(schedule, occurrence)
  const difference = differs && { differs }
  const mayOverlap = overlaps[row.overlap!] === 'push'
  if (!mayOverlap && (yield* unfinished(context, row)) !== undefined) {
    const next = passOver(schedule, occurrence, row.now!)
    const occurrences = [{ timer, occurrence: new Date(occurrence), outcome: 'unfinished' as const, ...ending(next) }]
    return { occurrences, row: yield* moveOn(context, row, next, { skipped: row.skipped! + 1 }), ...difference }
  }
  // mutants: equivalent number, without an input all of them fit
  const fits = Math.floor(inputsLength / (row.input?.length ?? 1))
  // mutants: equivalent number, one is taken at least
  const firing = fireSome(schedule, occurrence, row.now!, mayOverlap ? Math.min(most, fits) : 1)
  const last = firing.submit.at(-1)
  if (last === undefined) {
    const occurrences = [{ timer, occurrence: new Date(occurrence), outcome: 'late' as const, ...ending(firing) }]
    return { occurrences, row: yield* moveOn(context, row, firing, {}), ...difference }
  }
  const tasks = yield* submit(
    context,
    row,
    firing.submit.map((each) => externalIdOf(timer.scope, timer.id, each)),
  )
  const occurrences = tasks.map((task, index) => ({
    timer,
    occurrence: new Date(firing.submit[index]!),
    outcome: 'submitted' as const,
    task,
    ...(index === tasks.length - 1 && ending(firing)),
  }))
  const moved = yield* moveOn(context, row, firing, {
    fired: row.fired! + tasks.length,
    last_occurrence: last,
    last_topic: row.topic,
    last_sequence: tasks.at(-1)!.sequence,
  })
  return { occurrences, row: moved, ...difference }
}

function ending({ ended }: Pick<Firing, 'ended'>): { readonly ended?: string } {
  return ended === undefined ? {} : { ended }
}

function* moveOn(
  { dialect }: VerbContext,
  row: TimerRow,
  firing: Omit<Firing, 'submit'>,
  counted: Partial<Pick<TimerRow, 'fired' | 'skipped' | 'last_occurrence' | 'last_topic' | 'last_sequence'>>,
): Verb<TimerRow> {
  const values = { ...waiting('running', firing), ...counted } satisfies Values
  yield sql`
    update ${dialect.tables.periodic}
       set ${assigned(dialect, values)}
     where scope = ${row.scope} and id = ${row.id}`
  return { ...row, ...values } as TimerRow
}
