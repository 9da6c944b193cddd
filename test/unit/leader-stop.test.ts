/** What a node leaves undone, and what it leaves behind, when it stops. */
import { describe, expect, onTestFinished, test } from 'vitest'
import { memoryGroup } from '../coordination/memory-group.ts'
import type { MemoryNode } from '../coordination/memory-group.ts'

describe('a leader', () => {
  test('that stops while a look is under way takes over from nobody, itself included', async () => {
    const group = memoryGroup()
    const elected: string[] = []
    const node = (taskId: string): MemoryNode =>
      group.node(taskId, { listener: { onElected: ({ term }) => elected.push(`${taskId} ${term}`) } })
    const [a, b] = [node('a'), node('b')]
    await a.leader.start()
    await b.leader.start()
    a.answerMs = 100
    await group.pass(150)
    const stopping = a.leader.stop()
    await group.pass(500)
    await stopping
    expect([a.leader.term, b.leader.term]).toEqual([undefined, 2])
    expect(elected).toEqual(['a 1', 'b 2'])
  })

  test('that is stopped before it has started leads never, and holds no other one up', async () => {
    const group = memoryGroup()
    const [a, b] = [group.node('a'), group.node('b')]
    a.answerMs = 100
    const starting = a.leader.start()
    const refused = expect(starting).rejects.toMatchObject({ code: 'LIFECYCLE' })
    // It has found the tables, and waits for the answer to its first look.
    await group.pass(150)
    const stopping = a.leader.stop()
    await group.pass(500)
    await Promise.all([stopping, refused])
    expect([a.leader.term, group.rows.beats]).toEqual([undefined, {}])
    await b.leader.start()
    expect(b.leader.term).toBeDefined()
  })

  test('is followed only once work has ended that stops it before it waits for anything', async () => {
    const group = memoryGroup()
    const [a, b] = [group.node('a'), group.node('b')]
    await a.leader.start()
    await b.leader.start()
    const order: string[] = []
    const gate = Promise.withResolvers<void>()
    let stopping: Promise<void> | undefined
    const first = a.leader.run(async () => {
      stopping = a.leader.stop({ graceMs: 10_000 })
      await gate.promise
      order.push('a has ended')
    })
    const refused = expect(first).rejects.toMatchObject({ code: 'LIFECYCLE' })
    const second = b.leader.run(() => void order.push('b works'))
    await group.pass(500)
    expect([order, b.leader.term]).toEqual([[], undefined])
    gate.resolve()
    await group.pass(500)
    await Promise.all([stopping, refused, second])
    expect(order).toEqual(['a has ended', 'b works'])
  })

  test('leads and stops, whatever its listener throws', async () => {
    const warned: string[] = []
    const hear = ({ message }: Error): void => void warned.push(message)
    process.on('warning', hear)
    onTestFinished(() => void process.off('warning', hear))
    const hostile: object = new Proxy(
      {},
      {
        get() {
          throw new Error('of the proxy')
        },
      },
    )
    const group = memoryGroup()
    const a = group.node('a', {
      listener: {
        onElected: () => Promise.reject(Object.create(null) as Error) as unknown as void,
        onDeposed: () => {
          throw hostile
        },
      },
    })
    await a.leader.start()
    expect(a.leader.term).toBe(1)
    await a.leader.stop()
    await expect
      .poll(() => warned)
      .toEqual(Array.from({ length: 2 }, () => 'A listener of the group "group" threw: a value of type object'))
  })

  test('that has never started touches no table when it stops', async () => {
    const group = memoryGroup()
    const errors: unknown[] = []
    const a = group.node('a', { listener: { onError: (error) => errors.push(error) } })
    a.isAway = true
    await a.leader.stop()
    expect(errors).toEqual([])
  })

  test('that stands by, as its id is taken, does not take the heartbeat of the other one away when it stops', async () => {
    const group = memoryGroup()
    const [former, later] = [group.node('a'), group.node('a')]
    await former.leader.start()
    await later.leader.start()
    await group.pass(300)
    const { beats } = group.rows
    expect([former.leader.term, later.leader.term]).toEqual([undefined, 2])
    await former.leader.stop()
    expect(group.rows.beats).toEqual(beats)
  })

  test('has left when a second stop resolves, too', async () => {
    const group = memoryGroup()
    const a = group.node('a')
    await a.leader.start()
    a.answerMs = 100
    void a.leader.stop()
    const second = a.leader.stop().then(() => group.rows.beats)
    await group.pass(300)
    expect(await second).toEqual({})
  })
})
