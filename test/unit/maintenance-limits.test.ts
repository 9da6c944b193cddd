/** What maintenance does for the limits of topics, and for handlers whose tasks were taken away. */
import { describe, expect, test } from 'vitest'
import type { MaintenanceOptions } from '../../packages/task-processor/src/worker/maintenance.ts'
import type { TakenAway } from '../../packages/task-processor/src/worker/taken-away.ts'
import { begun, verbs } from './keeping.ts'

describe('the limits of topics', () => {
  const managed = (topics: readonly string[], told: unknown[]): Partial<MaintenanceOptions<object>> => ({
    limited: () =>
      topics.map((topic) => ({
        topic,
        limit: (limits) => void told.push([topic, limits]),
        giveSlots: async () => void told.push([topic, 'gives slots']),
      })),
  })

  test('are told to each, also that there are none any more; slots of the dead are freed, and then each gives what it does not use', async () => {
    const told: unknown[] = []
    const { asked } = await begun(managed(['mail', 'post'], told), (kept) => {
      kept.answer = (verb) =>
        verb === 'limits' ? new Map([['mail', { total: 2 }]]) : void (verb === 'freeSlots' && told.push(verb))
    })
    expect(asked).toContainEqual(['freeSlots', 10_000])
    expect(told).toEqual([
      ['mail', { total: 2 }],
      ['post', undefined],
      'freeSlots',
      ['mail', 'gives slots'],
      ['post', 'gives slots'],
    ])
  })

  test('free nobody’s slots where there are none', async () => {
    const told: unknown[] = []
    const kept = await begun(managed(['mail'], told))
    expect(verbs(kept)).not.toContain('freeSlots')
    expect(told).toEqual([
      ['mail', undefined],
      ['mail', 'gives slots'],
    ])
  })

  test('come before what may take long: forgetting, and statistics', async () => {
    const kept = await begun({ refreshIntervalMs: 1_000 }, (one) => {
      one.answer = (verb) => (verb === 'limits' ? new Map([['mail', { total: 2 }]]) : undefined)
    })
    expect(verbs(kept)).toEqual(['expire', 'freeSlots', 'purgeOwners', 'purgeAttempts', 'purgeActions', 'refresh'])
  })
})

test('tasks that were taken away are looked for each time, before others are expired', async () => {
  const order: string[] = []
  const takenAway = { look: async () => void order.push('look') } as unknown as TakenAway<object>
  const kept = await begun({ takenAway }, (one) => {
    one.answer = (verb) => void (verb === 'expire' && order.push(verb))
  })
  kept.clock.pass(60_000)
  await kept.settled()
  expect(order).toEqual(['look', 'expire', 'look', 'expire'])
})
