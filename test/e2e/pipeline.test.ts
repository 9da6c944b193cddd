/**
 * The contexts of a composite write in the transaction that completes a batch, all or nothing, and act again after its commit.
 */
import { supplementToken, TaskDecision } from '@taskstream/task-api'
import type { HeldTask, TaskInfo, TransactionSource } from '@taskstream/task-api'
import { composite, exponential, handleBatch, TaskNode } from '@taskstream/task-processor'
import type { BatchHandler, BatchOutcome, Composite, TaskContext } from '@taskstream/task-processor'
import { sql } from '@taskstream/task-sql'
import { describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import type { AnyTransaction } from '../subject.ts'
import { useWriting } from './writing.ts'

describe.skipIf(!canRun)('the contexts of a composite', () => {
  const { fixture, written, writing } = useWriting()

  const handle = (
    handler: Composite<AnyTransaction, string>,
    tasks: readonly HeldTask[],
    transactions: TransactionSource<AnyTransaction> = fixture.subject.transactions,
  ): Promise<BatchOutcome> => handleBatch(tasks, { repository: fixture.tasks, transactions, topic: fixture.topic, handler })
  const pushed = async (...identifiers: string[]): Promise<HeldTask[]> => {
    await fixture.push(...identifiers)
    return fixture.poll()
  }
  const ended = async (): Promise<string[]> =>
    (await fixture.page()).map(({ identifier, state, output = '' }: TaskInfo) =>
      `${identifier} ${state} ${output.split('\n')[0]}`.trim(),
    )
  const nothing = (): void => {}

  test('write with the completion, for what is still held', async () => {
    const batch = await pushed('a', 'b', 'c')
    const Note = supplementToken<string>('note')
    const noting: TaskContext<AnyTransaction> = {
      apply: (_, decisions, supplement) =>
        new Map([...decisions.keys()].map((task) => [task, TaskDecision.success(supplement.require(Note, task))])),
    }
    const pipeline = composite({ contexts: [writing, noting] })
      .each('note', ({ identifier }) => `noted ${identifier}`, { provides: Note })
      .each('decide', ({ identifier }) => (identifier === 'b' ? TaskDecision.filter('old') : undefined), { after: ['note'] })
      // Meanwhile somebody else has completed the last one.
      .batch('lose', async ([, last]) => void (await fixture.complete([last!])), { after: ['decide'] })
    const { completion } = await handle(pipeline, batch)
    expect(completion.lost.map(({ identifier }) => identifier)).toEqual(['c'])
    expect(await ended()).toEqual(['a succeeded noted a', 'b filtered old', 'c succeeded'])
    expect(await written()).toEqual(['a'])
  })

  test('are not asked when nothing is held any more', async () => {
    const batch = await pushed('a')
    const events: string[] = []
    const context: TaskContext<AnyTransaction> = {
      apply: () => void events.push('apply'),
      afterTransaction: () => void events.push('afterTransaction'),
    }
    const pipeline = composite({ contexts: [context] }).batch('lose', async () => void (await fixture.complete(batch)))
    expect((await handle(pipeline, batch)).completion.lost).toEqual(batch)
    expect(events).toEqual([])
  })

  test.each([
    [
      'the database refuses',
      (transaction: AnyTransaction) => fixture.subject.execute(transaction, sql`select * from nowhere_at_all`),
    ],
    ['fails by itself', () => Promise.reject(new Error('nowhere_at_all'))],
  ])('roll everything back when one of them %s; then the tasks fail in a new transaction', async (_, fail) => {
    const batch = await pushed('a', 'b')
    let runs = 0
    const failing: TaskContext<AnyTransaction> = {
      apply: async (transaction) => {
        runs++
        await fail(transaction)
      },
      afterTransaction: () => void runs++,
    }
    const pipeline = composite({ contexts: [writing, failing, writing] }).each('step', ({ identifier }) =>
      identifier === 'b' ? TaskDecision.filter() : undefined,
    )
    const { completion, decisions } = await handle(pipeline, batch)
    expect(completion.completed).toEqual(batch)
    // The steps' own decisions are dropped, as nothing was written for them.
    for (const { result, explanations } of decisions.values()) {
      expect(result).toBe('failure')
      expect(String(explanations[0])).toContain('nowhere_at_all')
    }
    expect(await fixture.states()).toEqual({ failed: 2 })
    expect(await written()).toEqual([])
    expect(runs).toBe(1)
  })

  test('leave it to the retry policy when one of them fails', async () => {
    const batch = await pushed('a')
    const failing: TaskContext<AnyTransaction> = { apply: () => Promise.reject(new Error('busy')) }
    const { repository, ...given } = {
      repository: fixture.tasks,
      transactions: fixture.subject.transactions,
      topic: fixture.topic,
    }
    const handler = composite({ contexts: [writing, failing] }).batch('step', nothing)
    await handleBatch(batch, { repository, ...given, handler, retry: exponential({ tries: 2, firstMs: 60_000 }) })
    expect(await fixture.states()).toEqual({ delayed: 1 })
    expect(await written()).toEqual([])
  })

  test('fail the tasks that one of them has left out, in the very transaction', async () => {
    const batch = await pushed('a', 'b')
    const partial: TaskContext<AnyTransaction> = { apply: () => new Map([[batch[0]!, TaskDecision.success('here')]]) }
    await handle(composite({ contexts: [writing, partial] }).batch('step', nothing), batch)
    expect(await ended()).toEqual(['a succeeded here', 'b failed Context "contexts[1]" returned no decision for this task'])
    expect(await written()).toEqual(['a', 'b'])
  })

  test('fail the whole batch when one of them decides of a task that it was not given, or of none', async () => {
    for (const [returned, text] of [
      [(batch: readonly HeldTask[]) => new Map([[{ ...batch[0] }, TaskDecision.success()]]), 'Context "wrong" decided of'],
      [() => [], 'context "wrong" must return a Map'],
    ] as const) {
      await fixture.nextTopic()
      const batch = await pushed('a')
      const wrong: TaskContext<AnyTransaction> = { name: 'wrong', apply: () => returned(batch) as never }
      await handle(composite({ contexts: [writing, wrong] }).batch('step', nothing), batch)
      expect((await ended())[0]).toContain(`a failed TaskError: ${text}`)
      expect(await written()).toEqual([])
    }
  })

  test('are given what the ones before them decided, and may be opened for each batch', async () => {
    const batch = await pushed('a', 'b')
    const opened: unknown[] = []
    const filtering: TaskContext<AnyTransaction> = {
      apply: (_, decisions) =>
        new Map(
          [...decisions].map(([task, decision]) => [task, task.identifier === 'a' ? TaskDecision.filter('late') : decision]),
        ),
    }
    const factory = {
      open: ({ topic, tasks }: { topic: string; tasks: readonly HeldTask[] }) => {
        opened.push([topic, tasks])
        return writing
      },
    }
    await handle(composite({ contexts: [filtering, factory] }).batch('step', nothing), batch)
    expect(await ended()).toEqual(['a filtered late', 'b succeeded'])
    expect(await written()).toEqual(['b'])
    expect(opened).toEqual([[fixture.topic, batch]])
  })

  test('may be run again in a new transaction, and are told of the commit once', async () => {
    const batch = await pushed('a', 'b')
    const events: unknown[] = []
    const context: TaskContext<AnyTransaction> = {
      apply: () => void events.push('apply'),
      afterTransaction: ({ decisions, completion }) => void events.push(decisions.size, completion.completed.length),
    }
    // As a source does after a deadlock: the first transaction leaves nothing.
    const rolledBack = new Error('rolled back')
    const again: TransactionSource<AnyTransaction> = async (work) => {
      const first = fixture.commit(async (transaction) => {
        await work(transaction)
        throw rolledBack
      })
      await expect(first).rejects.toBe(rolledBack)
      return fixture.commit(work)
    }
    await handle(composite({ contexts: [writing, context] }).batch('step', nothing), batch, again)
    expect(await written()).toEqual(['a', 'b'])
    expect(events).toEqual(['apply', 'apply', 2, 2])
  })

  test('that only wait for the commit cost no statement: decisions are completed as they are, and what was lost is not told', async () => {
    const batch = await pushed('a', 'b')
    const told: string[] = []
    const contexts: TaskContext<AnyTransaction>[] = [
      { afterTransaction: ({ decisions }) => void told.push(...[...decisions.keys()].map(({ identifier }) => identifier)) },
    ]
    const { handle: handlePipeline } = composite({ contexts })
      .batch('lose', async ([first]) => void (await fixture.complete([first!])))
      .open(fixture.topic)
    const given: string[] = []
    const handler: BatchHandler<AnyTransaction> = (tasks, context) =>
      handlePipeline(tasks, {
        ...context,
        complete: (decide) => {
          given.push(typeof decide)
          return context.complete(decide)
        },
      })
    await handleBatch(batch, {
      repository: fixture.tasks,
      transactions: fixture.subject.transactions,
      topic: fixture.topic,
      handler,
    })
    expect(given).toEqual(['object'])
    expect(told).toEqual(['b'])
  })

  test('cannot undo the completion when they fail after the commit: it is reported, and nothing more is done (B22)', async () => {
    await fixture.push('a', 'b')
    const events: string[] = []
    const errors: unknown[] = []
    const hook = (name: string, error?: Error): TaskContext<AnyTransaction> => ({
      afterTransaction: () => {
        events.push(name)
        if (error) throw error
      },
    })
    const contexts = [hook('first', new Error('one')), writing, hook('second', new Error('other')), hook('third')]
    const completed = Promise.withResolvers<void>()
    await using node = new TaskNode<AnyTransaction>({
      repository: await fixture.owner(),
      transactions: fixture.subject.transactions,
      listener: {
        onComplete: ({ completion }) => events.push(`completed ${completion.completed.length}`),
        onLost: () => events.push('lost'),
        onError: ({ activity, error }) => {
          errors.push(activity, error)
          completed.resolve()
        },
      },
    })
    node.process(fixture.topic, { handler: composite({ contexts }).batch('step', nothing) })
    await node.start()
    await completed.promise
    await node.stop()
    expect(events).toEqual(['completed 2', 'first', 'second', 'third'])
    expect(errors).toEqual(['handle', expect.any(AggregateError)])
    expect((errors[1] as AggregateError).errors.map(String)).toEqual(['Error: one', 'Error: other'])
    expect(await fixture.states()).toEqual({ succeeded: 2 })
    expect(await written()).toEqual(['a', 'b'])
  })
})
