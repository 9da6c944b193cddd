/** A composite that is closed waits for its batches, and opens no more of them than it may. */
import { TaskDecision, TaskError } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import { composite, exponential, handleBatch } from '@taskstream/task-processor'
import type { CompositeOptions, HandlerContext, TaskContext } from '@taskstream/task-processor'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { testTasks } from '@taskstream/task-testing'
import type { TestTasks } from '@taskstream/task-testing'
import { gate, handlerContext, heldTasks, said } from '../composite.ts'
import type { Gate } from '../composite.ts'

describe('the capacity of a composite', () => {
  test.each([
    [undefined, undefined],
    [0, 1],
    [1, 1],
    [7, 7],
  ])('of concurrency %s is %s batches', (concurrency, capacity) => {
    const options: CompositeOptions<unknown> = concurrency === undefined ? {} : { concurrency }
    expect(
      composite(options)
        .each('a', () => {})
        .open('t').capacity,
    ).toBe(capacity)
  })
})

describe('a composite that is closed', () => {
  let hold: Gate
  let events: string[]
  beforeEach(() => {
    hold = gate()
    events = []
  })

  const opened = (options: CompositeOptions<unknown>) =>
    composite(options)
      .each('held', async (_, __, { signal }) => {
        signal.addEventListener('abort', () => events.push(`asked to let go: ${(signal.reason as TaskError).code}`))
        await hold.pass()
        events.push('held ends')
      })
      .each('next', () => void events.push('next'), { after: ['held'] })
      .open('t')

  test('waits for all of its batches', async () => {
    const { handle, close } = opened({})
    const handled = [handle(heldTasks('a'), handlerContext()), handle(heldTasks('b'), handlerContext())]
    await hold.reached
    const closed = Promise.resolve(close!()).then(() => events.push('closed'))
    hold.open()
    expect((await Promise.all(handled)).flatMap(said)).toEqual(['a success', 'b success'])
    await closed
    expect(events).toEqual(['held ends', 'held ends', 'next', 'next', 'closed'])
  })

  test('returns what is pending when it is told to: steps are asked to let go, and none is begun (B24)', async () => {
    const { handle, close } = opened({ pendingOnClose: 'return' })
    const handled = handle(heldTasks('a'), handlerContext())
    await hold.reached
    await Promise.all([close!(), expect(handled).rejects.toMatchObject({ code: 'SHUTDOWN', data: { topic: 't' } })])
    hold.open()
    await new Promise(setImmediate)
    expect(events).toEqual(['asked to let go: SHUTDOWN', 'held ends'])
  })

  test('leaves batches alone that are done', async () => {
    hold.open()
    const { handle, close } = opened({ pendingOnClose: 'fail' })
    expect(said((await handle(heldTasks('a'), handlerContext())) ?? undefined)).toEqual(['a success'])
    await close!()
    expect(events).toEqual(['held ends', 'next'])
  })
})

