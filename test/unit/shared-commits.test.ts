/** Commits of small batches that come together share a transaction, and take effect as if each had its own. */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Completion, HeldTask, Holding, TransactionSource } from '@taskstream/task-api'
import { TaskDecision } from '@taskstream/task-api'
import { testTasks } from '@taskstream/task-testing'
import type { TestTasks } from '@taskstream/task-testing'
import type { DatabaseSync } from 'node:sqlite'
import { describe, expect, test } from 'vitest'
import { Dispatcher } from '../../packages/task-processor/src/core/dispatcher.ts'
import { SharedCommits } from '../../packages/task-processor/src/batches/shared-commits.ts'
import type { Committed } from '../../packages/task-processor/src/batches/shared-commits.ts'
import { namesOf } from './answering.ts'
import { settled } from './leased.ts'

type Decide = (name: string) => void | Promise<void>

interface Bench extends AsyncDisposable {
  readonly tasks: TestTasks<DatabaseSync>
  readonly held: readonly HeldTask[]
  /** What each transaction did: the names of the tasks whose functions ran in it. */
  readonly transactions: string[]
  readonly shared: SharedCommits<DatabaseSync>
  /** Completes tasks; the function of each writes an effect and then does this. */
  bring(tasks: readonly HeldTask[], decide?: Decide): Promise<Committed | Completion>
  effects(): string[]
  states(): string
}

async function open(names: string, share: number, wrap = (same: TransactionSource<DatabaseSync>) => same): Promise<Bench> {
  const tasks = await testTasks({ topics: ['mail', 'effects'] })
  await tasks.push('mail', ...names)
  const { repository } = tasks
  const held = await tasks.transactions<HeldTask[]>((transaction) => repository.poll(transaction, 'mail', { size: 200 }))
  const transactions: string[] = []
  const counted: TransactionSource<DatabaseSync> = (work) =>
    tasks.transactions((transaction) => {
      transactions.push('')
      return work(transaction)
    })
  const dispatcher = new Dispatcher({ repository, transactions: wrap(counted), statementTimeoutMs: 30_000 })
  const shared = new SharedCommits<DatabaseSync>({ repository, dispatcher, topic: 'mail', clock: tasks.clock }, share)
  return {
    tasks,
    held,
    transactions,
    shared,
    bring: async (own, decide = () => {}) => {
      const deciding = async (transaction: DatabaseSync, some: readonly HeldTask[]): Promise<Map<HeldTask, TaskDecision>> => {
        transactions[transactions.length - 1] += namesOf(some)
        for (const { identifier } of some) repository.push(transaction, 'effects', identifier)
        await decide(namesOf(some))
        return new Map(some.map((task) => [task, TaskDecision.success()]))
      }
      let completion: Completion | undefined
      const committed = await shared.complete({ tasks: own, decide: deciding }, async () => {
        completion = await dispatcher.once(async (transaction) => {
          const { held: still, lost }: Holding = repository.hold(transaction, 'mail', own)
          const decisions = await shared.measured(() => deciding(transaction, still))
          return { ...repository.complete(transaction, 'mail', decisions), lost }
        })
      })
      return committed ?? completion!
    },
    effects: () => repository.page(tasks.database, 'effects').map(({ identifier }) => identifier),
    states: () =>
      repository
        .page(tasks.database, 'mail')
        .map(({ state }) => state[0])
        .join(''),
    [Symbol.asyncDispose]: async () => {
      dispatcher.rest()
      await tasks[Symbol.asyncDispose]()
    },
  }
}

