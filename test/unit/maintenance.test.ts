/** What a node does now and then: when, what it asks for, and what keeps it from nothing else. */
import { TaskError } from '@taskstream/task-api'
import type { Expiry } from '@taskstream/task-api'
import { describe, expect, test } from 'vitest'
import { tasksOf } from './answering.ts'
import { aDay, begun, gone, keep, none, verbs } from './keeping.ts'

const purgeAttempts = ['purgeAttempts', { olderThanMs: 5 * aDay, limit: 1_000 }]
const purgeActions = ['purgeActions', { olderThanMs: 9 * aDay, limit: 1_000 }]
const expiry = ['expire', { olderThanMs: 10_000, then: 'ready', limit: 1_000 }]

describe('maintenance', () => {
  test('comes with the start and then at its interval, until it is stopped', async () => {
    const kept = await begun()
    expect(kept.asked).toEqual([expiry, ['purgeOwners', aDay], purgeAttempts, purgeActions])
    for (const _ of [1, 2]) {
      kept.asked.splice(0)
      kept.clock.pass(59_999)
      await kept.settled()
      expect(kept.asked).toEqual([])
      kept.clock.pass(1)
      await kept.settled()
      expect(kept.asked).toEqual([expiry])
    }
    await kept.maintenance.stop()
    kept.asked.splice(0)
    kept.clock.pass(aDay)
    await kept.settled()
    expect(kept.asked).toEqual([])
    kept.maintenance.start()
    await kept.settled()
    expect(kept.asked).toEqual([expiry, ['purgeOwners', aDay], purgeAttempts, purgeActions])
  })

  test('is one at a time, and a stop waits for what is under way, of which no more is begun', async () => {
    const gate = Promise.withResolvers<void>()
    const kept = await begun({}, (one) => {
      one.answer = () => gate.promise.then(() => ({ ...none, ready: 1_000 }))
    })
    kept.clock.pass(180_000)
    await kept.settled()
    expect(verbs(kept)).toEqual(['expire'])
    let stopped = false
    void kept.maintenance.stop().then(() => (stopped = true))
    await kept.settled()
    expect(stopped).toBe(false)
    kept.answer = () => undefined
    gate.resolve()
    await kept.settled()
    expect([stopped, verbs(kept)]).toEqual([true, ['expire', 'purgeOwners']])
  })

  test('that never began is stopped', async () => {
    await keep().maintenance.stop()
  })

  test('is told of once when it fails, and when it works again; meanwhile it is tried at its interval', async () => {
    const kept = await begun({}, (one) => {
      one.answer = () => {
        throw gone
      }
    })
    kept.clock.pass(60_000)
    await kept.settled()
    expect([verbs(kept), kept.told]).toEqual([['expire', 'expire'], [['maintenance', gone]]])
    kept.answer = () => undefined
    kept.clock.pass(60_000)
    await kept.settled()
    expect(kept.told.slice(1)).toEqual([['maintenance', 'works']])
    expect(verbs(kept).slice(2)).toEqual(['expire', 'purgeOwners', 'purgeAttempts', 'purgeActions'])
  })
})

describe('the tasks of dead owners', () => {
  test.each([
    { ...none, expired: 1_000 },
    { ...none, ready: 500, failed: 500 },
    { ...none, expired: 1, ready: 998, failed: 1 },
  ])('are taken a thousand at a time until there are fewer: %o', async (first) => {
    const answers: Expiry[] = [
      { ...first, topics: ['mail', 'post'] },
      { ...none, ready: 999, topics: ['mail'] },
    ]
    const kept = await begun({ expireTo: 'expired' }, (one) => {
      one.answer = (verb) => (verb === 'expire' ? answers.shift() : undefined)
    })
    expect(verbs(kept)).toEqual(['expire', 'expire', 'purgeOwners', 'purgeAttempts', 'purgeActions'])
    expect(kept.asked[0]).toEqual(['expire', { olderThanMs: 10_000, then: 'expired', limit: 1_000 }])
    expect(kept.ready).toEqual([['mail', 'post'], ['mail']])
  })

  test('wake nobody where there are none, and leave other work of the process its turn', async () => {
    expect((await begun()).ready).toEqual([])
    let expiries = 0
    let others = 0
    await begun({}, (one) => {
      one.answer = (verb) => {
        if (verb !== 'expire') return undefined
        if (expiries++ === 0) setImmediate(() => (others = expiries))
        return expiries < 9 ? { ...none, ready: 1_000 } : undefined
      }
    })
    expect([expiries, others]).toEqual([9, expect.toSatisfy((count: number) => count < 3)])
  })
})

