/** Runs an example as a shop in a process of its own: the test sends it orders and payments, and reads the mails that it prints. */
import type { placeOrder, pay } from '../../examples/app.ts'

interface Shop {
  readonly placeOrder: typeof placeOrder
  readonly pay: typeof pay
}

export type Wish = { readonly order: Parameters<typeof placeOrder>[0] } | { readonly pay: number }

const shop = (await import(process.argv[2]!)) as Shop

process.on('message', async (wish: Wish) => {
  if ('pay' in wish) await shop.pay(wish.pay)
  else await shop.placeOrder(wish.order)
  process.send!('done')
})
// A stopped shop has nothing else to do, and its process ends.
process.once('SIGTERM', () => process.disconnect())
process.send!('open')