describe('commits that come while two are under way', () => {
  test('share the next transaction, in the order of their tasks, each in the context of its handler', async () => {
    await using bench = await open('abcdef', 20)
    const storage = new AsyncLocalStorage<string>()
    const contexts: unknown[] = []
    const outcomes = bench.held.toReversed().map((task) =>
      storage.run(task.identifier, () =>
        bench.bring([task], (name) => {
          contexts.push([name, storage.getStore()])
        }),
      ),
    )
    // f and e came first. SQLite runs one transaction at a time, and each of them has its own.
    await expect.poll(() => bench.transactions).toEqual(['f', 'e', 'abcd'])
    const all = await Promise.all(outcomes)
    expect(contexts).toEqual([...'feabcd'].map((name) => [name, name]))
    expect(
      all.map((outcome) => ('completion' in outcome ? outcome.completion : outcome).completed.map((task) => task.identifier)),
    ).toEqual([...'fedcba'].map((name) => [name]))
    expect([bench.effects().join(''), bench.states()]).toEqual(['feabcd', 'ssssss'])
  })

  test('share it up to the limit, and the rest the next', async () => {
    await using bench = await open('abcdefg', 3)
    await Promise.all(bench.held.map((task) => bench.bring([task])))
    expect(bench.transactions).toEqual(['a', 'b', 'cde', 'fg'])
  })

  test('run again alone, one after the other, if one of them throws: only that one fails', async () => {
    await using bench = await open('abcdef', 20)
    let open_ = 0
    let most = 0
    const outcomes = await Promise.allSettled(
      bench.held.map((task) =>
        bench.bring([task], async (name) => {
          most = Math.max(most, ++open_)
          await Promise.resolve()
          open_--
          if (name === 'd') throw new Error('d cannot')
        }),
      ),
    )
    expect(bench.transactions).toEqual(['a', 'b', 'cd', 'c', 'd', 'e', 'f'])
    expect(outcomes.map(({ status }) => status[0]).join('')).toBe('fffrff')
    expect([bench.effects().join(''), bench.states(), most]).toEqual(['abcef', 'sssass', 1])
  })

  test('go alone once functions take long, and one that takes long keeps nobody waiting', async () => {
    await using bench = await open('abcdefg', 20)
    const gates = new Map<string, () => void>()
    const bring = (from: number, to: number): Promise<unknown>[] =>
      bench.held.slice(from, to).map((task) =>
        bench.bring([task], (name) => {
          bench.tasks.clock.advance(10)
          return name === 'c' ? new Promise((resolve) => gates.set('c', resolve)) : undefined
        }),
      )
    // Each takes ten milliseconds, so two go together.
    await Promise.all(bring(0, 2))
    const rest = bring(2, 7)
    await expect.poll(() => gates.has('c')).toBe(true)
    gates.get('c')!()
    await Promise.all(rest)
    expect(bench.transactions).toEqual(['a', 'b', 'c', 'd', 'ef', 'g'])
    expect(bench.states()).toBe('sssssss')
  })

  test('run again alone before those that came later, which share again', async () => {
    await using bench = await open('abcdefg', 20)
    const all: Promise<unknown>[] = []
    const bring = (from: number, to: number): void => {
      for (const task of bench.held.slice(from, to))
        all.push(
          bench.bring([task], (name) => {
            if (name !== 'd') return
            // The first time, when they share.
            if (all.length === 4) {
              bring(4, 7)
              throw new Error('d cannot')
            }
          }),
        )
    }
    bring(0, 4)
    await expect.poll(() => bench.transactions).toEqual(['a', 'b', 'cd', 'e', 'c', 'd', 'fg'])
    await Promise.all(all)
    expect(bench.states()).toBe('sssssss')
  })

  test('share where connections can be closed, too', async () => {
    await using bench = await open('abcd', 20, (source) => Object.assign(source, { closesAbandoned: true }))
    const all = bench.held.map((task) => bench.bring([task]))
    await expect.poll(() => bench.states()).toBe('ssss')
    await Promise.all(all)
    expect(bench.transactions).toEqual(['a', 'b', 'cd'])
  })

  test('go alone until functions have been quick for a while', async () => {
    await using bench = await open('abcdefg', 20)
    for (const [index, ms] of [60, 24, 0].entries())
      await bench.bring([bench.held[index]!], () => void bench.tasks.clock.advance(ms))
    const rest = bench.held.slice(3).map((task) => bench.bring([task]))
    await expect.poll(() => bench.transactions).toEqual(['a', 'b', 'c', 'd', 'e', 'f', 'g'])
    await Promise.all(rest)
  })

  test('do not decide of tasks that were lost meanwhile, and say so', async () => {
    await using bench = await open('abcd', 20)
    await bench.tasks.transactions((transaction) => bench.tasks.repository.cancel(transaction, 'mail', bench.held[2]!.sequence))
    const [, , third, fourth] = await Promise.all(bench.held.map((task) => bench.bring([task])))
    expect(bench.transactions).toEqual(['a', 'b', 'd'])
    expect([third, fourth]).toMatchObject([
      { completion: { completed: [], lost: [{ identifier: 'c' }] } },
      { completion: { completed: [{ identifier: 'd' }], lost: [] } },
    ])
    expect(bench.effects().join('')).toBe('abd')
  })

  test('are undone together if one of them takes the task of another: alone, the first wins', async () => {
    await using bench = await open('abcd', 20)
    const [, , third, fourth] = await Promise.all(
      bench.held.map((task) =>
        bench.bring([task], (name) => {
          if (name === 'c') bench.tasks.repository.cancel(bench.tasks.database, 'mail', bench.held[3]!.sequence)
        }),
      ),
    )
    expect(bench.transactions).toEqual(['a', 'b', 'cd', 'c', ''])
    expect([third, fourth]).toMatchObject([
      { completed: [{ identifier: 'c' }], lost: [] },
      { completed: [], lost: [{ identifier: 'd' }] },
    ])
    expect([bench.effects().join(''), bench.states()]).toEqual(['abc', 'sssf'])
  })

  test.each([
    [true, ['a', 'b', 'c', 'c', 'd']],
    [false, ['a', 'b', 'c']],
  ])('are freed from one that hangs for two seconds, if its connection can be closed (%s)', async (closesAbandoned, ran) => {
    await using bench = await open('abcd', 20, (source) => Object.assign(source, { closesAbandoned }))
    const hangs = Promise.withResolvers<void>()
    const begun = Promise.withResolvers<void>()
    let isFirst = true
    const all = bench.held.map((task) =>
      bench.bring([task], async (name) => {
        if (name !== 'c' || !isFirst) return
        isFirst = false
        begun.resolve()
        await hangs.promise
        throw new Error('its connection is closed')
      }),
    )
    await begun.promise
    bench.tasks.clock.advance(2_000)
    await settled()
    expect(bench.transactions.filter(Boolean)).toEqual(ran)
    hangs.resolve()
    await Promise.all(all)
    expect([bench.effects().join(''), bench.states()]).toEqual(['abcd', 'ssss'])
  })

  test('that share a transaction for long, and fail, still run alone', async () => {
    await using bench = await open('abcd', 20)
    let fails = true
    const all = bench.held.map((task) =>
      bench.bring([task], (name) => {
        if (name !== 'd' || !fails) return
        fails = false
        // Their turn is over, and nobody else is there to begin the next.
        bench.tasks.clock.advance(25)
        throw new Error('d fails once')
      }),
    )
    await Promise.all(all)
    expect(bench.transactions).toEqual(['a', 'b', 'cd', 'c', 'd'])
    expect(bench.states()).toBe('ssss')
  })

  test('take effect once if the answer to their commit is lost: each finds its task no longer held', async () => {
    let lose = true
    await using bench = await open('abcd', 20, (source) => async (work, options) => {
      const result = await source(work, options)
      if (bench.transactions.at(-1)!.length > 1 && lose) {
        lose = false
        throw new Error('the connection was lost during the commit')
      }
      return result
    })
    const [, , third] = await Promise.all(bench.held.map((task) => bench.bring([task])))
    expect(third).toMatchObject({ completed: [], lost: [{ identifier: 'c' }] })
    expect([bench.transactions, bench.effects().join(''), bench.states()]).toEqual([['a', 'b', 'cd', '', ''], 'abcd', 'ssss'])
  })
})

