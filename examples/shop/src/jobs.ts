/** What the shop does later. These are values without a connection: the API pushes them, and the worker handles them. */
import { defineJob, exponential, json } from 'taskstream'

export interface Order {
  readonly id: string
  readonly customer: string
  readonly total: number
}

export interface Mail {
  readonly order: string
  readonly to: string
  readonly about: 'invoice' | 'reminder' | 'receipt'
}

/** One for each order. Those of a customer are written one after the other, in the order of the orders. */
export const invoice = defineJob('invoice', {
  input: json<Order>(),
  id: ({ id }) => `order ${id}`,
  key: ({ customer }) => customer,
  ordered: true,
})

/** The mail service takes five at a time from all our processes together. */
export const email = defineJob('email', {
  input: json<Mail>(),
  id: ({ order, about }) => `${about} ${order}`,
  retry: exponential({ tries: 10, firstMs: 5_000, maxMs: 3_600_000 }),
  timeoutMs: 10_000,
  limits: { total: 5 },
})

export const reminder = defineJob('reminder', {
  input: json<Order>(),
  id: ({ id }) => `order ${id}`,
  next: [email],
})

export const cleanup = defineJob('cleanup', { timer: '03:00 Europe/Oslo' })

export const allJobs = [invoice, email, reminder, cleanup] as const
