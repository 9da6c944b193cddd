// app/orders/route.js
import { placeOrder } from './shop.mjs'

export async function POST(request) {
  const { customer } = await request.json()
  return Response.json({ id: await placeOrder(customer) }, { status: 201 })
}
