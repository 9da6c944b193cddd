/** In transactional mode a batch that ends before its time, or after it, has no effects. */
import { setTimeout } from 'node:timers/promises'
import { TaskDecision } from '@taskstream/task-api'
import type { HandlerContext } from '@taskstream/task-processor'
import { describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import type { AnyTransaction } from '../subject.ts'
import { decideAll, useEffects } from './effects.ts'

describe.skipIf(!canRun)('transactional mode', () => {
  const { fixture, write, effects, options } = useEffects('transactional')

  test('rolls back when it is stopped and the handler lets go, and reports what is ready again', async () => {
    await fixture.push('a', 'b')
    const began = Promise.withResolvers<void>()
    const node = fixture.nodeOf()
    node.process(
      fixture.topic,
      options(async ([task], { signal, complete }) => {
        if (task!.identifier === 'a') return decideAll(TaskDecision.success(), [task!])
        await complete(async (transaction, held) => {
          await write(transaction, held)
          began.resolve()
          await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
          return new Map()
        })
        return undefined
      }),
    )
    await node.start()
    await began.promise
    const { returned, abandoned } = await node.stop({ graceMs: 0 })
    expect([returned.map(({ identifier }) => identifier), abandoned]).toEqual([['b'], []])
    expect(await fixture.states()).toEqual({ succeeded: 1, ready: 1 })
    expect(await effects()).toEqual([])
  })

  test('gives a transaction up that its handler does not let go of, and lets nothing be committed through it', async (context) => {
    context.skip(fixture.subject.writers === 1, 'A source of SQLite has one connection, and so nothing to go on with.')
    await fixture.push('a', 'b', 'c')
    const gate = Promise.withResolvers<void>()
    const late = Promise.withResolvers<unknown>()
    const stuck = Promise.withResolvers<unknown>()
    const { clock, node } = fixture.clocked({ listener: { onStuck: ({ tasks }) => stuck.resolve(tasks[0]?.identifier) } })
    await using _ = node
    const tries: number[] = []
    node.process(fixture.topic, {
      ...options(async ([task], { complete }) => {
        if (task!.identifier === 'b') tries.push(task!.tries)
        await complete(async (transaction, held) => {
          if (task!.identifier === 'b' && tries.length === 1) {
            await gate.promise
            await write(transaction, held).catch(late.resolve)
          } else await write(transaction, held)
          return decideAll(TaskDecision.success(), held)
        })
      }),
      concurrency: 2,
      timeoutMs: 5_000,
      abortMs: 1_000,
    })
    await node.start()
    await expect.poll(() => tries.length).toBe(1)
    // Only b is still at work when its time is up.
    await expect.poll(async () => (await fixture.states())['succeeded']).toBe(2)
    clock.advance(6_000)
    expect(await stuck.promise).toBe('b')
    // The task is leased while its first handler still runs. Then the clock stands, so the second handler has enough time.
    await expect.poll(() => (tries.length === 1 && clock.advance(1_000), fixture.states())).toEqual({ succeeded: 3 })
    gate.resolve()
    expect(await late.promise).toBeInstanceOf(Error)
    expect(await effects()).toEqual(['a', 'b', 'c'])
  })

  test('completes by the work that its handler has handed in and not awaited, whatever the handler returns', async () => {
    await fixture.push('a', 'b', 'c')
    await using node = fixture.nodeOf()
    const completed: number[] = []
    node.process(
      fixture.topic,
      options(async ([task], { complete }) => {
        const completing = complete(async (transaction, held) => {
          await setTimeout(20)
          await write(transaction, held)
          return decideAll(TaskDecision.success(), held)
        })
        void completing.then((completion) => completed.push(completion.completed.length))
        return decideAll(TaskDecision.success(), [task!])
      }),
    )
    await node.start()
    await expect.poll(() => fixture.states()).toEqual({ succeeded: 3 })
    await expect.poll(() => completed).toEqual([1, 1, 1])
    expect(await effects()).toEqual(['a', 'b', 'c'])
  })

  test('refuses a completion when the transaction is over', async () => {
    await fixture.push('a', 'b')
    let context: HandlerContext<AnyTransaction> | undefined
    let calls = 0
    await using node = fixture.nodeOf()
    node.process(
      fixture.topic,
      options(async (batch, given) => {
        if (batch[0]!.identifier === 'b' && calls++ === 0) {
          context = given
          throw new Error('rolled back')
        }
        return decideAll(TaskDecision.success(), batch)
      }),
    )
    await node.start()
    await expect.poll(fixture.states).toEqual({ succeeded: 2 })
    await expect(context!.complete(() => new Map())).rejects.toMatchObject({ code: 'TASK_LOST' })
  })
})
