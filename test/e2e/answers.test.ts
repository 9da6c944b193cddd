/** A handler that returns something other than decisions fails its tasks, with an error that says so. */
import { TaskDecision } from '@taskstream/task-api'
import { eachTask } from '@taskstream/task-processor'
import { describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import { useNodeFixture } from './fixture.ts'

describe.skipIf(!canRun)('a node', () => {
  const fixture = useNodeFixture('answers')

  test('says at once of a handler of batches that returns nothing what it is to return, in either mode', async () => {
    for (const mode of ['leased', 'transactional'] as const) {
      await fixture.next()
      await fixture.push('a', 'b')
      const errors: unknown[] = []
      await using node = fixture.nodeOf({ listener: { onError: ({ activity, error }) => errors.push([activity, error]) } })
      // In transactional mode only the first batch is leased. The second is rolled back, is then leased, and fails.
      let count = 0
      node.process(fixture.topic, {
        mode,
        size: 1,
        concurrency: 1,
        handler: ([task]) => (count++ === 0 ? new Map([[task!, TaskDecision.success()]]) : undefined),
      })
      await node.start()
      await expect.poll(fixture.states).toEqual({ succeeded: 1, failed: 1 })
      expect(errors[0]).toMatchObject(['handle', { code: 'DECISIONS_MISSING', data: { topic: fixture.topic } }])
      const [, failed] = await fixture.page()
      expect(failed?.output).toMatch(/returned nothing.*return a Map.*eachTask/)
    }
  })

  test('fails a task alone for which something else than a decision is returned, one by one or at once', async () => {
    for (const concurrency of [1, 3]) {
      await fixture.next()
      await fixture.push('a', 'wrong', 'wrong later', 'b')
      await using node = fixture.nodeOf()
      const wrong = { succeeded: true } as unknown as TaskDecision
      node.process(fixture.topic, {
        handler: eachTask(
          ({ identifier }) =>
            identifier === 'wrong' ? wrong : identifier === 'wrong later' ? Promise.resolve(wrong) : TaskDecision.success(),
          { concurrency },
        ),
      })
      await node.start()
      await expect.poll(fixture.states).toEqual({ succeeded: 2, failed: 2 })
      const outputs = (await fixture.page()).map(({ output = '' }) => output.includes('must be a TaskDecision, or nothing'))
      expect(outputs).toEqual([false, true, true, false])
    }
  })
})