test('a commit that takes longer than 25 ms gives way to the next', async () => {
  await using bench = await open('abcd', 20)
  const waits = Promise.withResolvers<void>()
  const begun: string[] = []
  const way = (name: string) =>
    bench.shared.complete({ tasks: [bench.held[0]!], decide: async () => new Map() }, async () => {
      begun.push(name)
      await waits.promise
    })
  const ways = ['a', 'b', 'c', 'd'].map(way)
  await Promise.resolve()
  expect(begun).toEqual(['a', 'b'])
  bench.tasks.clock.advance(24)
  await new Promise(setImmediate)
  expect(begun).toEqual(['a', 'b'])
  bench.tasks.clock.advance(1)
  await expect.poll(() => begun).toEqual(['a', 'b', 'c', 'd'])
  // Those that gave way count no more, whenever they end: two are under way, and others wait.
  waits.resolve()
  await Promise.all(ways)
  const gate = Promise.withResolvers<void>()
  const later = ['e', 'f', 'g'].map((name) =>
    bench.shared.complete({ tasks: [bench.held[0]!], decide: async () => new Map() }, async () => {
      begun.push(name)
      await gate.promise
    }),
  )
  await new Promise(setImmediate)
  expect(begun).toEqual(['a', 'b', 'c', 'd', 'e', 'f'])
  gate.resolve()
  await Promise.all(later)
})

test.each([
  ['a batch of a hundred tasks', 20, 100],
  ['a batch of a topic that shares nothing', 1, 1],
])('%s has a transaction of its own at once', async (_, share, size) => {
  await using bench = await open('ab', share)
  const tasks = Array.from({ length: size }, () => bench.held[0]!)
  const begun: number[] = []
  const gate = Promise.withResolvers<void>()
  const all = [1, 2, 3, 4].map((one) =>
    bench.shared.complete({ tasks, decide: async () => new Map() }, async () => {
      begun.push(one)
      await gate.promise
    }),
  )
  expect(begun).toEqual([1, 2, 3, 4])
  gate.resolve()
  await Promise.all(all)
})
