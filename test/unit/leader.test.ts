/** When a node leads, when it steps down, and when another one takes over, by the clock. */
import type { TaskError } from '@taskstream/task-api'
import { Leader } from '@taskstream/task-coordination'
import type { LeaderOptions } from '@taskstream/task-coordination'
import { describe, expect, test } from 'vitest'
import { memoryGroup } from '../coordination/memory-group.ts'

/** A heartbeat each 100 ms, and others take over within 1 000 ms. */
describe('a leader', () => {
  test('leads as long as its heartbeats come through', async () => {
    const group = memoryGroup()
    const [a, b] = [group.node('a'), group.node('b')]
    await a.leader.start()
    await b.leader.start()
    await group.pass(60_000)
    expect([a.leader.term, b.leader.term]).toEqual([1, undefined])
  })

  test('that cannot reach the database steps down before another one takes over, which is within the interval', async () => {
    const group = memoryGroup()
    const [a, b] = [group.node('a'), group.node('b')]
    await a.leader.start()
    await b.leader.start()
    await group.pass(5_000)
    const { signal } = a.leader
    a.isAway = true
    const at = { down: 0, up: 0 }
    for (let ms = 50; ms <= 1_000; ms += 50) {
      await group.pass(50)
      if (a.leader.term === undefined) at.down ||= ms
      if (b.leader.term !== undefined) at.up ||= ms
      expect([a.leader.term, b.leader.term].filter((term) => term !== undefined).length).toBeLessThan(2)
    }
    expect(at.down).toBeGreaterThanOrEqual(600)
    expect(at.up).toBeGreaterThan(at.down)
    expect(signal?.reason).toMatchObject({ code: 'LEADERSHIP_LOST', data: { groupId: 'group', taskId: 'a', term: 1 } })
    expect(b.leader.term).toBe(2)
  })

  test('counts from when it has sent its last heartbeat, not from when that was answered', async () => {
    const group = memoryGroup()
    const [a, b] = [group.node('a'), group.node('b')]
    await a.leader.start()
    await b.leader.start()
    await group.pass(1_000)
    a.answerMs = 500
    // Its next heartbeat is sent within 100 ms, and answered when others have seen it for long.
    await group.pass(500)
    a.isAway = true
    await group.pass(300)
    expect(a.leader.term).toBeUndefined()
  })

  test('that stood still knows at once that it leads no longer', async () => {
    const group = memoryGroup()
    const [a, b] = [group.node('a'), group.node('b')]
    await a.leader.start()
    await b.leader.start()
    a.pause()
    await group.pass(2_000)
    expect([a.leader.term, b.leader.term]).toEqual([undefined, 2])
    a.resume()
    await group.pass(500)
    expect([a.leader.term, b.leader.term]).toEqual([undefined, 2])
  })

  test('competes again after it has lost, and leads when the other one is gone', async () => {
    const group = memoryGroup()
    const [a, b] = [group.node('a'), group.node('b')]
    await a.leader.start()
    await b.leader.start()
    for (const [down, up, term] of [
      [a, b, 2],
      [b, a, 3],
      [a, b, 4],
    ] as const) {
      down.isAway = true
      await group.pass(1_500)
      down.isAway = false
      await group.pass(300)
      expect(up.leader.term).toBe(term)
    }
  })

  test('that nobody has followed leads again in a new term', async () => {
    const group = memoryGroup()
    const a = group.node('a')
    await a.leader.start()
    a.isAway = true
    await group.pass(5_000)
    expect(a.leader.term).toBeUndefined()
    a.isAway = false
    await group.pass(200)
    expect(a.leader.term).toBe(2)
  })

  test('whose take-over was not answered leads all the same, as the next look shows', async () => {
    const group = memoryGroup()
    const errors: unknown[] = []
    const [a, b] = [group.node('a'), group.node('b', { listener: { onError: (error) => errors.push(error) } })]
    await a.leader.start()
    await b.leader.start()
    a.isAway = true
    b.isUnanswered = true
    await group.pass(1_500)
    expect([b.isUnanswered, b.leader.term]).toEqual([false, 3])
    expect(errors).not.toContainEqual(expect.objectContaining({ code: 'TASK_ID_TAKEN' }))
  })

  test('that has lost does not lead again before its work has ended, and another one does', async () => {
    const group = memoryGroup()
    const [a, b] = [group.node('a'), group.node('b')]
    await a.leader.start()
    const begun: number[] = []
    const letGo = Promise.withResolvers<void>()
    const running = a.leader.run(({ term }) => {
      begun.push(term)
      return letGo.promise
    })
    await group.quiet()
    // Alone in its group it would follow itself.
    a.isAway = true
    await group.pass(1_500)
    a.isAway = false
    await group.pass(500)
    expect(a.leader.term).toBeUndefined()
    await b.leader.start()
    await group.pass(1_500)
    expect([a.leader.term, b.leader.term]).toEqual([undefined, 2])
    letGo.resolve()
    await group.pass(300)
    await b.leader.stop()
    await group.pass(300)
    expect(a.leader.term).toBe(3)
    await running
    expect(begun).toEqual([1, 3])
  })

  test('that stops lets its work end, and then another one leads at once', async () => {
    const group = memoryGroup()
    const [a, b] = [group.node('a'), group.node('b')]
    await a.leader.start()
    await b.leader.start()
    const letGo = Promise.withResolvers<void>()
    const running = a.leader.run(() => letGo.promise).catch((error: unknown) => error)
    await group.quiet()
    const stopping = a.leader.stop()
    await group.pass(300)
    expect(b.leader.term).toBeUndefined()
    letGo.resolve()
    await group.pass(200)
    await stopping
    expect(b.leader.term).toBe(2)
    expect(await running).toMatchObject({ code: 'LIFECYCLE' })
  })

  test('that stops in the middle of a look does not lead again', async () => {
    const group = memoryGroup()
    const [a, b] = [group.node('a'), group.node('b')]
    await a.leader.start()
    await b.leader.start()
    a.answerMs = 200
    await group.pass(150)
    const stopping = a.leader.stop()
    await group.pass(1_000)
    await stopping
    expect(group.rows.token).toEqual({ taskId: 'b', term: 2 })
    expect(b.leader.term).toBe(2)
  })

  test('whose work does not end in its grace leaves without a word', async () => {
    const group = memoryGroup()
    const [a, b] = [group.node('a'), group.node('b')]
    await a.leader.start()
    await b.leader.start()
    void a.leader.run(() => new Promise(() => {})).catch(() => {})
    await group.quiet()
    const stopping = a.leader.stop({ graceMs: 100 })
    await group.pass(500)
    await stopping
    expect(b.leader.term).toBeUndefined()
    await group.pass(1_000)
    expect(b.leader.term).toBe(2)
  })

  test('tells its listener what happens, and each failure of the database once', async () => {
    const group = memoryGroup()
    const events: unknown[] = []
    const a = group.node('a', {
      listener: {
        onElected: ({ term }) => events.push(`elected ${term}`),
        onDeposed: ({ term, reason }) => events.push(`deposed ${term}: ${reason.code}`),
        onError: (error) => events.push((error as TaskError).code),
        onRecovered: () => events.push('recovered'),
      },
    })
    await a.leader.start()
    a.isAway = true
    await group.pass(3_000)
    a.isAway = false
    await group.pass(200)
    await a.leader.stop()
    expect(events).toEqual([
      'elected 1',
      'DATABASE_UNAVAILABLE',
      'deposed 1: LEADERSHIP_LOST',
      'elected 2',
      'recovered',
      'deposed 2: SHUTDOWN',
    ])
  })

  test('goes on if its listener throws, or rejects', async () => {
    const warned: string[] = []
    const hear = ({ message }: Error): void => void warned.push(message)
    process.on('warning', hear)
    const group = memoryGroup()
    const a = group.node('a', {
      listener: {
        onElected: () => Promise.reject(new Error('too late')) as unknown as void,
        onDeposed: () => {
          throw new Error('at once')
        },
      },
    })
    await a.leader.start()
    await a.leader.stop()
    await expect
      .poll(() => warned)
      .toEqual(
        ['too late', 'at once'].map((why) => expect.stringContaining(`A listener of the group "group" threw: Error: ${why}`)),
      )
    process.off('warning', hear)
  })

  test('that cannot start says why, and may start again', async () => {
    const group = memoryGroup()
    const a = group.node('a')
    a.isAway = true
    await expect(a.leader.start()).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' })
    a.isAway = false
    await a.leader.start()
    expect(a.leader.term).toBe(1)
    await expect(a.leader.start()).rejects.toMatchObject({ code: 'LIFECYCLE' })
  })

  test('that does not lead commits nothing, and says so', async () => {
    const group = memoryGroup()
    const [a, b] = [group.node('a'), group.node('b')]
    await a.leader.start()
    await b.leader.start()
    await expect(b.leader.transaction(() => {})).rejects.toMatchObject({ code: 'LEADERSHIP_LOST' })
    await expect(b.write(1)).rejects.toMatchObject({ code: 'LEADERSHIP_LOST' })
    expect(() => b.leader.check({ rows: group.rows })).toThrow('Node "b" of the group "group" does not lead')
    await a.write(1)
    expect(group.rows.written).toEqual([{ taskId: 'a', term: 1 }])
  })
})

test.each([
  [{ groupId: '' }, 'groupId'],
  [{ groupId: 'x'.repeat(256) }, 'groupId'],
  [{ taskId: '' }, 'taskId'],
  [{ livenessCheckIntervalMs: 400 }, 'livenessCheckIntervalMs'],
  [{ livenessCheckIntervalMs: 30 }, 'livenessCheckIntervalMs'],
  [{ heartbeatIntervalMs: 0 }, 'heartbeatIntervalMs'],
  [{ createTables: 1 }, 'createTables'],
  [{ liveness: 30_000 }, 'liveness'],
])('a leader with %o is refused', (options, argument) => {
  const make = (): unknown => memoryGroup().node('a', options as Partial<LeaderOptions<never, 'sync'>>)
  expect(make).toThrow(expect.objectContaining({ code: 'ARGUMENT_INVALID', data: expect.objectContaining({ argument }) }))
  expect(Leader).toBeDefined()
})
