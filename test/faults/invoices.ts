/** Invoices that go on with a mail, and the moments at which a process that handles them is killed. */
import { defineJob, json } from 'taskstream'
import type { Subject } from '../subject.ts'

export const mail = defineJob('mail', { input: json<string>() })
export const invoice = defineJob('invoice', { input: json<string>(), next: [mail] })

/** Every statement of the transactions that complete these jobs. The process dies once the statement is answered; a commit, once it is sent. */
export const steps = [
  'invoice: the job is held',
  'invoice: the effect is written',
  'invoice: the mail is pushed',
  'invoice: the job is completed',
  'invoice: the commit is sent',
  'mail: the job is held',
  'mail: the effect is written',
  'mail: the job is completed',
  'mail: the commit is sent',
] as const
export type Step = (typeof steps)[number]

/** Whether the transaction completes one job or several. */
export type Company = 'alone' | 'together'
export type JobMoment = `${Company}, ${Step}`

/** Every step comes once before any comes twice, and both companies come in turn. */
export const jobMoments: readonly JobMoment[] = [0, 1].flatMap((round) =>
  steps.map((step, index): JobMoment => `${(round + index) % 2 === 0 ? 'together' : 'alone'}, ${step}`),
)

export interface InvoiceOrders {
  readonly location: Subject['location']
  /** Where the process dies, and how often it passes that moment before. Absent: the process lives. */
  readonly death?: { readonly moment: JobMoment; readonly passes: number }
}
