/** A node sends its heartbeats one by one, and judges its lease by them. */
import { TaskError } from '@taskstream/task-api'
import { eachTask } from '@taskstream/task-processor'
import { beforeEach, describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import type { AnyTransaction, Tasks } from '../subject.ts'
import { useNodeFixture } from './fixture.ts'
import type { Clocked } from './fixture.ts'

const aDay = 86_400_000

describe.skipIf(!canRun)('a heartbeat', () => {
  const fixture = useNodeFixture('beats')
  /** The reported events and the requested beats, in order. */
  let told: string[]
  /** At which time of the clock each beat was requested, in milliseconds since the node was made. */
  let sentMs: number[]
  beforeEach(async () => {
    told = []
    sentMs = []
  })

  /** Starts a node, and waits until its first maintenance is over. `beat` is called before each heartbeat. */
  const beating = async (beat: (count: number) => void | Promise<void>, leaseMs: number = aDay): Promise<Clocked> => {
    let count = 0
    const maintained = Promise.withResolvers<void>()
    const clocked = fixture.clocked(
      {
        heartbeatIntervalMs: 1_000,
        leaseMs,
        maintenanceIntervalMs: aDay,
        listener: {
          onError: ({ activity }) => void told.push(`${activity} failed`),
          onRecovered: ({ activity }) => void told.push(`${activity} recovered`),
          onLeaseLost: () => void told.push('lease lost'),
        },
      },
      (own) => ({
        ...own,
        heartbeat: (async (transaction: AnyTransaction) => {
          told.push('beat')
          sentMs.push(clocked.clock.monotonicMs())
          await beat(++count)
          await own.heartbeat(transaction)
        }) as unknown as Tasks['heartbeat'],
        register: ((...args: Parameters<Tasks['register']>) => (
          told.push('register'),
          own.register(...args)
        )) as Tasks['register'],
        purgeOwners: ((...args: Parameters<Tasks['purgeOwners']>) => (
          maintained.resolve(),
          own.purgeOwners(...args)
        )) as Tasks['purgeOwners'],
      }),
    )
    await clocked.node.start()
    await maintained.promise
    expect(told).toEqual(['register'])
    told = []
    return clocked
  }

  test('that hangs is joined by no other, and the lease runs out meanwhile', async () => {
    const gate = Promise.withResolvers<void>()
    const { clock, node } = await beating((count) => (count === 1 ? gate.promise : undefined), 10_000)
    await using _ = node
    clock.advance(1_000)
    await expect.poll(() => told).toEqual(['beat'])
    for (let seconds = 2; seconds <= 10; seconds++) clock.advance(1_000)
    expect(told).toEqual(['beat'])
    clock.advance(1_000)
    expect(told).toEqual(['beat', 'lease lost'])
    // The heartbeat goes through only now, and was sent longer ago than the lease.
    clock.advance(500)
    gate.resolve()
    // A heartbeat that had waited for the connection would come before this answer.
    await fixture.states()
    expect(told).toEqual(['beat', 'lease lost'])
    await expect.poll(() => (clock.advance(500), told.length)).toBeGreaterThan(2)
    expect(told.slice(0, 3)).toEqual(['beat', 'lease lost', 'beat'])
  })

  test('that fails is sent again at once, and then not before its time', async () => {
    const { clock, node, pass } = await beating((count) => {
      if (count <= 4) throw new TaskError('DATABASE_UNAVAILABLE', 'gone')
    })
    await using _ = node
    clock.advance(1_000)
    await expect.poll(() => told).toEqual(['beat', 'heartbeat failed', 'beat'])
    // A heartbeat must end before the next may begin.
    await expect.poll(() => (pass(500), sentMs.length)).toBe(5)
    await expect.poll(() => told.at(-1)).toBe('heartbeat recovered')
    expect(told).toEqual(['beat', 'heartbeat failed', 'beat', 'beat', 'beat', 'beat', 'heartbeat recovered'])
    expect(sentMs).toEqual([1_000, 1_000, 2_000, 2_000, 3_000])
  })

  test('that finds its owner removed as dead registers it anew, and the node goes on', async () => {
    const { clock, tasks, node } = await beating(() => {})
    await using _ = node
    await fixture.commit((transaction) => tasks.unregister(transaction))
    await expect.poll(() => (clock.advance(1_000), told)).toContain('register')
    expect(told.slice(0, 2)).toEqual(['beat', 'register'])
    node.process(fixture.topic, { idleMs: aDay, handler: eachTask(() => {}) })
    await node.submit(fixture.topic, 'a')
    await expect.poll(fixture.states).toEqual({ succeeded: 1 })
    expect(told).not.toContain('heartbeat failed')
  })
})
