/** What follows from what customers do. */
import type { ShopStream } from './database.ts'
import { cleanup, email, invoice, reminder } from './jobs.ts'
import type { Mailer } from './mailer.ts'

const aDay = 86_400_000
const retainMs = { succeeded: 7 * aDay, filtered: 30 * aDay }

interface World {
  readonly mailer: Mailer
  readonly reminderAfterMs: number
}

export function handleJobs(stream: ShopStream, { mailer, reminderAfterMs }: World): void {
  stream.handle(
    invoice,
    ({ input: order, commit }) =>
      commit(async (tx) => {
        await tx.insertInto('invoices').values({ order_id: order.id, total: order.total }).execute()
        await stream.push(tx, email, { order: order.id, to: order.customer, about: 'invoice' })
        // The row is locked, so that a payment comes before this or after it: after it, the payment finds the reminder.
        const { paid } = await tx
          .updateTable('orders')
          .set((row) => ({ paid: row.ref('paid') }))
          .where('id', '=', order.id)
          .returning('paid')
          .executeTakeFirstOrThrow()
        if (!paid) await stream.push(tx, reminder, order, { delayMs: reminderAfterMs })
      }),
    { retainMs },
  )

  stream.handle(
    email,
    async ({ id, input, commit, signal }) => {
      // The process may die after this, and then it happens twice: the mail service knows the mail again by its id.
      await mailer.send({ id, to: input.to, subject: `Order ${input.order}: ${input.about}` }, { signal })
      return commit(async (tx) => {
        await tx.insertInto('mails').values({ order_id: input.order, about: input.about, recipient: input.to }).execute()
      })
    },
    { retainMs },
  )

  stream.handle(reminder, ({ input: order, next }) => next(email, { order: order.id, to: order.customer, about: 'reminder' }), {
    retainMs,
  })

  stream.handle(
    cleanup,
    ({ commit }) => {
      const before = Date.now() - 30 * aDay
      return commit(async (tx) => void (await tx.deleteFrom('carts').where('touched_at', '<', before).execute()))
    },
    { retainMs },
  )
}
