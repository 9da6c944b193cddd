import { sql } from 'kysely'
import { defineJob, exponential, fixed, json, settled } from 'taskstream'
import { openDatabase } from './database.ts'

interface Trip {
  readonly trip: number
  readonly days: number
}

const step = { input: json<Trip>(), id: ({ trip }: Trip) => `trip ${trip}`, timeoutMs: 10_000 }
const retry = fixed({ tries: 2, afterMs: 20 })
const bookFlight = defineJob('book-flight', { ...step, retry, output: json<string>() })
const bookHotel = defineJob('book-hotel', { ...step, retry, output: json<string>(), needs: { flight: bookFlight } })
const pay = defineJob('pay', { ...step, retry, output: json<string>(), needs: { hotel: bookHotel } })

// What has to be undone is tried until it is: for days, if the other side is away.
const patiently = exponential({ tries: 1_000, firstMs: 20, maxMs: 600_000 })
const cancelFlight = defineJob('cancel-flight', { ...step, retry: patiently })
const cancelHotel = defineJob('cancel-hotel', { ...step, retry: patiently })
const refund = defineJob('refund', { ...step, retry: patiently })

const outcome = defineJob('outcome', {
  ...step,
  needs: { flight: settled(bookFlight), hotel: settled(bookHotel), payment: settled(pay) },
  output: json<'booked' | 'undone'>(),
})

interface Tables {
  trips: { id: number; state: string }
}
const { db, newStream, close } = openDatabase<Tables>()
const stream = newStream({ listener: {} })

const book = (trip: Trip): Promise<unknown> =>
  stream.transaction(async (tx) => {
    await tx.insertInto('trips').values({ id: trip.trip, state: 'asked' }).execute()
    const flight = await stream.push(tx, bookFlight, trip)
    const hotel = await stream.push(tx, bookHotel, trip, { needs: { flight } })
    const payment = await stream.push(tx, pay, trip, { needs: { hotel } })
    await stream.push(tx, outcome, trip, { needs: { flight, hotel, payment } })
  })

/** Stands for services of others. They know a booking again by its id, and take the cancellation of what they never had. */
const bookings = new Set<string>()
let away = 1
stream.handle(bookFlight, ({ id }) => booked(`flight of ${id}`))
stream.handle(bookHotel, ({ id, input }) => {
  if (input.days > 30) throw new Error('No room for so long')
  return booked(`hotel of ${id}`)
})
stream.handle(pay, ({ id, input }) => {
  // The money is taken, and the answer is lost, each time.
  booked(`payment of ${id}`)
  if (input.days > 20) throw new Error('No answer')
  return `payment of ${id}`
})
stream.handle(cancelFlight, ({ id }) => {
  if (away-- > 0) throw new Error('The airline is away')
  bookings.delete(`flight of ${id}`)
})
stream.handle(cancelHotel, ({ id }) => void bookings.delete(`hotel of ${id}`))
stream.handle(refund, ({ id }) => void bookings.delete(`payment of ${id}`))

function booked(what: string): string {
  bookings.add(what)
  return what
}

stream.handle(outcome, ({ input, needs: { flight, hotel, payment }, commit }) =>
  commit(async (tx) => {
    const state = payment.ok ? 'booked' : 'undone'
    await tx.updateTable('trips').set({ state }).where('id', '=', input.trip).execute()
    if (payment.ok) return state
    // A step that failed may have taken effect all the same. Only what was never tried needs nothing.
    if (payment.reason !== 'unreachable') await stream.push(tx, refund, input)
    if (hotel.ok || hotel.reason !== 'unreachable') await stream.push(tx, cancelHotel, input)
    if (flight.ok || flight.reason !== 'unreachable') await stream.push(tx, cancelFlight, input)
    return state
  }),
)

await sql`create table trips (id integer primary key, state text not null)`.execute(db)
await stream.start()
await book({ trip: 1, days: 7 })
await book({ trip: 2, days: 40 })
await book({ trip: 3, days: 25 })
for (const trip of [1, 2, 3]) console.log(`trip ${trip}: ${await stream.wait(outcome, `trip ${trip}`)}`)
for (const [job, trip] of [
  [cancelFlight, 2],
  [cancelHotel, 2],
  [cancelFlight, 3],
  [cancelHotel, 3],
  [refund, 3],
] as const)
  await stream.wait(job, `trip ${trip}`)
console.log([...bookings].toSorted().join(', '))
await stream.stop()
await close()
