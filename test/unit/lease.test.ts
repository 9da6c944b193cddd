/** For how long an owner is certainly alive to others: to the millisecond, and told once. */
import { expect, test } from 'vitest'
import { Lease } from '../../packages/task-processor/src/liveness/lease.ts'
import { safeListener } from '../../packages/task-processor/src/core/listener.ts'

function leased(nowMs = 0): { lease: Lease; told: unknown[]; at(ms: number): boolean } {
  const told: unknown[] = []
  let now = nowMs
  const lease = new Lease({
    listener: safeListener({ onLeaseLost: (event) => void told.push(event) }),
    leaseMs: 100,
    clock: { monotonicMs: () => now },
    onLost: () => void told.push('lost'),
    onRegained: () => void told.push('regained'),
  })
  return { lease, told, at: (ms) => ((now = ms), lease.holds) }
}

test('a lease holds from the sending of the last beat for as long as it is, and is lost once', () => {
  expect([leased().at(100), leased().at(100.5)]).toEqual([true, false])
  const { lease, told, at } = leased()
  expect([at(0), at(100), told]).toEqual([true, true, []])
  lease.renew(60)
  expect([at(160), told]).toEqual([true, []])
  expect([at(161), at(200)]).toEqual([false, false])
  expect(told).toEqual([{ leaseMs: 100 }, 'lost'])
})

test('a beat that comes through late counts from its sending, and never less than one before', () => {
  const { lease, told, at } = leased(300)
  lease.renew(300)
  lease.renew(250)
  expect([at(400), at(401)]).toEqual([true, false])
  // Sent too long ago by now.
  lease.renew(300.5)
  expect(at(402)).toBe(false)
  expect(told).toHaveLength(2)
  lease.renew(302)
  expect([told.at(-1), at(402)]).toEqual(['regained', true])
  lease.renew(330)
  expect(told).toHaveLength(3)
  expect([at(431), told.length]).toEqual([false, 5])
})
