/** Calls of repositories, handlers and steps are told of on channels, where somebody listens. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { channel, tracingChannel } from 'node:diagnostics_channel'
import { taskChannel, taskChannels, TaskDecision } from '@taskstream/task-api'
import type { HandlerCall, RepositoryCall, StepCall, TaskCreation } from '@taskstream/task-api'
import { composite, eachTask } from '@taskstream/task-processor'
import { describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import type { AnyTransaction } from '../subject.ts'
import { useNodeFixture } from './fixture.ts'

/** Hears the starts of calls in a topic until it is disposed of. */
function hearing<Call extends { readonly topic?: string }>(name: string, topic: string, start: (call: Call) => void): Disposable {
  const heard = tracingChannel<unknown, Call>(name).start
  const hear = (call: unknown): void => {
    if ((call as Call).topic === topic) start(call as Call)
  }
  heard.subscribe(hear)
  return { [Symbol.dispose]: () => void heard.unsubscribe(hear) }
}

describe.skipIf(!canRun)('whoever listens', () => {
  const fixture = useNodeFixture('told-calls', { keyed: true })

  test('hears of pushes, polls, completions and actions, with their arguments and results', async () => {
    const calls: RepositoryCall[] = []
    const { topic } = fixture
    using _push = hearing<RepositoryCall>(taskChannels.push, topic, (call) => calls.push(call))
    using _poll = hearing<RepositoryCall>(taskChannels.poll, topic, (call) => calls.push(call))
    using _complete = hearing<RepositoryCall>(taskChannels.complete, topic, (call) => calls.push(call))
    using _action = hearing<RepositoryCall>(taskChannels.action, topic, (call) => calls.push(call))
    await fixture.commit((tx) => fixture.tasks.register(tx))
    await fixture.push('a', 'b')
    const [task] = await fixture.poll(1)
    const { tasks } = fixture
    await fixture.complete((tx) => tasks.complete(tx, topic, new Map([[task!, TaskDecision.success()]])))
    await fixture.commit((tx) => tasks.deactivate(tx, topic))
    expect(calls.map(({ verb, owner }) => [verb, owner])).toEqual([
      ['push', tasks.owner],
      ['poll', tasks.owner],
      ['complete', tasks.owner],
      ['deactivate', tasks.owner],
    ])
    expect(calls[0]!.result).toMatchObject([{ identifier: 'a' }, { identifier: 'b' }])
    expect(calls[1]!.result).toEqual([task])
    expect(calls[2]!.result).toMatchObject({ completed: [task], lost: [] })
  })

  test('hears of the error of a call', async () => {
    const unknown = `${fixture.topic}-unknown`
    const calls: RepositoryCall[] = []
    using _push = hearing<RepositoryCall>(taskChannels.push, unknown, (call) => calls.push(call))
    fixture.turnTo(unknown)
    await expect(fixture.push('a')).rejects.toMatchObject({ code: 'TOPIC_UNKNOWN' })
    expect(calls).toMatchObject([{ verb: 'push', error: { code: 'TOPIC_UNKNOWN' } }])
  })

  test('may add headers to what is pushed', async () => {
    using _push = hearing<RepositoryCall>(taskChannels.push, fixture.topic, (call) => {
      call.args[1] = (call.args[1] as TaskCreation[]).map((creation) => ({ ...creation, headers: { added: true } }))
    })
    await fixture.push({ identifier: 'a' })
    expect(await fixture.page()).toMatchObject([{ identifier: 'a', headers: { added: true } }])
  })

  test('may run a handler and its steps within a context of its own', async () => {
    const context = new AsyncLocalStorage<string>()
    const { topic } = fixture
    const seen: (string | undefined)[] = []
    const steps: StepCall[] = []
    using _handle = hearing<HandlerCall>(taskChannels.handle, topic, (call) => {
      call.within = (work) => context.run('handler', work)
    })
    using _step = hearing<StepCall>(taskChannels.step, topic, (call) => {
      steps.push(call)
      seen.push(context.getStore())
      call.within = (work) => context.run(call.step, work)
    })
    await fixture.push('a')
    await using node = fixture.nodeOf()
    const done = Promise.withResolvers<void>()
    const handler = composite<AnyTransaction>()
      .each('one', () => void seen.push(context.getStore()))
      .each('two', () => done.resolve(void seen.push(context.getStore())), { after: ['one'] })
    node.process(topic, { handler, idleMs: 20 })
    await node.start()
    await done.promise
    expect(seen).toEqual(['handler', 'one', 'handler', 'two'])
    expect(steps.map(({ step, tasks }) => [step, tasks.length])).toEqual([
      ['one', 1],
      ['two', 1],
    ])
  })

  test('knows which task of a batch a line of code is about, although several are handled at a time', async () => {
    const context = new AsyncLocalStorage<string>()
    const calls = channel(taskChannel)
    calls.bindStore(context, (call) => (call as { task: { identifier: string } }).task.identifier)
    try {
      await fixture.push('a', 'b', 'c')
      await using node = fixture.nodeOf()
      const seen: [string, string | undefined][] = []
      const all = Promise.withResolvers<void>()
      const handle = eachTask<AnyTransaction>(
        async ({ identifier }) => {
          if (seen.push([identifier, context.getStore()]) === 3) all.resolve()
          await all.promise
          seen.push([identifier, context.getStore()])
        },
        { concurrency: 3 },
      )
      node.process(fixture.topic, { handler: handle, size: 3, concurrency: 1, idleMs: 20 })
      await node.start()
      await all.promise
      await node.stop()
      expect(seen).toHaveLength(6)
      for (const [identifier, store] of seen) expect(store).toBe(identifier)
    } finally {
      calls.unbindStore(context)
    }
  })
})
