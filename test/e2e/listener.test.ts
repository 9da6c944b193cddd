/** Listeners are notified of all events in order, and cannot disturb the node. */
import { channel, tracingChannel } from 'node:diagnostics_channel'
import { TaskDecision } from '@taskstream/task-api'
import { eachTask } from '@taskstream/task-processor'
import type { TaskListener } from '@taskstream/task-processor'
import { describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import { useNodeFixture } from './fixture.ts'

const events = [
  'onStart',
  'onDispatched',
  'onCallback',
  'onComplete',
  'onLost',
  'onReturned',
  'onStuck',
  'onEmpty',
  'onError',
  'onRecovered',
  'onFatal',
  'onLeaseLost',
  'onQuiet',
  'onBlocked',
] as const satisfies readonly (keyof TaskListener)[]

/** The events of batches that succeed or fail. `unit/listener` tries all others. */
const frequent = [
  'onStart',
  'onDispatched',
  'onCallback',
  'onComplete',
  'onError',
  'onEmpty',
] as const satisfies readonly (keyof TaskListener)[]

/** Returns a listener that passes every event to `answer`, and returns what that returns. */
function everything(answer: (name: keyof TaskListener, event: never) => unknown): TaskListener {
  return Object.fromEntries(events.map((name) => [name, (event: never) => answer(name, event)])) as TaskListener
}

describe.skipIf(!canRun)('a listener', () => {
  const fixture = useNodeFixture('listener')

  test('is told of every step of a batch, with the trace that its start returned', async () => {
    await fixture.push('a')
    const heard: [string, unknown][] = []
    const done = Promise.withResolvers<void>()
    const listener = everything((name, event: { trace?: unknown }) => {
      heard.push([name, event.trace])
      if (name === 'onEmpty' && heard.length > 4) done.resolve()
      return name === 'onStart' ? { span: 7 } : undefined
    })
    await using node = fixture.nodeOf({ listener })
    node.process(fixture.topic, { idleMs: 20, concurrency: 1, handler: eachTask(() => {}) })
    await node.start()
    await done.promise
    expect(heard.slice(0, 5)).toEqual([
      ['onStart', undefined],
      ['onDispatched', { span: 7 }],
      ['onCallback', { span: 7 }],
      ['onComplete', { span: 7 }],
      ['onEmpty', undefined],
    ])
  })

  test.each(['leased', 'transactional'] as const)(
    'is told what has become of the tasks, as the database has it: a retry is no suspension, and a failure without tries: %s',
    async (mode) => {
      const pause = { afterMs: 3_600_000 }
      const decisions = {
        done: TaskDecision.success(),
        none: TaskDecision.filter(),
        wait: TaskDecision.suspension(),
        bad: TaskDecision.failure(),
        again: TaskDecision.retry(pause),
        last: TaskDecision.retry(pause),
        later: TaskDecision.snooze(pause),
      }
      await fixture.push(...Object.keys(decisions).map((identifier) => ({ identifier, maxTries: identifier === 'last' ? 1 : 2 })))
      const told: Record<string, number> = {}
      await using node = fixture.nodeOf({
        listener: {
          onComplete: ({ outcomes }) => {
            for (const [outcome, count] of Object.entries(outcomes)) told[outcome] = (told[outcome] ?? 0) + count
          },
        },
      })
      const decide = eachTask(({ identifier }) => decisions[identifier as keyof typeof decisions])
      node.process(fixture.topic, { mode, idleMs: 20, handler: decide })
      await node.start()
      await expect.poll(() => Object.values(told).reduce((sum, count) => sum + count, 0)).toBe(7)
      expect(told).toEqual({ success: 1, filter: 1, suspension: 1, failure: 2, retry: 1, snooze: 1 })
      expect(await fixture.states()).toEqual({ succeeded: 1, filtered: 1, failed: 2, suspended: 1, delayed: 2 })
    },
  )

  test.each(frequent)('stops nothing when its %s throws', async (thrower) => {
    const warnings: string[] = []
    // Warnings are collected here instead of printed.
    const printing = process.listeners('warning')
    process.removeAllListeners('warning')
    process.on('warning', ({ message }) => void warnings.push(message))
    try {
      await fixture.push('ok', 'bad')
      const listener = everything((name) => {
        if (name === thrower) throw new Error(`from ${name}`)
      })
      await using node = fixture.nodeOf({ listener })
      node.process(fixture.topic, {
        idleMs: 20,
        size: 1,
        handler: (batch) => {
          if (batch[0]?.identifier === 'bad') throw new Error('bad')
          return new Map(batch.map((task) => [task, TaskDecision.success()]))
        },
      })
      await node.start()
      await expect.poll(fixture.states).toEqual({ succeeded: 1, failed: 1 })
      await fixture.push('ok')
      await expect.poll(fixture.states).toEqual({ succeeded: 2, failed: 1 })
      await expect.poll(() => warnings.join()).toContain(`${thrower} threw: Error: from ${thrower}`)
    } finally {
      process.removeAllListeners('warning')
      for (const print of printing) process.on('warning', print)
    }
  })

  test('stops nothing when its promise rejects', async () => {
    await fixture.push('a')
    const warned = new Promise<Error>((resolve) => process.once('warning', resolve))
    await using node = fixture.nodeOf({ listener: { onComplete: async () => Promise.reject(new Error('later')) } })
    node.process(fixture.topic, { handler: eachTask(() => {}) })
    await node.start()
    await expect.poll(fixture.states).toEqual({ succeeded: 1 })
    expect((await warned).message).toContain('onComplete threw: Error: later')
  })

  test('has its events, and a span around each handler, published for who subscribes', async () => {
    await fixture.push('a')
    const published: string[] = []
    const onStart = (event: unknown): void => void published.push(`start ${(event as { topic: string }).topic}`)
    const spans = {
      start: () => void published.push('span'),
      end: () => {},
      asyncStart: () => void published.push('span ended'),
      asyncEnd: () => {},
      error: () => {},
    }
    channel('taskstream:onStart').subscribe(onStart)
    tracingChannel('taskstream:handle').subscribe(spans)
    try {
      await using node = fixture.nodeOf()
      node.process(fixture.topic, { handler: eachTask(() => {}) })
      await node.start()
      await expect.poll(fixture.states).toEqual({ succeeded: 1 })
      expect(published).toEqual([`start ${fixture.topic}`, 'span', 'span ended'])
    } finally {
      channel('taskstream:onStart').unsubscribe(onStart)
      tracingChannel('taskstream:handle').unsubscribe(spans)
    }
  })
})
