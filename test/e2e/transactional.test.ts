/** In transactional mode tasks are polled, handled and completed in one transaction. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { TaskDecision } from '@taskstream/task-api'
import type { Completion, HeldTask, TaskError, TaskInfo, TransactionSource } from '@taskstream/task-api'
import { eachTask } from '@taskstream/task-processor'
import type { HandlerContext } from '@taskstream/task-processor'
import { describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import type { AnyTransaction, Tasks } from '../subject.ts'
import { decideAll, useEffects } from './effects.ts'

describe.skipIf(!canRun)('transactional mode', () => {
  const { fixture, write, effects, options } = useEffects('transactional')

  test('polls, handles and completes in one transaction, with what the handler writes', async () => {
    const identifiers = Array.from({ length: 12 }, (_, index) => `id-${String(index).padStart(2, '0')}`)
    await fixture.push(...identifiers)
    const numbers = new AsyncLocalStorage<number>()
    let count = 0
    const transactions: TransactionSource<AnyTransaction> = (work) =>
      fixture.commit((transaction) => numbers.run(++count, () => work(transaction)))
    /** The numbers of the transactions that polled, wrote for and completed each task. */
    const seen = new Map<string, (number | undefined)[]>(identifiers.map((identifier) => [identifier, []]))
    const note = (tasks: Iterable<HeldTask>): void => {
      for (const { identifier } of tasks) seen.get(identifier)!.push(numbers.getStore())
    }
    const { tasks } = fixture
    const repository = {
      ...tasks,
      poll: async (...args: Parameters<Tasks['poll']>) => {
        const held = await tasks.poll(...args)
        note(held)
        return held
      },
      complete: (...args: Parameters<Tasks['complete']>) => {
        note(args[2].keys())
        return tasks.complete(...args)
      },
    } as unknown as Tasks
    await using node = fixture.nodeOf({ repository, transactions, heartbeatIntervalMs: 1_000, maintenanceIntervalMs: 60_000 })
    node.process(fixture.topic, {
      ...options(async (_, { complete }) => {
        const { completed } = await complete(async (transaction, held) => {
          note(held)
          await write(transaction, held)
          return decideAll(TaskDecision.success(), held)
        })
        expect(completed).toHaveLength(1)
      }),
    })
    await node.start()
    await expect.poll(fixture.states).toEqual({ succeeded: 12 })
    expect(await effects()).toEqual(identifiers)
    // The first task is polled by a lease, in a transaction before the one that completes it.
    const [first, ...rest] = [...seen.values()]
    expect([first!.length, new Set(first).size]).toEqual([3, 2])
    expect(rest.map((each) => [each.length, new Set(each).size])).toEqual(rest.map(() => [3, 1]))
    expect(new Set(rest.flat()).size).toBe(rest.length)
  })

  test('is careful first: it leases what it takes until that went well, and only then holds tasks by a lock alone', async (context) => {
    context.skip(fixture.subject.connections === 1, 'In memory there is one connection, and so nobody else who could look.')
    const onlooker = await fixture.subject.session()
    await fixture.push('a', 'b', 'c')
    const seen: string[] = []
    await using node = fixture.nodeOf()
    node.process(
      fixture.topic,
      options(
        eachTask(async ({ identifier }) => {
          // This is what others see while the task is handled.
          const page = (await fixture.tasks.page(onlooker.transaction, fixture.topic)) as TaskInfo[]
          seen.push(`${identifier}: ${page.map(({ state }) => state)}`)
        }),
      ),
    )
    await node.start()
    await expect.poll(fixture.states).toEqual({ succeeded: 3 })
    expect(seen).toEqual(['a: active,ready,ready', 'b: succeeded,ready,ready', 'c: succeeded,succeeded,ready'])
  })

  test('rolls back what a handler wrote that throws, and takes its tasks up again where tries count', async () => {
    await fixture.push('first', 'bad', 'last')
    const attempts: string[] = []
    await using node = fixture.nodeOf()
    node.process(fixture.topic, {
      ...options(async ([task], { complete }) => {
        await complete(async (transaction, held) => {
          await write(transaction, held)
          attempts.push(task!.identifier)
          if (task!.identifier === 'bad') throw new Error('after the write')
          return decideAll(TaskDecision.success(), held)
        })
      }),
      retry: ({ tries }) => (tries < 2 ? 0 : undefined),
    })
    await node.start()
    await expect.poll(fixture.states).toEqual({ succeeded: 2, failed: 1 })
    expect(await effects()).toEqual(['first', 'last'])
    const bad = (await fixture.page()).find(({ identifier }) => identifier === 'bad')
    expect(bad).toMatchObject({ tries: 2, output: expect.stringContaining('after the write') })
    // Two tries that counted, and those in transactions that were rolled back.
    expect(attempts.filter((identifier) => identifier === 'bad').length).toBeGreaterThan(2)
  })

  test('completes some of a batch and retries others, as each is decided', async () => {
    await fixture.push('warm-up', 'ok', 'no', 'later', 'broken')
    await using node = fixture.nodeOf()
    const handler = eachTask<AnyTransaction>(({ identifier }) => {
      if (identifier === 'no') return TaskDecision.failure('no')
      if (identifier === 'later') return TaskDecision.retry({ afterMs: 3_600_000 })
      if (identifier === 'broken') throw new Error('broken')
      return undefined
    })
    node.process(fixture.topic, { ...options(handler), size: 5 })
    await node.start()
    await expect.poll(fixture.states).toEqual({ succeeded: 2, failed: 2, delayed: 1 })
  })

  test('begins again with what it then finds, when its transactions do', async () => {
    await fixture.push('a', 'b', 'c')
    let begun = 0
    const answers: unknown[] = []
    await using node = fixture.nodeOf({
      heartbeatIntervalMs: 1_000,
      maintenanceIntervalMs: 60_000,
      // As a source does after a deadlock: rolled back, and run once more.
      transactions: async (work) => {
        const undo = new Error('deadlock')
        const undone = fixture.commit(async (transaction) => {
          const result = await work(transaction)
          // Only the transaction that handled the second task is rolled back, and no other that ends at the same time.
          if (handled.length === 2 && handledIn === transaction && begun++ === 0) throw undo
          return result
        })
        return undone.catch((error: unknown) => {
          if (error !== undo) throw error
          return fixture.commit(work)
        })
      },
    })
    const handled: string[] = []
    let handledIn: AnyTransaction
    node.process(
      fixture.topic,
      options(async ([task], { complete }) => {
        handled.push(task!.identifier)
        answers.push(
          await complete(async (transaction, held) => {
            handledIn = transaction
            await write(transaction, held)
            return decideAll(TaskDecision.success(), held)
          }).then(
            ({ completed }) => completed.length,
            ({ code }: TaskError) => code,
          ),
        )
      }),
    )
    await node.start()
    await expect.poll(fixture.states).toEqual({ succeeded: 3 })
    expect(handled).toEqual(['a', 'b', 'b', 'c'])
    // The first handling of b hears that nothing came of it.
    expect(answers).toHaveLength(4)
    expect(answers).toContain('TRANSACTION_CONFLICT')
    expect(await effects()).toEqual(['a', 'b', 'c'])
  })

  test('keeps the order of each identifier in singular topics, and their exclusion', async () => {
    await fixture.next({ condition: 'singular-by-identifier' })
    const creations = Array.from({ length: 30 }, (_, index) => ({ identifier: 'abc'[index % 3]!, input: String(index) }))
    await fixture.push(...creations)
    const handled: string[] = []
    const running = new Set<string>()
    const handler = async (_: readonly HeldTask[], { complete }: HandlerContext<AnyTransaction>): Promise<void> => {
      const outcome: Completion = await complete(async (transaction, held) => {
        for (const { identifier, input } of held) {
          expect(running).not.toContain(identifier)
          running.add(identifier)
          handled.push(identifier + input)
        }
        await write(transaction, held)
        for (const { identifier } of held) running.delete(identifier)
        return decideAll(TaskDecision.success(), held)
      })
      expect(outcome.lost).toEqual([])
    }
    await using one = fixture.nodeOf()
    await using two = fixture.nodeOf({ repository: fixture.subject.tasks() })
    for (const node of [one, two]) {
      node.process(fixture.topic, { ...options(handler), size: 2, concurrency: 2 })
      await node.start()
    }
    await expect.poll(fixture.states).toEqual({ succeeded: 30 })
    for (const identifier of 'abc') {
      const own = creations.filter((creation) => creation.identifier === identifier).map(({ input }) => identifier + input)
      expect(handled.filter((one) => one.startsWith(identifier))).toEqual(own)
    }
    expect(await effects()).toHaveLength(30)
  })
})
