/** A node that somebody asks to be quiet finishes what it has, takes no more of any topic, and goes on when it is asked to. */
import { TaskError } from '@taskstream/task-api'
import type { NodeInfo } from '@taskstream/task-api'
import { buffering, eachTask } from '@taskstream/task-processor'
import { describe, expect, test } from 'vitest'
import { canRun, engine } from '../subject.ts'
import type { AnyTransaction, Tasks } from '../subject.ts'
import { useNodeFixture } from './fixture.ts'
import type { Clocked } from './fixture.ts'

const aDay = 86_400_000
const patient = { heartbeatIntervalMs: aDay, leaseMs: 3 * aDay, maintenanceIntervalMs: 10_000 }

describe.skipIf(!canRun)('a node that is asked to be quiet', () => {
  const fixture = useNodeFixture('quiet')

  const ask = async ({ node, tasks }: Clocked, value: boolean): Promise<void> => {
    // Whoever has not told anything yet cannot be asked.
    await expect.poll(() => fixture.commit<boolean>((transaction) => tasks.quiet(transaction, node.owner, value))).toBe(true)
  }
  const infoOf = async ({ node, tasks }: Clocked): Promise<NodeInfo> => {
    const all = await fixture.commit<readonly NodeInfo[]>((transaction) => tasks.nodes(transaction))
    return all.find(({ owner }) => owner === node.owner)!
  }
  /** Lets the node report, and poll if it does. */
  const after = async <Result>({ pass }: Clocked, look: () => Result): Promise<Result> => {
    pass(5_000)
    // On a single connection this comes after what the node asks for.
    await fixture.states()
    return look()
  }

  /** Waits until no poll is under way that was begun before the node was told: the clock moves only then. */
  const rest = async (made: Clocked): Promise<void> => {
    const from = made.clock.monotonicMs()
    await expect.poll(() => after(made, () => made.clock.monotonicMs())).toBeGreaterThan(from)
  }

  test('finishes the tasks that it has, also those at hand, takes none of any topic, and says so', async () => {
    const told: unknown[] = []
    const made = fixture.clocked({ ...patient, listener: { onQuiet: ({ quiet }) => void told.push(quiet) } })
    const { node } = made
    await using _ = node
    const gate = Promise.withResolvers<void>()
    const handled: string[] = []
    const handler = eachTask<AnyTransaction>(async ({ identifier }) => {
      handled.push(identifier)
      if (identifier === 'a') await gate.promise
    })
    node.process(fixture.topic, { size: 1, idleMs: 1_000, handler: buffering({ buffer: 1, workers: 1, handler }) })
    await fixture.push('a', 'b')
    await node.start()
    await expect.poll(() => after(made, fixture.states)).toEqual({ active: 2 })
    await ask(made, true)
    await expect.poll(() => after(made, () => told)).toEqual([true])
    expect((await infoOf(made)).quiet).toBe(true)
    await rest(made)
    await fixture.push('c')
    // A topic that is added meanwhile is quiet too.
    const other = `${fixture.topic}-other`
    await fixture.commit(async (transaction) => {
      await fixture.tasks.initialize(transaction, other)
      await fixture.tasks.push(transaction, other, 'd')
    })
    node.process(other, { size: 1, idleMs: 1_000, handler })
    gate.resolve()
    await expect.poll(fixture.states).toEqual({ succeeded: 2, ready: 1 })
    // The loops have every chance to poll.
    for (let chance = 0; chance < 10; chance++) await after(made, () => {})
    expect([handled, told]).toEqual([['a', 'b'], [true]])
    await ask(made, false)
    await expect.poll(() => after(made, () => handled.toSorted())).toEqual(['a', 'b', 'c', 'd'])
    expect(told).toEqual([true, false])
  })

  test('finishes a transaction that handles a task, and begins no other', async () => {
    const told: unknown[] = []
    const made = fixture.clocked({ ...patient, listener: { onQuiet: ({ quiet }) => void told.push(quiet) } })
    const { node } = made
    await using _ = node
    const gate = Promise.withResolvers<void>()
    const handled: string[] = []
    const handler = eachTask<AnyTransaction>(async ({ identifier }) => {
      handled.push(identifier)
      // Where there is one connection, nobody could ask meanwhile.
      if (identifier === 'b' && engine.writers > 1) await gate.promise
    })
    node.process(fixture.topic, { mode: 'transactional', size: 1, concurrency: 1, idleMs: 1_000, timeoutMs: aDay, handler })
    await fixture.push('a', 'b')
    await node.start()
    await expect.poll(() => after(made, () => handled)).toEqual(['a', 'b'])
    await ask(made, true)
    // The clock of the node must move although a transaction is open.
    await expect
      .poll(() => {
        made.clock.advance(5_000)
        return told
      })
      .toEqual([true])
    if (engine.writers === 1) await rest(made)
    await fixture.push('c')
    gate.resolve()
    await expect.poll(() => after(made, fixture.states)).toEqual({ succeeded: 2, ready: 1 })
    for (let chance = 0; chance < 10; chance++) await after(made, () => {})
    expect(handled).toEqual(['a', 'b'])
    await ask(made, false)
    await expect.poll(() => after(made, () => handled)).toEqual(['a', 'b', 'c'])
  })

  test('stays quiet as a whole while it cannot report, and takes tasks of all topics when it can', async () => {
    const told: unknown[] = []
    let isBroken = false
    const made = fixture.clocked(
      {
        ...patient,
        listener: {
          onQuiet: ({ quiet }) => void told.push(quiet),
          onError: ({ activity }) => void told.push(activity),
        },
      },
      (own) => ({
        ...own,
        report: (...args: Parameters<Tasks['report']>) => {
          if (isBroken) throw new TaskError('PERMISSION_DENIED', 'task_node')
          return own.report(...args)
        },
      }),
    )
    const { node, tasks } = made
    await using _ = node
    const topics = [`${fixture.topic}-one`, `${fixture.topic}-two`]
    const handled: string[] = []
    for (const topic of topics) node.process(topic, { idleMs: 1_000, handler: eachTask((task) => void handled.push(task.topic)) })
    await node.start()
    await ask(made, true)
    await expect.poll(() => after(made, () => told)).toEqual([true])
    await rest(made)
    isBroken = true
    await fixture.commit(async (transaction) => {
      for (const topic of topics) await tasks.push(transaction, topic, 'a')
    })
    await ask(made, false)
    await expect.poll(() => after(made, () => told)).toEqual([true, 'report'])
    for (let chance = 0; chance < 10; chance++) await after(made, () => {})
    expect([handled, told]).toEqual([[], [true, 'report']])
    isBroken = false
    await expect.poll(() => after(made, () => handled.toSorted())).toEqual(topics)
    expect(told).toEqual([true, 'report', false])
  })

  test('stops as any other does, and hands back what it holds', async () => {
    const told: unknown[] = []
    const made = fixture.clocked({ ...patient, listener: { onQuiet: ({ quiet }) => void told.push(quiet) } })
    const { node } = made
    const holds = Promise.withResolvers<void>()
    node.process(fixture.topic, {
      idleMs: 1_000,
      handler: eachTask((_task, { signal }) => {
        holds.resolve()
        return new Promise<void>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
      }),
    })
    await fixture.push('a')
    await node.start()
    await holds.promise
    await ask(made, true)
    await expect.poll(() => after(made, () => told)).toEqual([true])
    let returned: readonly string[] | undefined
    void node.stop({ graceMs: 0 }).then((report) => (returned = report.returned.map(({ identifier }) => identifier)))
    await expect.poll(() => after(made, () => returned)).toEqual(['a'])
    expect(await infoOf(made)).toMatchObject({ life: 'stopped', quiet: true })
  })
})
