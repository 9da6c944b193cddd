/** Orders for a worker of the kill tests. */
import type { Subject } from '../subject.ts'

/** Every moment between two statements of a worker. */
export const moments = [
  'before the poll begins',
  'the poll has begun',
  'tasks are claimed',
  'the poll is committed',
  'the completion has begun',
  'tasks are locked',
  'the effect is written',
  'tasks are completed',
  'the completion is committed',
] as const
export type Moment = (typeof moments)[number]

export interface Orders {
  readonly location: Subject['location']
  /** Where the worker dies, and how many rounds it makes before. Absent: the worker lives. */
  readonly death?: { readonly moment: Moment; readonly passes: number }
}
