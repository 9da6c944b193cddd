/** The moments at which a process that runs a TaskNode is killed. */
import type { Subject } from '../subject.ts'

/** Every moment between two steps of a node's work, in each mode. Each topic has the name of its mode. */
export const deaths = [
  'leased: tasks are claimed',
  'leased: the poll is committed',
  'leased: the completion has begun',
  'leased: tasks are locked',
  'leased: the effect is written',
  'leased: tasks are completed',
  'leased: the completion is committed',
  'transactional: tasks are locked',
  'transactional: the handler has begun',
  'transactional: the effect is written',
  'transactional: tasks are completed',
  'transactional: the completion is committed',
] as const
export type Death = (typeof deaths)[number]

/** After these deaths the dead owner still holds its tasks, so another owner has to expire them. */
export const holding: readonly Death[] = deaths.slice(1, 6)

export interface DoomedOrders {
  readonly location: Subject['location']
  readonly leaseMs: number
  /** Where the process dies, and how often it passes that moment before. Absent: the process lives. */
  readonly death?: { readonly moment: Death; readonly passes: number }
}
