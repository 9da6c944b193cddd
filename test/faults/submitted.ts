/** Jobs that several processes submit at the same time, and what is to become of each. */
import { defineJob, fixed, json } from 'taskstream'
import type { JobRef } from 'taskstream'
import type { Subject } from '../subject.ts'

const mostTries = 4

export const order = defineJob('order', {
  input: json<number>(),
  id: (number) => `order ${number}`,
  retry: fixed({ tries: mostTries, afterMs: 0 }),
})

/** On how many of its first tries a job fails. */
export function failuresOf(number: number): number {
  return [0, 1, 0, 2, 3, 0, 5][number % 7]!
}

/** How a job ends. */
export function endOf(number: number): { readonly id: string; readonly state: 'succeeded' | 'failed'; readonly tries: number } {
  const tries = failuresOf(number) + 1
  return { id: `order ${number}`, state: tries > mostTries ? 'failed' : 'succeeded', tries: Math.min(tries, mostTries) }
}

export interface SubmitterOrders {
  readonly location: Subject['location']
  readonly waves: readonly (readonly number[])[]
}

/** A job as a push or a submission said of it. */
export type Said = Pick<JobRef, 'sequence' | 'outcome'> & { readonly id: string }

export interface SubmitterReport {
  /** What pushes said in transactions that were committed, whether or not the submitter was told so. */
  readonly committed: readonly Said[]
  /** What the callers were answered. */
  readonly answers: readonly Said[]
  /** Transactions that were committed and not answered. */
  readonly unanswered: number
  /** Transactions that failed as if their commit had not been answered, and that had written nothing. */
  readonly unwritten: number
  /** Submissions that were refused, as transactions of others were in the way again and again. */
  readonly conflicts: number
}
