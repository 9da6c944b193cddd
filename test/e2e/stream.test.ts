/** A stream brings tasks in order, and tasks that are left undecided are not lost. */
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import { describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import { useNodeFixture } from './fixture.ts'

const decideAll = (decision: TaskDecision, tasks: readonly HeldTask[]): ReadonlyMap<HeldTask, TaskDecision> =>
  new Map(tasks.map((task) => [task, decision]))

describe.skipIf(!canRun)('a stream', () => {
  const fixture = useNodeFixture('stream')

  test('brings the tasks of a topic in order, batch by batch, until its signal says so', async () => {
    const identifiers = Array.from({ length: 25 }, (_, index) => String(index))
    await fixture.push(...identifiers)
    const errors: unknown[] = []
    await using node = fixture.nodeOf({ listener: { onError: ({ error }) => errors.push(error) } })
    await node.start()
    const stop = new AbortController()
    const seen: string[] = []
    for await (const batch of node.stream(fixture.topic, { size: 10, signal: stop.signal, idleMs: 20 })) {
      seen.push(...batch.tasks.map(({ identifier }) => identifier))
      const { completed } = await batch.complete(decideAll(TaskDecision.success(), batch.tasks))
      expect(completed).toEqual(batch.tasks)
      if (seen.length === 25) stop.abort()
    }
    expect(seen).toEqual(identifiers)
    expect(await fixture.states()).toEqual({ succeeded: 25 })
    // Nobody processes the topic any more, so a second stream may begin.
    await fixture.push('last')
    for await (const batch of node.stream(fixture.topic, { idleMs: 20 })) {
      await batch.complete((_, held) => decideAll(TaskDecision.filter(), held))
      break
    }
    expect(await fixture.states()).toEqual({ succeeded: 25, filtered: 1 })
    expect(errors).toEqual([])
  })

  test('fails what was left undecided when the next batch is asked for, and hands back what the loop was left with', async () => {
    await fixture.push('a', 'b', 'c')
    await using node = fixture.nodeOf()
    await node.start()
    for await (const { tasks } of node.stream(fixture.topic, { size: 1, idleMs: 20 })) if (tasks[0]!.identifier === 'b') break
    expect(await fixture.states()).toEqual({ failed: 1, ready: 2 })
    const error = new Error('in the loop')
    await expect(
      (async () => {
        for await (const { tasks } of node.stream(fixture.topic, { idleMs: 20 })) if (tasks.length > 0) throw error
      })(),
    ).rejects.toBe(error)
    expect(await fixture.states()).toEqual({ failed: 1, ready: 2 })
    expect((await fixture.page()).map(({ tries }) => tries)).toEqual([1, 0, 0])
  })

  test('ends when its node is stopped, and lets the batch that is looked at be completed', async () => {
    await fixture.push('a', 'b', 'c')
    const node = fixture.nodeOf()
    await node.start()
    let stopped: Promise<unknown> = Promise.resolve()
    const seen: string[] = []
    for await (const batch of node.stream(fixture.topic, { size: 1 })) {
      stopped = node.stop()
      seen.push(batch.tasks[0]!.identifier)
      await batch.complete(decideAll(TaskDecision.success(), batch.tasks))
    }
    await stopped
    expect(seen).toEqual(['a'])
    expect(await fixture.states()).toEqual({ succeeded: 1, ready: 2 })
  })

  test('is not begun where the topic is processed already, nor when its signal is aborted from the start', async () => {
    await using node = fixture.nodeOf()
    await node.start()
    node.process(fixture.topic, { handler: () => new Map() })
    await expect(node.stream(fixture.topic).next()).rejects.toMatchObject({ code: 'LIFECYCLE' })
    expect(await node.stream(fixture.topic, { signal: AbortSignal.abort() }).next()).toEqual({ done: true, value: undefined })
  })
})
