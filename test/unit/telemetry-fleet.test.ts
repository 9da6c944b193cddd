/** The numbers of the whole database are read once at a time, and a scrape does not wait for a database that does not answer. */
import type { TransactionSource } from '@taskstream/task-api'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Limits } from '../../packages/task-telemetry/src/core/limits.ts'
import { fleetMetrics } from '../../packages/task-telemetry/src/metrics/definitions.ts'
import { Fleet } from '../../packages/task-telemetry/src/metrics/fleet.ts'
import type { FleetOptions } from '../../packages/task-telemetry/src/metrics/fleet.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})

interface Made {
  readonly fleet: Fleet<object>
  /** What the transactions that were begun wait for. */
  readonly begun: PromiseWithResolvers<void>[]
  readonly limits: number[]
  /** Whether a scrape is told of the database, once so much time has passed. */
  isUp(ms: number): Promise<boolean>
}

function make(): Made {
  const begun: PromiseWithResolvers<void>[] = []
  const limits: number[] = []
  const transactions: TransactionSource<object> = async (work) => {
    const gate = Promise.withResolvers<void>()
    begun.push(gate)
    await gate.promise
    return work({})
  }
  const tasks = {
    overview: async () => [],
    activations: async () => new Map(),
    nodes: async () => [],
    errors: async () => [],
    timers: { list: async () => [], now: async () => 0 },
    limitStatements: (_: object, ms: number) => void limits.push(ms),
  } as unknown as FleetOptions<object>['tasks']
  const fleet = new Fleet<object>({ tasks, transactions }, new Limits())
  const isUp = async (ms: number): Promise<boolean> => {
    const told = fleet.observations()
    await vi.advanceTimersByTimeAsync(ms)
    return (await told).some(({ definition, value }) => definition === fleetMetrics.fleetUp && value === 1)
  }
  return { fleet, begun, limits, isUp }
}

test('are told as not read after three seconds, and read by no second transaction meanwhile', async () => {
  const { begun, limits, isUp } = make()
  for (let scrape = 0; scrape < 5; scrape++) {
    expect(await isUp(3_000)).toBe(false)
    await vi.advanceTimersByTimeAsync(15_000)
  }
  expect(begun).toHaveLength(1)
  begun[0]!.resolve()
  await vi.advanceTimersByTimeAsync(0)
  expect(limits).toEqual([10_000])
})

test('are told by the next scrape if they came too late for this one, and are read anew after ten seconds', async () => {
  const { begun, isUp } = make()
  expect(await isUp(3_000)).toBe(false)
  begun[0]!.resolve()
  await vi.advanceTimersByTimeAsync(30_000)
  expect(await isUp(0)).toBe(true)
  expect(begun).toHaveLength(1)
  expect(await isUp(3_000)).toBe(false)
  expect(begun).toHaveLength(2)
  begun[1]!.resolve()
  await vi.advanceTimersByTimeAsync(0)
  expect([await isUp(0), await isUp(0)]).toEqual([true, true])
  await vi.advanceTimersByTimeAsync(9_000)
  expect(await isUp(0)).toBe(true)
  expect(begun).toHaveLength(2)
})
