/** Without a notifier, a node still lets go of its tasks when heartbeats fail, and ends with its process. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { TaskDecision } from '@taskstream/task-api'
import type { TaskError } from '@taskstream/task-api'
import { eachTask } from '@taskstream/task-processor'
import { describe, expect, onTestFinished, test } from 'vitest'
import { canRun } from '../subject.ts'
import { useNodeFixture } from './fixture.ts'

describe.skipIf(!canRun)('a node without a notifier', () => {
  const fixture = useNodeFixture('without-notifier')

  test('aborts its handlers when no heartbeat comes through, whatever else does, and goes on when one does', async () => {
    await fixture.push('a')
    let broken = false
    const told: string[] = []
    const { node, pass } = fixture.clocked(
      { heartbeatIntervalMs: 1_000, leaseMs: 10_000, listener: { onLeaseLost: () => void told.push('lost') } },
      (tasks) => ({
        ...tasks,
        heartbeat: (transaction) => {
          if (broken) throw new Error('no way through')
          return tasks.heartbeat(transaction)
        },
      }),
    )
    await using _ = node
    node.process(fixture.topic, {
      handler: eachTask(async ({ attempt }, { signal }) => {
        told.push(`attempt ${attempt}`)
        if (attempt > 1) return TaskDecision.success()
        broken = true
        await once(signal, 'abort')
        told.push((signal.reason as TaskError).code)
        broken = false
        throw signal.reason
      }),
    })
    await node.start()
    await expect.poll(() => told).toEqual(['attempt 1'])
    await expect.poll(() => (pass(1_000), fixture.states())).toEqual({ succeeded: 1 })
    expect(told).toEqual(['attempt 1', 'lost', 'LEASE_LOST', 'attempt 2'])
  })

  test('ends in order when its process is asked to, and its tasks are handed back', async () => {
    await fixture.push('a')
    const orders = [JSON.stringify(fixture.subject.location), fixture.topic]
    const worker = fork(new URL('asked-to-end.ts', import.meta.url), orders, { execArgv: ['--conditions=@taskstream/source'] })
    onTestFinished(() => void worker.kill('SIGKILL'))
    const messages: unknown[] = []
    worker.on('message', (message) => messages.push(message))
    await expect.poll(() => messages).toEqual(['holds'])
    worker.kill('SIGTERM')
    // A process may have exited before its last message is read. It closes after that.
    const [code] = await once(worker, 'close')
    expect(code).toBe(0)
    expect(messages).toEqual(['holds', { finished: [], returned: ['a'], abandoned: [] }])
    expect(await fixture.states()).toEqual({ ready: 1 })
  })
})
