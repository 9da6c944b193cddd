/** If the answer to a poll was lost, the running node reclaims the polled tasks, and leaves alone those that it is working on. */
import { TaskError } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import { eachTask } from '@taskstream/task-processor'
import { raw, sql } from '@taskstream/task-sql'
import type { Statement } from '@taskstream/task-sql'
import { describe, expect, test } from 'vitest'
import { canRun, isPostgres } from '../subject.ts'
import type { Tasks } from '../subject.ts'
import { useNodeFixture } from './fixture.ts'
import type { NodeFixture } from './fixture.ts'

const aDay = 86_400_000
const table = (name: string): Statement => raw(isPostgres ? `taskstream.${name}` : name)
const patient = { heartbeatIntervalMs: aDay, leaseMs: 3 * aDay, maintenanceIntervalMs: aDay }

describe.skipIf(!canRun)('a poll that goes unanswered', () => {
  const fixture = useNodeFixture('reclaim')

  interface LosingNode extends ReturnType<NodeFixture['clocked']> {
    readonly asked: string[]
    /** While this is true, the node's polls find nothing. */
    shut: boolean
    /** How many of the node's polls the database has not answered yet. */
    polls: number
    readonly own: Tasks
    /** How many of the next questions about what it took the database is too busy to answer. */
    busy: number
    /** How many of them it refuses, with an error that does not pass by itself. */
    refused: number
  }

  /** Returns a node. Its first poll that brings `lost` is committed, but the answer is lost. */
  const losing = (lost: string): LosingNode => {
    const asked: string[] = []
    let isLost = false
    let own = fixture.tasks
    const { subject } = fixture
    const brings = (result: unknown): boolean => Array.isArray(result) && (result[0] as HeldTask | undefined)?.identifier === lost
    const clocked = fixture.clocked(
      {
        ...patient,
        transactions: async (work, options) => {
          const result = await subject.transactions(work, options)
          if (isLost || !brings(result)) return result
          isLost = true
          asked.push('no answer')
          throw new TaskError('DATABASE_UNAVAILABLE', 'gone')
        },
      },
      (unwatched) => ({
        ...(own = unwatched),
        poll: (...args: Parameters<Tasks['poll']>) => {
          asked.push('poll')
          if (losingNode.shut) return []
          const answer = own.poll(...args)
          if (!(answer instanceof Promise)) return answer
          losingNode.polls++
          return answer.finally(() => losingNode.polls--)
        },
        reclaim: (...args: Parameters<Tasks['reclaim']>) => {
          asked.push('reclaim')
          if (losingNode.busy-- > 0) throw new TaskError('DATABASE_BUSY', 'busy')
          if (losingNode.refused-- > 0) throw new Error('refused')
          return own.reclaim(...args)
        },
        takeSlots: (...args: Parameters<Tasks['takeSlots']>) => (asked.push('slots'), own.takeSlots(...args)),
      }),
    )
    const losingNode = { ...clocked, asked, own, shut: false, polls: 0, busy: 0, refused: 0 }
    return losingNode
  }

  test('has what it took given back before the next poll, which takes it; what is at work meanwhile stays at work', async () => {
    await fixture.push('at work')
    const gate = Promise.withResolvers<void>()
    const begun: string[] = []
    const { clock, node, asked } = losing('lost')
    await using _ = node
    // A failure must be told, and not wait for a handler that nobody lets go.
    using _gate = { [Symbol.dispose]: () => gate.resolve() }
    node.process(fixture.topic, {
      size: 1,
      concurrency: 2,
      idleMs: aDay,
      handler: eachTask(async ({ identifier, attempt, tries }) => {
        begun.push(`${identifier}, attempt ${attempt}, try ${tries}`)
        if (identifier === 'at work') await gate.promise
      }),
    })
    await node.start()
    await expect.poll(() => begun).toEqual(['at work, attempt 1, try 1'])
    await node.submit(fixture.topic, 'lost')
    await expect.poll(() => asked).toContain('no answer')
    // The submission may wake the topic at once. Otherwise the clock moves past the pause after the failed poll.
    await expect.poll(() => (clock.advance(10), begun)).toEqual(['at work, attempt 1, try 1', 'lost, attempt 2, try 1'])
    // The second question tells that nothing is left.
    expect(asked.slice(asked.indexOf('no answer')).slice(0, 4)).toEqual(['no answer', 'reclaim', 'reclaim', 'poll'])
    await expect.poll(fixture.states).toEqual({ active: 1, succeeded: 1 })
    gate.resolve()
    await expect.poll(fixture.states).toEqual({ succeeded: 2 })
    expect(begun).toHaveLength(2)
  })

  test('has what it took given back though the database refuses that once, and though the topic sleeps with all others', async () => {
    const losingNode = losing('lost')
    const { node, pass, asked } = losingNode
    await using _ = node
    losingNode.refused = 1
    node.process(fixture.topic, { size: 1, idleMs: 1_000, handler: eachTask(() => {}) })
    await node.start()
    await node.submit(fixture.topic, 'lost')
    await expect.poll(() => asked).toContain('no answer')
    // Nothing wakes the topic any more.
    await expect.poll(() => (pass(250), fixture.states())).toEqual({ succeeded: 1 })
    expect(asked.filter((what) => what === 'reclaim').length).toBeGreaterThan(1)
  })

  test('breaks no limit on all tasks at a time: nothing is polled before the database has told what it took, however busy that is', async () => {
    await fixture.commit((transaction) => fixture.tasks.limit(transaction, fixture.topic, { total: 1 }))
    const losingNode = losing('lost')
    const { clock, node, asked } = losingNode
    await using _ = node
    const done: string[] = []
    node.process(fixture.topic, {
      size: 1,
      concurrency: 2,
      idleMs: 100,
      handler: eachTask(({ identifier }) => void done.push(identifier)),
    })
    await node.start()
    // From now on the loop knows of the limit.
    await expect.poll(() => (clock.advance(100), asked)).toContain('slots')
    losingNode.busy = 6
    await fixture.push('lost', 'next')
    await expect.poll(() => (clock.advance(500), done), { timeout: 10_000 }).toEqual(['lost', 'next'])
    // Nor are slots given to others meanwhile.
    expect(asked.slice(asked.indexOf('no answer') + 1).slice(0, 7)).toEqual(Array.from({ length: 7 }, () => 'reclaim'))
  })

  test('has what it took given back by a stop that comes before the next poll; what is at work until then is completed', async () => {
    await fixture.push('at work')
    const gate = Promise.withResolvers<void>()
    const begun: string[] = []
    const { node, asked } = losing('lost')
    node.process(fixture.topic, {
      size: 1,
      concurrency: 2,
      idleMs: aDay,
      handler: eachTask(async ({ identifier }) => {
        begun.push(identifier)
        if (identifier === 'at work') await gate.promise
      }),
    })
    await node.start()
    await expect.poll(() => begun).toEqual(['at work'])
    await node.submit(fixture.topic, 'lost')
    await expect.poll(() => asked).toContain('no answer')
    expect(await fixture.states()).toEqual({ active: 2 })
    const stopped = node.stop()
    await expect.poll(fixture.states).toEqual({ active: 1, ready: 1 })
    gate.resolve()
    const { finished, returned, abandoned } = await stopped
    expect([finished, returned, abandoned].map((tasks) => tasks.map(({ identifier }) => identifier))).toEqual([
      ['at work'],
      [],
      [],
    ])
    expect(await fixture.states()).toEqual({ ready: 1, succeeded: 1 })
  })

  test('is asked about again later, as what waited for a lock may be committed long after it was given up', async () => {
    const losingNode = losing('lost')
    const { clock, node } = losingNode
    await using _ = node
    const begun: string[] = []
    node.process(fixture.topic, {
      size: 1,
      concurrency: 1,
      idleMs: aDay,
      handler: eachTask(({ identifier }) => void begun.push(identifier)),
    })
    await fixture.push('lost')
    await node.start()
    await expect.poll(() => (clock.advance(10), begun)).toEqual(['lost'])
    await expect.poll(fixture.states).toEqual({ succeeded: 1 })
    // A poll of this owner that is committed only now: nobody knows what it holds.
    losingNode.shut = true
    await expect.poll(() => losingNode.polls).toBe(0)
    await fixture.push('late')
    expect(await fixture.poll(1, losingNode.own)).toHaveLength(1)
    losingNode.shut = false
    await expect.poll(() => (clock.advance(500), node.wake(fixture.topic), begun)).toEqual(['lost', 'late'])
    await expect.poll(fixture.states).toEqual({ succeeded: 2 })
  })

  test('is not the only thing after which a node may hold what it does not know: so is a restore, which brings back what it held at the backup', async () => {
    // A range would have to be put back with its tasks.
    await fixture.next({ record: 'states' })
    const done: string[] = []
    const { clock, node, tasks } = fixture.clocked({ heartbeatIntervalMs: 100, leaseMs: aDay, maintenanceIntervalMs: 50 })
    await using _ = node
    node.process(fixture.topic, { size: 1, idleMs: aDay, handler: eachTask(({ identifier }) => void done.push(identifier)) })
    await node.start()
    await node.submit(fixture.topic, 'a')
    await expect.poll(() => (clock.advance(100), fixture.states())).toEqual({ succeeded: 1 })
    const beat = async (): Promise<string> =>
      fixture.commit(async (transaction) => {
        const rows = await fixture.subject.execute(
          transaction,
          sql`select heartbeat from ${table('task_owner')} where owner = ${tasks.owner}`,
        )
        return JSON.stringify(rows)
      })
    const first = await beat()
    await expect.poll(async () => (clock.advance(100), (await beat()) !== first)).toBe(true)
    await fixture.commit(async (transaction) => {
      await fixture.subject.execute(
        transaction,
        sql`update ${table('task')} set state = 0, completed = null where topic = ${fixture.topic}`,
      )
      await fixture.subject.execute(
        transaction,
        sql`update ${table('task_owner')} set heartbeat = heartbeat - ${raw(isPostgres ? "interval '1 day'" : String(aDay))} where owner = ${tasks.owner}`,
      )
    })
    expect(await fixture.states()).toEqual({ active: 1 })
    await expect.poll(() => (clock.advance(100), done)).toEqual(['a', 'a'])
    await expect.poll(() => (clock.advance(100), fixture.states())).toEqual({ succeeded: 1 })
  })
})
