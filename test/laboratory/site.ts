import type { Subject } from '../subject.ts'
import type { Crew } from './crew.ts'
import type { Fault } from './fault.ts'

/** A database, and what can be done to it. */
export interface Site extends AsyncDisposable {
  /** The laboratory's own way to the database, which no fault of a process or its network meets. */
  readonly subject: Subject
  /** Where processes find the database. */
  readonly location: Subject['location']
  readonly faults: readonly Fault[]
  /** When it really was, at an instant that the server has told. Absent if its clock is right. */
  realOf?(toldMs: number): number
  /** Is told of the processes before the first fault. */
  meet(crew: Crew): void
  /** How many connections processes of the run have. */
  connections(): Promise<number>
  /** What the server tells of its transactions and connections. */
  describe?(): Promise<unknown>
}
