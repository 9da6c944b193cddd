/** A buffer keeps batches at hand, no more than it may, and hands back what it does not use. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import { buffering, eachTask } from '@taskstream/task-processor'
import type { BufferState, Decisions } from '@taskstream/task-processor'
import { describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import { useNodeFixture } from './fixture.ts'

const decideAll = (tasks: readonly HeldTask[]): Decisions => new Map(tasks.map((task) => [task, TaskDecision.success()]))

/** Returns a delegate whose batches wait until it is opened. */
function gated(): {
  readonly begun: string[]
  readonly handle: (batch: readonly HeldTask[]) => Promise<Decisions>
  open(): void
} {
  const gate = Promise.withResolvers<void>()
  const begun: string[] = []
  return {
    begun,
    handle: async (batch) => {
      begun.push(...batch.map(({ identifier }) => identifier))
      await gate.promise
      return decideAll(batch)
    },
    open: () => gate.resolve(),
  }
}

describe.skipIf(!canRun)('a buffer', () => {
  const fixture = useNodeFixture('buffer')

  test('keeps batches at hand for its workers, and no more is polled than it takes', async () => {
    await fixture.push(...'abcdefgh')
    const { begun, handle, open } = gated()
    const states: BufferState[] = []
    await using node = fixture.nodeOf()
    node.process(fixture.topic, {
      size: 1,
      idleMs: 20,
      handler: buffering({ buffer: 3, workers: 2, handler: handle, observer: (state) => void states.push(state) }),
    })
    await node.start()
    await expect.poll(() => states.at(-1)).toEqual({ topic: fixture.topic, waiting: 3, working: 2 })
    expect(begun).toEqual(['a', 'b'])
    expect(await fixture.states()).toEqual({ active: 5, ready: 3 })
    open()
    await expect.poll(fixture.states).toEqual({ succeeded: 8 })
    expect(begun.toSorted()).toEqual([...'abcdefgh'])
    expect(states.filter(({ waiting, working }) => waiting > 3 || working > 2)).toEqual([])
    await expect.poll(() => states.at(-1)).toMatchObject({ waiting: 0, working: 0 })
  })

  test('has a delegate of its own for each worker, and closes each once, also when one cannot be', async () => {
    await fixture.push(...'abcdef')
    const log: string[] = []
    let opened = 0
    const delegate = {
      open: (topic: string) => {
        const name = `${topic}/${opened++}`
        log.push(`open ${name}`)
        return {
          handle: async (batch: readonly HeldTask[]) => {
            log.push(`handle ${name}`)
            await new Promise((resolve) => setImmediate(resolve))
            return decideAll(batch)
          },
          close: () => {
            log.push(`close ${name}`)
            if (name.endsWith('/1')) throw new Error('cannot be closed')
          },
        }
      },
    }
    const errors: unknown[] = []
    const node = fixture.nodeOf({ listener: { onError: ({ error }) => errors.push(error) } })
    node.process(fixture.topic, { size: 1, handler: buffering({ buffer: 2, workers: 3, handler: delegate }) })
    await node.start()
    await expect.poll(fixture.states).toEqual({ succeeded: 6 })
    await node.stop()
    const names = [0, 1, 2].map((index) => `${fixture.topic}/${index}`)
    expect(log.filter((line) => line.startsWith('open'))).toEqual(names.map((name) => `open ${name}`))
    expect(log.filter((line) => line.startsWith('close'))).toEqual(names.map((name) => `close ${name}`))
    for (const name of names) expect(log).toContain(`handle ${name}`)
    expect(errors).toMatchObject([{ errors: [new Error('cannot be closed')] }])
  })

  test('fails the batch of a delegate that throws, and no other', async () => {
    await fixture.push('a', 'bad', 'c')
    await using node = fixture.nodeOf()
    const handler = (batch: readonly HeldTask[]): Decisions => {
      if (batch[0]!.identifier === 'bad') throw new Error('bad')
      return decideAll(batch)
    }
    node.process(fixture.topic, { size: 1, handler: buffering({ buffer: 1, workers: 2, handler }) })
    await node.start()
    await expect.poll(fixture.states).toEqual({ succeeded: 2, failed: 1 })
  })

  test.each([
    ['handle', { succeeded: 3 }, 3, 0],
    ['return', { succeeded: 1, ready: 2 }, 1, 2],
    ['fail', { succeeded: 1, failed: 2 }, 3, 0],
  ] as const)(
    'closed with pendingOnClose %s, makes of what waits what it was told to',
    async (pendingOnClose, states, finished, returned) => {
      await fixture.push('a', 'b', 'c')
      const { begun, handle, open } = gated()
      const seen: BufferState[] = []
      const node = fixture.nodeOf()
      const observer = (state: BufferState): void => void seen.push(state)
      node.process(fixture.topic, {
        size: 1,
        handler: buffering({ buffer: 2, workers: 1, handler: handle, pendingOnClose, observer }),
      })
      await node.start()
      await expect.poll(() => seen.at(-1)?.waiting).toBe(2)
      const stopped = node.stop()
      if (pendingOnClose !== 'handle') await expect.poll(() => seen.at(-1)?.waiting).toBe(0)
      expect(begun).toEqual(['a'])
      open()
      const report = await stopped
      expect([report.finished.length, report.returned.length]).toEqual([finished, returned])
      expect(await fixture.states()).toEqual(states)
      if (pendingOnClose === 'fail') expect((await fixture.page())[1]?.output).toContain('is closed')
    },
  )

  test('hands back what has not begun when its time is up, and goes on with what comes next', async () => {
    await fixture.push('a', 'b', 'c')
    const begun: string[] = []
    const { clock, node } = fixture.clocked()
    await using _ = node
    node.process(fixture.topic, {
      size: 1,
      timeoutMs: 1_000,
      handler: buffering({
        buffer: 1,
        workers: 1,
        handler: eachTask(async ({ identifier, attempt }, { signal }) => {
          begun.push(`${identifier} ${attempt}`)
          if (identifier === 'a')
            await new Promise((__, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
        }),
      }),
    })
    await node.start()
    await expect.poll(fixture.states).toEqual({ active: 2, ready: 1 })
    clock.advance(1_000)
    await expect.poll(fixture.states).toEqual({ failed: 1, succeeded: 2 })
    // The hand-back of b and the poll of c are two transactions, and either may be first.
    expect(begun.toSorted()).toEqual(['a 1', 'b 2', 'c 1'])
  })

  test('carries the context of who brings a batch to the worker', async () => {
    const storage = new AsyncLocalStorage<string>()
    const seen: unknown[] = []
    const opened = buffering({
      buffer: 5,
      workers: 1,
      handler: async () => {
        seen.push(storage.getStore())
        await new Promise((resolve) => setImmediate(resolve))
        seen.push(storage.getStore())
        return new Map()
      },
    }).open('any')
    const { signal } = new AbortController()
    const batches = ['one', 'two'].map((name) => storage.run(name, () => opened.handle([], { signal } as never)))
    await Promise.all(batches)
    expect(seen).toEqual(['one', 'one', 'two', 'two'])
    await opened.close?.()
    await expect(opened.handle([], { signal } as never)).rejects.toMatchObject({ code: 'SHUTDOWN' })
  })

  test('refuses sizes and handlers that make no sense, and closes what it had opened when one cannot be', () => {
    const handler = eachTask(() => {})
    for (const options of [
      { buffer: -1, workers: 1, handler },
      { buffer: 1, workers: 0, handler },
      { buffer: 1, workers: 1, handler: {} },
      { buffer: 1, workers: 1, handler, pendingOnClose: 'drop' },
    ])
      expect(() => buffering(options as never)).toThrow(expect.objectContaining({ code: 'ARGUMENT_INVALID' }))
    let open = 0
    const delegate = {
      open: () => {
        if (open === 2) throw new Error('third')
        open++
        return { handle: () => new Map(), close: () => void open-- }
      },
    }
    expect(() => buffering({ buffer: 1, workers: 3, handler: delegate }).open('any')).toThrow('third')
    expect(open).toBe(0)
  })
})
