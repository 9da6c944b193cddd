/** Small batches that are completed together share a transaction, and nothing else. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import { testTasks } from '@taskstream/task-testing'
import { describe, expect, test } from 'vitest'
import { Dispatcher } from '../../packages/task-processor/src/core/dispatcher.ts'
import { SharedCompletions } from '../../packages/task-processor/src/batches/shared-completions.ts'
import { answering, namesOf, soon, taskOf } from './answering.ts'
import type { Answering } from './answering.ts'

test('what is completed together is completed in the context of whoever made the topic run, and each caller goes on in its own', async () => {
  await using tasks = await testTasks({ topics: ['mail'] })
  await tasks.push('mail', ...'abcdef')
  const held = await tasks.transactions<HeldTask[]>((transaction) => tasks.repository.poll(transaction, 'mail', { size: 6 }))
  const storage = new AsyncLocalStorage<string>()
  const seen: unknown[] = []
  const repository = Object.create(tasks.repository) as typeof tasks.repository
  repository.complete = (...args) => {
    seen.push([args[2] instanceof Map && args[2].size, storage.getStore()])
    return tasks.repository.complete(...args)
  }
  const dispatcher = new Dispatcher({ repository, transactions: tasks.transactions, statementTimeoutMs: 30_000 })
  const environment = { repository, dispatcher, topic: 'mail' }
  const shared = storage.run('topic', () => new SharedCompletions(environment))
  const outcomes = await Promise.all(
    held.map((task) =>
      storage.run(task.identifier, async () => {
        const decisions = new Map([[task, TaskDecision.success()]])
        const alone = async (): Promise<void> => {
          await dispatcher.once((transaction) => repository.complete(transaction, 'mail', decisions))
        }
        const completion = await shared.complete(decisions, false, alone)
        return [storage.getStore(), completion?.completed]
      }),
    ),
  )
  expect(seen).toEqual([[6, 'topic']])
  expect(outcomes).toEqual(held.map((task) => [task.identifier, [task]]))
  dispatcher.rest()
})

describe('small batches that end while others are being completed', () => {
  const decide = (names: string, from: number): Map<HeldTask, TaskDecision> =>
    new Map([...names].map((name, index) => [taskOf(name, from + index), TaskDecision.success()]))
  const many = (count: number): Map<HeldTask, TaskDecision> =>
    new Map(Array.from({ length: count }, (_, index) => [taskOf('x', index), TaskDecision.success()]))

  /** Two go their own way, one after the other, until the gate is open. */
  const busy = async (answers: Answering = answering(), environment = answers.environment) => {
    const shared = new SharedCompletions(environment)
    const gate = Promise.withResolvers<void>()
    const alone: string[] = []
    const bring = (decisions: Map<HeldTask, TaskDecision>, single = true) =>
      shared.complete(decisions, single, async () => void alone.push(namesOf(decisions.keys())))
    const ways: Promise<unknown>[] = []
    for (const way of [0, 1]) {
      const begun = Promise.withResolvers<void>()
      ways.push(shared.complete(decide('o', way), true, () => (begun.resolve(), gate.promise)))
      await begun.promise
    }
    return { answers, shared, gate, alone, bring, ways }
  }

  test.each([
    [undefined, undefined, 'autocommit'],
    [['succeeded'], { discard: ['succeeded'] }, 'transaction'],
  ] as const)('discard what the topic discards (%j), in a transaction', async (discard, expected, begun) => {
    const given: unknown[] = []
    const answers = answering()
    const { repository: below } = answers.environment
    const repository = {
      ...below,
      complete: async (...args: Parameters<typeof below.complete>) => {
        given.push(args[3])
        return below.complete(...args)
      },
    } as typeof below
    const { gate, bring } = await busy(answers, { ...answers.environment, repository, ...(discard && { discard }) })
    const all = [bring(decide('a', 1)), bring(decide('b', 2))]
    gate.resolve()
    await soon(Promise.all(all))
    expect([given, answers.begun]).toEqual([[expected], [begun]])
  })

  test('are completed together; each hears of its own', async () => {
    const { answers, gate, alone, bring, ways } = await busy()
    const [later, sooner] = [decide('cd', 3), decide('ab', 1)]
    answers.answer = () => [...later.keys()].slice(0, 1)
    const outcomes = [bring(later), bring(sooner)]
    gate.resolve()
    expect(await soon(Promise.all(ways))).toEqual([undefined, undefined])
    const [c, d] = later.keys()
    expect(await soon(Promise.all(outcomes))).toEqual([
      { completed: [d], lost: [c] },
      { completed: [...sooner.keys()], lost: [] },
    ])
    expect([answers.asked, answers.begun, alone]).toEqual([['complete c,d,a,b'], ['autocommit'], []])
  })

  test('are one statement only where each would be one', async () => {
    const { answers, gate, bring } = await busy()
    const outcomes = [bring(decide('a', 1), true), bring(decide('b', 2), false)]
    gate.resolve()
    await soon(Promise.all(outcomes))
    expect([answers.asked, answers.begun]).toEqual([['complete a,b'], ['transaction']])
  })

  test('are in a transaction if more is kept of one of them than its row', async () => {
    const { answers, gate, bring } = await busy()
    const [task] = decide('b', 2).keys()
    const outcomes = [bring(decide('a', 1)), bring(new Map([[task!, TaskDecision.success().withValue('1')]]))]
    gate.resolve()
    await soon(Promise.all(outcomes))
    expect([answers.asked, answers.begun]).toEqual([['complete a,b'], ['transaction']])
  })

  test('are a thousand tasks at most, in the order of their coming; the others go with the next', async () => {
    const { answers, gate, bring } = await busy()
    const sizes: number[] = []
    answers.answer = (_, __, { size }) => void sizes.push(size)
    const outcomes = [...Array.from({ length: 10 }, () => bring(many(99))), bring(many(10)), bring(many(1)), bring(many(99))]
    gate.resolve()
    await soon(Promise.all(outcomes))
    expect(sizes.toSorted((left, right) => right - left)).toEqual([1_000, 100])
  })

  test('go alone where together they cannot be written, and the next go together again', async () => {
    const { answers, gate, alone, bring } = await busy()
    answers.answer = () => {
      if (answers.asked.length === 1) throw new Error('not together')
    }
    const outcomes = [bring(decide('a', 1)), bring(decide('b', 2))]
    gate.resolve()
    expect(await soon(Promise.all(outcomes))).toEqual([undefined, undefined])
    expect(alone).toEqual(['a', 'b'])
    const next = await busy(answers)
    const together = [next.bring(decide('c', 3)), next.bring(decide('d', 4))]
    next.gate.resolve()
    await soon(Promise.all(together))
    expect([answers.asked.at(-1), next.alone]).toEqual(['complete c,d', []])
  })

  test('that end in the same turn are completed together from the start', async () => {
    const answers = answering()
    const shared = new SharedCompletions(answers.environment)
    const alone: string[] = []
    const bring = async (name: string) => {
      // Handlers that wait for nothing end one after the other.
      for (let count = name.charCodeAt(0); count > 90; count--) await undefined
      return shared.complete(decide(name, 0), true, async () => void alone.push(name))
    }
    await soon(Promise.all(['a', 'c', 'e'].map(bring)))
    expect([answers.asked, alone]).toEqual([['complete a,c,e'], []])
    await soon(bring('g'))
    expect([answers.asked.length, alone]).toEqual([1, ['g']])
  })

  test('do not keep a batch of a thousand, which gains nothing by company', async () => {
    const { answers, alone, bring } = await busy()
    expect(await soon(bring(many(1_000)))).toBeUndefined()
    expect([alone.length, answers.asked]).toEqual([1, []])
    const waiting = bring(many(999))
    await expect(soon(waiting)).rejects.toThrow('does not come')
    expect(alone).toHaveLength(1)
  })

  test('go on where the one before waits for a lock, once for each', async () => {
    const answers = answering()
    const other = new SharedCompletions(answers.environment)
    const giving: (() => void)[] = []
    for (const name of 'op') {
      void other.complete(decide(name, 0), true, (giveWay) => (giving.push(giveWay!), new Promise<void>(() => {})))
      await expect.poll(() => giving.length).toBe('op'.indexOf(name) + 1)
    }
    const alone: string[] = []
    const ask = (name: string) => other.complete(decide(name, 1), true, async () => void alone.push(name))
    const waiting = ask('a')
    await expect(soon(waiting)).rejects.toThrow('does not come')
    giving[0]!()
    giving[0]!()
    await soon(waiting)
    expect(alone).toEqual(['a'])
    // There is room for one, and no more: the other waits still.
    await soon(ask('b'))
    expect(alone).toEqual(['a', 'b'])
    const begun = Promise.withResolvers<void>()
    void other.complete(decide('c', 1), true, () => (begun.resolve(), new Promise<void>(() => {})))
    await begun.promise
    await expect(soon(ask('d'))).rejects.toThrow('does not come')
  })
})