describe('a composite at work on a topic', () => {
  let tasks: TestTasks<unknown>
  let hold: Gate
  const events: string[] = []
  beforeEach(async () => {
    events.length = 0
    hold = gate()
    tasks = (await testTasks({ topics: ['mail'] })) as unknown as TestTasks<unknown>
    await tasks.push('mail', 'a', 'b')
  })
  afterEach(() => tasks[Symbol.asyncDispose]())
  const states = (): (string | undefined)[] =>
    tasks.repository.page(tasks.database, 'mail').map(({ state, output = '' }) => `${state} ${output.split('\n')[0]}`.trim())

  test('closed before its steps have ended, fails every task of the batch, which nothing can complete then (B24)', async () => {
    const context: TaskContext<unknown> = {
      apply: () => void events.push('apply'),
      afterTransaction: () => void events.push('afterTransaction'),
    }
    const { handle, close } = composite({ pendingOnClose: 'fail', contexts: [context] })
      .batch('held', () => hold.pass())
      .open('mail')
    const drained = tasks.drain('mail', handle)
    await hold.reached
    await close!()
    await drained
    const failed = 'failed TaskError: The pipeline of topic "mail" was closed before this task was done'
    expect(states()).toEqual([failed, failed])
    hold.open()
    await new Promise(setImmediate)
    expect(events).toEqual([])
    expect(states()).toEqual([failed, failed])
  })

  test('closed before its steps have ended, hands the batch back undone, if it is told to (B24)', async () => {
    const { handle, close } = composite({ pendingOnClose: 'return' })
      .batch('held', () => hold.pass())
      .open('mail')
    const { repository, transactions, database } = tasks
    const batch = await transactions((transaction) => repository.poll(transaction, 'mail', { size: 2 }))
    const handled = handleBatch(batch, { repository, transactions, topic: 'mail', handler: handle })
    await hold.reached
    await close!()
    await handled
    expect(states()).toEqual(['ready', 'ready'])
    hold.open()
    expect(repository.poll(database, 'mail', { size: 2 }).map(({ tries }) => tries)).toEqual([1, 1])
  })

  test.each(['fail', 'return'] as const)(
    'closed while a batch is being completed, lets it be completed (B24, %s)',
    async (pendingOnClose) => {
      const context: TaskContext<unknown> = {
        apply: () => hold.pass(),
        afterTransaction: () => void events.push('afterTransaction'),
      }
      const { handle, close } = composite({ pendingOnClose, contexts: [context] })
        .batch('step', () => {})
        .open('mail')
      const drained = tasks.drain('mail', async (batch, context) => {
        const decisions = await handle(batch, context)
        events.push(`decides ${decisions?.size ?? 'nothing'}`)
        return decisions
      })
      await hold.reached
      const closed = close!()
      hold.open()
      await closed
      await drained
      expect(states()).toEqual(['succeeded', 'succeeded'])
      expect(events).toEqual(['afterTransaction', 'decides nothing'])
    },
  )

  test('closed at any moment, has one outcome (B24)', async () => {
    const outcomes = new Set<string>()
    for (let moments = 0; moments < 60; moments++) {
      const ended = gate()
      const context: TaskContext<unknown> = { apply: () => void events.push(`apply ${moments}`) }
      const { handle, close } = composite({ pendingOnClose: 'return', contexts: [context] })
        .batch('step', () => void ended.pass())
        .open('mail')
      const complete: HandlerContext<never>['complete'] = async (decide) => {
        await (decide as (transaction: unknown, held: readonly HeldTask[]) => unknown)('transaction', batch)
        return { completed: batch, lost: [] }
      }
      const batch = heldTasks('a')
      const outcome = Promise.resolve(handle(batch, { ...handlerContext(), complete })).then(
        () => 'completed',
        (error: TaskError) => error.code,
      )
      await ended.reached
      for (let moment = 0; moment < moments; moment++) await Promise.resolve()
      await close!()
      const how = await outcome
      outcomes.add(how)
      await new Promise(setImmediate)
      expect(events.includes(`apply ${moments}`)).toBe(how === 'completed')
    }
    expect(outcomes).toEqual(new Set(['SHUTDOWN', 'completed']))
  })

  test('leaves it to the retry policy when its time is up: what it decided does not count', async () => {
    const { repository, transactions, clock } = tasks
    const batch = await transactions((transaction) => repository.poll(transaction, 'mail', { size: 2 }))
    const handler = composite()
      .batch('done', () => new Map(batch.map((task) => [task, TaskDecision.filter()])))
      .each('held', async (_, __, { signal }) => {
        signal.addEventListener('abort', () => hold.open())
        await hold.pass()
      })
    const retry = exponential({ tries: 2, firstMs: 5_000 })
    const handled = handleBatch(batch, { repository, transactions, topic: 'mail', handler, timeoutMs: 1_000, clock, retry })
    await hold.reached
    clock.advance(1_000)
    const { decisions } = await handled
    expect(states().map((state) => state?.split(':')[0])).toEqual(['suspended TaskError', 'suspended TaskError'])
    for (const { explanations } of decisions.values()) expect(explanations).toMatchObject([{ code: 'TASK_TIMEOUT' }])
  })

  test('is not begun to be completed when it has been aborted', async () => {
    const controller = new AbortController()
    const context: TaskContext<unknown> = { apply: () => void events.push('apply') }
    const { handle } = composite({ contexts: [context] })
      .batch('step', () => controller.abort(new TaskError('LEASE_LOST', 'gone')))
      .open('mail')
    await expect(handle(heldTasks('a'), handlerContext(controller.signal))).rejects.toMatchObject({ code: 'LEASE_LOST' })
    expect(events).toEqual([])
  })
})
