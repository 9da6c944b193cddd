/** Jobs of which only few may run at a time, and the moments at which a process that takes slots for them is killed. */
import { defineJob, json } from 'taskstream'
import type { Subject } from '../subject.ts'

export const total = 3
export const limited = defineJob('limited', { input: json<number>(), limits: { total } })

/** Every statement of the transaction that takes or renews slots. The process dies once the statement is answered; a commit, once it is sent. */
export const slotMoments = [
  'the limit is locked',
  'the limit is read',
  'the slots are read',
  'the slots are written',
  'the commit is sent',
  'jobs are polled',
] as const
export type SlotMoment = (typeof slotMoments)[number]

export interface SlotOrders {
  readonly location: Subject['location']
  /** Where the process dies, and how often it passes that moment before. Absent: the process lives. */
  readonly death?: { readonly moment: SlotMoment; readonly passes: number }
}

/** A job of which one runs at a time, and times after which a process that is stopped soon counts as dead. */
export const slept = defineJob('slept', { input: json<number>(), limits: { total: 1 } })
export const sleptTimes = {
  migrate: false,
  leaseMs: 3_000,
  heartbeatIntervalMs: 200,
  maintenanceIntervalMs: 200,
  listener: {},
} as const
