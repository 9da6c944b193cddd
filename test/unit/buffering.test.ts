/** Who waits in a buffer, who works, and what becomes of both when it is closed. */
import type { TaskDecision } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import { buffering } from '@taskstream/task-processor'
import type { BufferingOptions, BufferState, HandlerContext, OpenHandler } from '@taskstream/task-processor'
import { describe, expect, test } from 'vitest'
import { namesOf, soon, tasksOf, unheardOf } from './answering.ts'

interface Buffer {
  readonly open: OpenHandler<object>
  /** The names of batches, each with the worker that has it. */
  readonly begun: string[]
  readonly states: (readonly [waiting: number, working: number])[]
  readonly closed: number[]
  close(): Promise<void>
  /** Brings a batch. */
  bring(names: string): { readonly done: Promise<unknown>; abort(): void }
  /** Ends one that is at work. */
  end(names: string, how?: 'well' | Error): Promise<void>
}

const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve))
}

function bufferOf(options: Partial<BufferingOptions<object>> = {}, onClose: (worker: number) => void = () => {}): Buffer {
  const [begun, states, closed]: [string[], [number, number][], number[]] = [[], [], []]
  const gates = new Map<string, PromiseWithResolvers<Map<HeldTask, TaskDecision>>>()
  let workers = 0
  const open = buffering<object>({
    buffer: 3,
    workers: 2,
    observer: ({ topic, waiting, working }: BufferState) => {
      expect(topic).toBe('mail')
      states.push([waiting, working])
    },
    handler: {
      open: () => {
        const worker = workers++
        return {
          handle: (batch, { topic }) => {
            expect(topic).toBe('mail')
            begun.push(`${namesOf(batch)} by ${worker}`)
            const gate = Promise.withResolvers<Map<HeldTask, TaskDecision>>()
            gates.set(namesOf(batch), gate)
            return gate.promise
          },
          close: async () => {
            closed.push(worker)
            onClose(worker)
          },
        }
      },
    },
    ...options,
  }).open('mail')
  return {
    open,
    begun,
    states,
    closed,
    close: async () => open.close?.(),
    bring: (names) => {
      const controller = new AbortController()
      const batch = tasksOf(names)
      const done = Promise.resolve(open.handle(batch, { signal: controller.signal, topic: 'mail' } as HandlerContext<object>))
      done.catch(() => {})
      return { done, abort: () => controller.abort(new Error('stop')) }
    },
    end: async (names, how = 'well') => {
      if (how === 'well') gates.get(names)!.resolve(new Map())
      else gates.get(names)!.reject(how)
      await settled()
    },
  }
}