describe('what is old', () => {
  const retained = (): { topic: string; retainMs: { succeeded?: number; failed?: number } }[] => [
    { topic: 'mail', retainMs: { succeeded: 5, failed: 7 } },
    { topic: 'post', retainMs: { succeeded: 9 } },
  ]

  test('is purged, each topic and each state by its own time, a thousand at a time until there are fewer', async () => {
    const purged = [1_000, 1_001, 999, 0, 3]
    const kept = await begun({ retained: retained as never }, (one) => {
      one.answer = (verb) => (verb === 'purge' ? purged.shift() : undefined)
    })
    const mail = ['purge', 'mail', { states: ['succeeded'], olderThanMs: 5, limit: 1_000 }]
    expect(kept.asked).toEqual([
      expiry,
      mail,
      mail,
      mail,
      ['purge', 'mail', { states: ['failed'], olderThanMs: 7, limit: 1_000 }],
      ['purge', 'post', { states: ['succeeded'], olderThanMs: 9, limit: 1_000 }],
      ['purgeOwners', aDay],
      purgeAttempts,
      purgeActions,
    ])
  })

  test('of a topic that is not known keeps no other from being purged; other errors do', async () => {
    for (const [error, purges] of [
      [new TaskError('TOPIC_UNKNOWN', 'what?'), ['mail', 'post']],
      [gone, ['mail']],
    ] as const) {
      const kept = await begun({ retained: retained as never }, (one) => {
        one.answer = (verb, [topic]) => {
          if (verb === 'purge' && topic === 'mail') throw error
        }
      })
      expect(kept.asked.filter(([verb]) => verb === 'purge').map(([, topic]) => topic)).toEqual(purges)
      expect(kept.told).toEqual(error === gone ? [['maintenance', gone]] : [])
    }
  })

  test('is purged no further once it is stopped, and leaves other work of the process its turn', async () => {
    let purges = 0
    let others = 0
    const kept = keep({ retained: retained as never })
    let stopped: Promise<void> | undefined
    kept.answer = (verb) => {
      if (verb !== 'purge') return undefined
      if (purges++ === 0) setImmediate(() => (others = purges))
      if (purges === 5) stopped = kept.maintenance.stop()
      return 1_000
    }
    kept.maintenance.start()
    await kept.settled()
    await stopped
    expect([purges, others]).toEqual([5, expect.toSatisfy((count: number) => count < 3)])
  })
})

describe('attempts', () => {
  test('are purged by their age, a thousand at a time until there are fewer, or until the node is stopped', async () => {
    for (const leftAtStop of [undefined, 1]) {
      const purged = [1_000, 1_000, 999]
      const kept = await begun({}, (one) => {
        one.answer = (verb) => {
          if (verb !== 'purgeAttempts') return undefined
          const count = purged.shift()
          if (purged.length === leftAtStop) void one.maintenance.stop()
          return count
        }
      })
      expect(kept.asked.slice(2)).toEqual([
        ...Array.from({ length: leftAtStop ? 2 : 3 }, () => purgeAttempts),
        ...(leftAtStop ? [] : [purgeActions]),
      ])
    }
  })
})

describe('silent owners', () => {
  test.each([
    [10_000, aDay],
    [aDay / 2, aDay],
    [aDay, 2 * aDay],
  ])('are forgotten after a day, or two leases: %d', async (leaseMs, silentMs) => {
    expect((await begun({ leaseMs })).asked).toContainEqual(['purgeOwners', silentMs])
  })

  test('are looked for every ten minutes, and again where that has failed', async () => {
    const kept = await begun({ intervalMs: 100_000 }, (one) => {
      one.answer = (verb) => {
        if (verb === 'purgeOwners') throw gone
      }
    })
    kept.answer = () => undefined
    kept.clock.pass(100_000)
    await kept.settled()
    expect(verbs(kept)).toEqual(['expire', 'purgeOwners', 'expire', 'purgeOwners', 'purgeAttempts', 'purgeActions'])
    kept.asked.splice(0)
    for (let count = 0; count < 12; count++) {
      kept.clock.pass(100_000)
      await kept.settled()
    }
    expect(verbs(kept).flatMap((verb, index) => (verb === 'purgeOwners' ? [index] : []))).toEqual([6, 15])
  })
})

describe('what the planner knows', () => {
  test('is renewed at its interval, for which there is an hour, and not otherwise', async () => {
    const kept = await begun({ intervalMs: 100_000, refreshIntervalMs: 300_000 })
    expect(verbs(kept)).toEqual(['expire', 'purgeOwners', 'purgeAttempts', 'purgeActions', 'refresh'])
    expect(kept.timeouts.filter((ms) => ms !== undefined)).toEqual([3_600_000])
    kept.asked.splice(0)
    for (let count = 0; count < 6; count++) {
      kept.clock.pass(100_000)
      await kept.settled()
    }
    expect(verbs(kept).join(' ')).toBe(
      'expire expire expire refresh expire expire expire purgeOwners purgeAttempts purgeActions refresh',
    )
    const never = await begun({ intervalMs: 100_000 })
    never.clock.pass(100_000)
    await never.settled()
    expect(verbs(never)).not.toContain('refresh')
  })
})

describe('what batches have left', () => {
  test('is handed back before anything else', async () => {
    const kept = await begun({}, ({ leftovers }) => leftovers.add('mail', tasksOf('a')))
    expect(verbs(kept)).toEqual(['handBack', 'expire', 'purgeOwners', 'purgeAttempts', 'purgeActions'])
  })
})

describe('a part of it that fails', () => {
  test('keeps no other from its work, and is told until it works again', async () => {
    const denied = new TaskError('PERMISSION_DENIED', 'no')
    const kept = await begun({ intervalMs: 1_000, refreshIntervalMs: 1_000 }, (one) => {
      one.answer = (verb) => {
        if (verb === 'purgeOwners') throw denied
      }
    })
    expect(verbs(kept)).toEqual(['expire', 'purgeOwners', 'refresh'])
    kept.asked.splice(0)
    kept.answer = () => undefined
    for (let count = 0; count < 59; count++) {
      kept.clock.pass(1_000)
      await kept.settled()
    }
    expect(verbs(kept)).not.toContain('purgeOwners')
    expect(kept.told).toEqual([['maintenance', denied]])
    kept.clock.pass(1_000)
    await kept.settled()
    expect(verbs(kept)).toContain('purgeOwners')
    expect(kept.told).toEqual([
      ['maintenance', denied],
      ['maintenance', 'works'],
    ])
  })
})
