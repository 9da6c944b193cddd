/** Checks the report of a stop against the ledger. */
import type { HeldTask } from '@taskstream/task-api'
import type { StopOptions, StopReport } from '@taskstream/task-processor'
import { name } from './node-ledger.ts'
import type { Hold, Ledger, Party } from './node-ledger.ts'

/** A stop that has been asked for. */
export interface Stopping {
  readonly party: Party
  /** Whether the whole node stops. */
  readonly whole: boolean
  readonly asked: number
  endMs: number
  /** The tasks that its node knew it held. */
  readonly held: readonly Hold[]
  readonly troubles: number
}

/** Notes that a stop was asked for. The node does not poll the topic any more. */
export function stopping(
  ledger: Ledger,
  party: Party,
  { graceMs, abortMs, leaveMs }: Required<StopOptions>,
  whole: boolean,
): Stopping {
  const atMs = ledger.clock.monotonicMs()
  party.polls = party.isOpen = false
  party.hasStopped = true
  party.changes++
  party.stops.push({ atMs, graceMs, abortMs })
  const held = [...ledger.open].filter((hold) => hold.party === party && hold.told && hold.toldEnd === undefined)
  return { party, whole, asked: ledger.next(), endMs: atMs + graceMs + abortMs + leaveMs, held, troubles: party.troubles }
}

/** Checks the report of a stop that has ended. @param isWell whether neither faults nor another node could disturb the stop */
export function checkReport(
  ledger: Ledger,
  { party, asked, held, troubles }: Stopping,
  report: StopReport,
  isWell: boolean,
): void {
  const reported = Object.entries(report).flatMap(([word, tasks]) =>
    (tasks as readonly HeldTask[]).map((task) => ({ word, task })),
  )
  const sequences = reported.map(({ task }) => task.sequence)
  ledger.check(new Set(sequences).size === sequences.length, () => `a stop reports a task twice: ${sequences}`)
  for (const { task } of held)
    ledger.check(sequences.includes(task.sequence), () => `${name(task)} was held, and is not in the report of the stop`)
  for (const { word, task } of reported) {
    const hold = ledger.holds.get(task)
    const isOurs = hold?.party === party && hold.told && (hold.toldEnd ?? asked) >= asked
    ledger.check(isOurs, () => `${name(task)} is reported, and was not held`)
    // A task counts as abandoned if the database could not be asked about it.
    const words = [...(hold ? wordsFor(ledger, hold) : []), ...(isWell && party.troubles === troubles ? [] : ['abandoned'])]
    ledger.check(
      words.some((one) => one === word),
      () => `${name(task)} is reported as ${word}, and is ${words.join(' or ')}`,
    )
  }
  if (!isWell || party.troubles > troubles) return
  for (const { task } of ledger.openOf(party).filter(({ told }) => told))
    ledger.check(false, () => `${name(task)} is held by a topic that has stopped`)
}

/** Returns what a report may say of a task, judged by what was committed. */
function wordsFor(ledger: Ledger, hold: Hold): readonly (keyof StopReport)[] {
  if (hold.end) {
    const word = hold.end === 'completed' ? 'finished' : 'returned'
    if (hold.answered || !ledger.rows.isTakenAgain(hold.task)) return [word]
    // After a commit that went unanswered, the row tells the end only until the task is polled again. It tells that its owner has ended it meanwhile.
    return ledger.rows.isEndedBy(hold.task, hold.party.owner) ? [word, 'abandoned', 'finished'] : [word, 'abandoned']
  }
  if (ledger.isOpen(hold)) return ['abandoned']
  // It was taken from an owner that counted as dead, with no try left. It has ended, whoever ended it.
  if (!hold.inTransaction && ledger.rows.hasFailed(hold.task)) return ['finished', 'abandoned', 'returned']
  // Its transaction was rolled back. Or it was taken from an owner that counted as dead, and is ready or somebody else's.
  return hold.inTransaction ? ['returned'] : ['abandoned', 'returned']
}