describe('a buffer', () => {
  test('gives each worker a batch, and keeps the others in order until one has time; every change is told', async () => {
    const { open, begun, states, bring, end } = bufferOf()
    expect(open.capacity).toBe(5)
    const first = bring('a')
    for (const names of 'bcd') bring(names)
    expect(begun).toEqual(['a by 0', 'b by 1'])
    expect(states).toEqual([
      [0, 1],
      [0, 2],
      [1, 2],
      [2, 2],
    ])
    await end('b')
    expect(begun.slice(2)).toEqual(['c by 1'])
    await end('a')
    expect(begun.slice(3)).toEqual(['d by 0'])
    expect(await soon(first.done)).toEqual(new Map())
    expect(states.slice(4)).toEqual([
      [1, 2],
      [0, 2],
    ])
    await end('d')
    await end('c')
    expect(states.slice(6)).toEqual([
      [0, 1],
      [0, 0],
    ])
    // Whoever has been idle for longest.
    bring('e')
    expect(begun.at(-1)).toBe('e by 0')
  })

  test('hands on what a worker throws to its own batch, and the worker goes on', async () => {
    const { begun, bring, end } = bufferOf({ workers: 1 })
    const [a, b] = [bring('a'), bring('b')]
    const error = new Error('no')
    await end('a', error)
    await expect(soon(a.done)).rejects.toBe(error)
    expect(begun).toEqual(['a by 0', 'b by 0'])
    await end('b')
    expect(await soon(b.done)).toEqual(new Map())
  })

  test('lets go of a batch that waits and is asked to, at once and of no other; one at work is its worker’s', async () => {
    const { begun, states, bring, end } = bufferOf({ workers: 1 })
    const [a, , c] = [bring('a'), bring('b'), bring('c'), bring('d')]
    states.splice(0)
    c!.abort()
    expect(await soon(c!.done)).toEqual(new Map())
    expect(states).toEqual([[2, 1]])
    a!.abort()
    c!.abort()
    expect(states).toHaveLength(1)
    await end('a')
    await end('b')
    expect(begun).toEqual(['a by 0', 'b by 0', 'd by 0'])
    // The first in the line, too.
    const [e] = [bring('e'), bring('f')]
    e!.abort()
    await end('d')
    expect(begun.slice(3)).toEqual(['f by 0'])
  })

  test.each(['handle', 'return', 'fail', undefined] as const)(
    'that is closed does with what waits as it was told to: %s',
    async (pendingOnClose) => {
      const { close, begun, states, closed, bring, end } = bufferOf({ workers: 1, ...(pendingOnClose && { pendingOnClose }) })
      const [a, b, c] = [bring('a'), bring('b'), bring('cd')]
      states.splice(0)
      let isClosed = false
      const closing = close().then(() => (isClosed = true))
      const handles = pendingOnClose === 'handle' || pendingOnClose === undefined
      expect(states).toEqual([[handles ? 2 : 0, 1]])
      await expect(soon(bring('e').done)).rejects.toMatchObject({ code: 'SHUTDOWN', data: { topic: 'mail' } })
      if (pendingOnClose === 'return') {
        await expect(soon(b.done)).rejects.toMatchObject({ code: 'SHUTDOWN' })
        await expect(soon(c.done)).rejects.toMatchObject({ code: 'SHUTDOWN' })
      }
      if (pendingOnClose === 'fail') {
        const decisions = (await soon(c.done)) as Map<HeldTask, TaskDecision>
        expect(namesOf(decisions.keys())).toBe('c,d')
        for (const decision of decisions.values())
          expect(decision).toMatchObject({ result: 'failure', explanations: [expect.objectContaining({ code: 'SHUTDOWN' })] })
        expect((await soon(b.done)) as object).toBeInstanceOf(Map)
      }
      await settled()
      expect([isClosed, closed]).toEqual([false, []])
      await end('a')
      expect(await soon(a.done)).toEqual(new Map())
      if (handles) {
        expect([isClosed, begun]).toEqual([false, ['a by 0', 'b by 0']])
        await end('b')
        await end('c,d')
        expect(await soon(c.done)).toEqual(new Map())
      }
      await soon(closing)
      expect([isClosed, closed]).toEqual([true, [0]])
      expect(begun).toHaveLength(handles ? 3 : 1)
    },
  )

  test('is closed once, and tells of each worker that could not be', async () => {
    const { close, closed } = bufferOf({ workers: 3 }, (worker) => {
      if (worker !== 1) throw new Error(`not ${worker}`)
    })
    const failure = (await soon(close().catch((error: unknown) => error as AggregateError))) as AggregateError
    expect(closed).toEqual([0, 1, 2])
    expect(failure).toMatchObject({
      errors: [expect.objectContaining({ message: 'not 0' }), expect.objectContaining({ message: 'not 2' })],
      message: '2 handlers of topic "mail" could not be closed',
    })
    await soon(close())
    expect(closed).toHaveLength(3)
    const single = bufferOf({ workers: 1 }, () => {
      throw new Error('not this one')
    })
    await expect(soon(single.close())).rejects.toBeInstanceOf(AggregateError)
    await soon(bufferOf({ handler: () => new Map() }).close())
  })

  test('closes the workers that it has opened when another cannot be', async () => {
    const closed: number[] = []
    let opened = 0
    const error = new Error('no more')
    const factory = buffering<object>({
      buffer: 0,
      workers: 3,
      handler: {
        open: () => {
          const worker = opened++
          if (worker === 2) throw error
          return { handle: () => new Map(), close: async () => void closed.push(worker) }
        },
      },
    })
    expect(() => factory.open('mail')).toThrow(error)
    await settled()
    expect(closed).toEqual([0, 1])
  })

  test('warns of a worker that cannot be closed after another could not be opened', async () => {
    const warnings: Error[] = []
    const hear = (warning: Error): void => void warnings.push(warning)
    process.on('warning', hear)
    try {
      const error = new Error('no more')
      let opened = 0
      const open = (): { handle: () => Map<HeldTask, TaskDecision>; close: () => void } => {
        if (opened++ > 0) throw error
        return {
          handle: () => new Map(),
          close: () => {
            throw new Error('stuck')
          },
        }
      }
      expect(() => buffering<object>({ buffer: 0, workers: 2, handler: { open } }).open('mail')).toThrow(error)
      await settled()
      expect(warnings.map(({ message }) => message)).toEqual([
        expect.stringMatching(/^The close of a buffer threw: AggregateError/),
      ])
    } finally {
      process.off('warning', hear)
    }
  })

  test('whose observer throws goes on, and that is a warning', async () => {
    const warnings: Error[] = []
    const hear = (warning: Error): void => void warnings.push(warning)
    process.on('warning', hear)
    try {
      const { begun, bring } = bufferOf({
        observer: () => {
          throw new Error('blind')
        },
      })
      bring('a')
      await settled()
      expect(begun).toEqual(['a by 0'])
      expect(warnings.map(({ message }) => message)).toEqual([
        expect.stringMatching(/^The observer of a buffer threw: Error: blind/),
      ])
    } finally {
      process.off('warning', hear)
    }
  })

  test('needs nobody who looks on', async () => {
    const warnings: Error[] = []
    const hear = (warning: Error): void => void warnings.push(warning)
    process.on('warning', hear)
    try {
      const { begun, bring } = bufferOf({ observer: undefined } as never)
      bring('a')
      await settled()
      expect([begun, warnings]).toEqual([['a by 0'], []])
    } finally {
      process.off('warning', hear)
    }
  })

  test('refuses sizes, handlers and ends that are none', () => {
    const handler = (): Map<HeldTask, TaskDecision> => new Map()
    const given = { buffer: 0, workers: 1, handler }
    for (const wrong of [
      { buffer: -1 },
      { buffer: 10_001 },
      { workers: 0 },
      { workers: 1_001 },
      { handler: undefined },
      { handler: {} },
      { handler: 'yes' },
      { pendingOnClose: 'keep' },
      { pendingOnClose: '' },
      { buffers: 1 },
    ])
      expect(() => buffering({ ...given, ...wrong } as never)).toThrow(expect.objectContaining({ code: 'ARGUMENT_INVALID' }))
    for (const right of [{ buffer: 10_000 }, { workers: 1_000 }, { handler: { open: () => ({ handle: handler }) } }])
      expect(() => buffering({ ...given, ...right } as never)).not.toThrow()
  })
})

test('an observer of a buffer whose promise rejects is warned of', async () => {
  using unheard = unheardOf()
  const warned = new Promise<Error>((resolve) => process.once('warning', resolve))
  const observer = async (): Promise<never> => Promise.reject(new Error('of the observer'))
  const open = buffering<object>({ buffer: 0, workers: 1, handler: () => new Map(), observer }).open('mail')
  await open.handle([], { signal: new AbortController().signal, topic: 'mail' } as HandlerContext<object>)
  expect((await soon(warned)).message).toMatch(/^The observer of a buffer threw: Error: of the observer/)
  expect(unheard.errors).toEqual([])
})
