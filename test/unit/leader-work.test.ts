/** What runs only while a node leads: its work, its transactions, and what becomes of them when it leads no longer. */
import { TaskError } from '@taskstream/task-api'
import { Leader } from '@taskstream/task-coordination'
import type { Leadership } from '@taskstream/task-coordination'
import { describe, expect, onTestFinished, test } from 'vitest'
import { memoryGroup } from '../coordination/memory-group.ts'
import type { MemoryTransaction } from '../coordination/memory-group.ts'

type Led = Leadership<MemoryTransaction, 'sync'>

describe('the work of a leader', () => {
  test('that fails while its node leads has the caller told, and is not begun again', async () => {
    const group = memoryGroup()
    const errors: unknown[] = []
    const a = group.node('a', { listener: { onError: (error) => errors.push(error) } })
    await a.leader.start()
    let begun = 0
    const running = a.leader.run(() => {
      begun++
      throw new RangeError('no')
    })
    await expect(running).rejects.toThrow(RangeError)
    await group.pass(300)
    expect([begun, errors, a.leader.term]).toEqual([1, [], 1])
  })

  test('that fails after its node has lost is told to the listener, and begins anew when the node leads again', async () => {
    const group = memoryGroup()
    const errors: unknown[] = []
    const a = group.node('a', { listener: { onError: (error) => errors.push(error) } })
    await a.leader.start()
    const terms: number[] = []
    const running = a.leader.run(async ({ term, signal }) => {
      terms.push(term)
      if (term > 1) return 'done'
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      throw new RangeError('by the way')
    })
    await group.quiet()
    a.isAway = true
    await group.pass(1_500)
    a.isAway = false
    await group.pass(500)
    expect(await running).toBe('done')
    expect(terms).toEqual([1, 2])
    expect(errors).toContainEqual(expect.any(RangeError))
  })

  test.each([
    ['the reason itself', ({ signal }: Led): unknown => signal.reason],
    ['an error by it', ({ signal }: Led): unknown => new Error('given up', { cause: signal.reason })],
    ['an equal one', (): unknown => new TaskError('LEADERSHIP_LOST', 'of a transaction')],
  ])('that ends by %s has said nothing new', async (_, errorOf) => {
    const group = memoryGroup()
    const errors: unknown[] = []
    const a = group.node('a', { listener: { onError: (error) => errors.push(error) } })
    await a.leader.start()
    const running = a.leader.run(async (led) => {
      if (led.term > 1) return
      await new Promise((resolve) => led.signal.addEventListener('abort', resolve))
      throw errorOf(led)
    })
    await group.quiet()
    a.isAway = true
    await group.pass(1_500)
    a.isAway = false
    await group.pass(500)
    await running
    expect(errors).toEqual([expect.objectContaining({ code: 'DATABASE_UNAVAILABLE' })])
  })

  test('writes in its own term alone, and each write is in a transaction that knows the signal', async () => {
    const group = memoryGroup()
    const signals: (AbortSignal | undefined)[] = []
    const { options } = group.node('a')
    const a = group.node('a', {
      transactions: (work, given) => {
        signals.push(given?.signal)
        return options.transactions(work, given)
      },
    })
    await a.leader.start()
    const led = Promise.withResolvers<Led>()
    const end = Promise.withResolvers<void>()
    const running = a.leader.run((leadership) => {
      led.resolve(leadership)
      return end.promise
    })
    const first = await led.promise
    signals.length = 0
    expect(await first.transaction(() => 'written')).toBe('written')
    expect(signals).toEqual([first.signal])
    expect(() => first.check({ rows: group.rows })).not.toThrow()
    // Somebody has taken over, which this node does not know yet.
    group.rows = { ...group.rows, token: { taskId: 'b', term: 2 } }
    await expect(first.transaction(() => {})).rejects.toMatchObject({ code: 'LEADERSHIP_LOST', data: { term: 1 } })
    expect(first.signal.aborted).toBe(true)
    const over = expect(running).rejects.toMatchObject({ code: 'LIFECYCLE' })
    end.resolve()
    const stopping = a.leader.stop()
    await group.pass(300)
    await stopping
    await over
  })

  test('is let go when the node leads no longer, though the database never answers', async () => {
    const group = memoryGroup()
    const { options } = group.node('a')
    let isSilent = false
    const a = group.node('a', {
      transactions: (work, given) => (isSilent ? new Promise(() => {}) : options.transactions(work, given)),
    })
    await a.leader.start()
    isSilent = true
    const writing = a.leader.transaction(() => {})
    const ended = expect(writing).rejects.toMatchObject({ code: 'LEADERSHIP_LOST' })
    await group.pass(1_000)
    await ended
  })
})

describe('a node of a group', () => {
  test('leads in a greater term than its own last one, also when its row was deleted meanwhile', async () => {
    const group = memoryGroup()
    const a = group.node('a')
    await a.leader.start()
    group.rows = { ...group.rows, token: undefined }
    await group.pass(300)
    expect(a.leader.term).toBe(2)
  })

  test('tells in which group, under which name and in which term it leads, and why no longer', async () => {
    const group = memoryGroup()
    const events: unknown[] = []
    const a = group.node('a', {
      listener: { onElected: (event) => events.push(event), onDeposed: (event) => events.push(event) },
    })
    await a.leader.start()
    group.rows = { ...group.rows, token: undefined }
    await group.pass(150)
    const self = { groupId: 'group', taskId: 'a' }
    expect(a.leader.member).toEqual(self)
    const reason = expect.objectContaining({
      message: expect.stringMatching(/leads no longer in term 1: its row was deleted$/),
    }) as unknown
    expect(events).toEqual([
      { ...self, term: 1 },
      { ...self, term: 1, reason },
      { ...self, term: 2 },
    ])
  })

  test('needs no listener: what goes wrong is a warning of the process', async () => {
    const warned: string[] = []
    const hear = ({ message }: Error): void => void warned.push(message)
    process.on('warning', hear)
    onTestFinished(() => void process.off('warning', hear))
    const group = memoryGroup()
    const { listener: _, ...options } = group.node('a').options
    const leader = new Leader(options)
    await leader.start()
    expect(leader.term).toBe(1)
    leader.check({ rows: group.rows })
    group.rows = { ...group.rows, token: { taskId: 'a', term: 9 } }
    await group.pass(300)
    await expect.poll(() => warned).toContainEqual(expect.stringMatching(/^The group "group": TaskError: Another process leads/))
    await leader.stop()
  })

  test('closes what it was given once, however often it is stopped', async () => {
    const group = memoryGroup()
    let closed = 0
    const a = group.node('a', { close: async () => void closed++ })
    await a.leader.start()
    await Promise.all([a.leader.stop(), a.leader.stop()])
    await a.leader.stop()
    expect(closed).toBe(1)
  })

  test('leaves without a word if it is told to', async () => {
    const group = memoryGroup()
    const [a, b] = [group.node('a'), group.node('b')]
    await a.leader.start()
    await b.leader.start()
    const stopping = a.leader.stop({ leave: false })
    await group.pass(400)
    await stopping
    expect(b.leader.term).toBeUndefined()
    await group.pass(1_000)
    expect(b.leader.term).toBe(2)
  })
})
