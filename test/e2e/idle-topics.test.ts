/** Topics at which nothing happens cost a node next to nothing, and what happens at one of them is handled as soon as ever. */
import { setImmediate as turnOfEventLoop } from 'node:timers/promises'
import type { HeldTask, PushedTask, TaskCreation, TransactionSource } from '@taskstream/task-api'
import { eachTask, localNotifier, TaskNode } from '@taskstream/task-processor'
import type { TaskNodeOptions } from '@taskstream/task-processor'
import { testClock } from '@taskstream/task-testing'
import type { TestClock } from '@taskstream/task-testing'
import { describe, expect, test } from 'vitest'
import { canRun, engine } from '../subject.ts'
import type { AnyTransaction, Tasks } from '../subject.ts'
import { useNodeFixture } from './fixture.ts'

/** How many topics a node has where statements are counted, and elsewhere. */
const [many, some] = [200, 20]
/** How long a topic with a notifier is left alone at most, and one without. */
const [notifiedMs, unnotifiedMs] = [30_000, 1_000]

describe.skipIf(!canRun)('idle topics', () => {
  const fixture = useNodeFixture('idle-topics')

  interface Idle {
    readonly node: TaskNode<AnyTransaction>
    readonly clock: TestClock
    readonly tasks: Tasks
    readonly topics: readonly string[]
    /** What was handled, and when by the clock. */
    readonly handled: (readonly [topic: string, identifier: string, atMs: number])[]
    /** How many statements the node has sent. Those that begin and end its transactions count where a source can do without them. */
    readonly statements: () => number
    /** Lets time pass, and waits for whatever the node does meanwhile. */
    readonly pass: (ms: number) => Promise<void>
    /** Has the database refuse whatever the node asks. */
    fails: boolean
  }

  /** A node whose topics have been idle for so long that it looks at them all together. */
  const idle = async (
    { count = some, ...options }: Partial<TaskNodeOptions<AnyTransaction>> & { readonly count?: number } = {},
    wrap = (tasks: Tasks): Tasks => tasks,
  ): Promise<Idle> => {
    const clock = testClock(new Date())
    const step = options.notifier ? 1_000 : 200
    const { transactions } = fixture.subject
    let [open, sent] = [0, 0]
    const counted = (ask: TransactionSource<AnyTransaction>, around: number): TransactionSource<AnyTransaction> =>
      (async (...[work, given]: Parameters<typeof ask>) => {
        open++
        sent += around
        try {
          if (made.fails) throw new Error('refused')
          return await ask(work, given)
        } finally {
          open--
        }
      }) as TransactionSource<AnyTransaction>
    const source = Object.assign(
      counted(transactions, transactions.autocommit ? 2 : 0),
      { closesAbandoned: transactions.closesAbandoned, classify: transactions.classify },
      transactions.autocommit && { autocommit: counted(transactions.autocommit as TransactionSource<AnyTransaction>, 0) },
    )
    const tasks = fixture.subject.tasks({
      clock: clock.now,
      adapt: (adapter) =>
        ({
          ...adapter,
          execute: (...given: Parameters<typeof adapter.execute>) => (sent++, adapter.execute(...given)),
        }) as typeof adapter,
    })
    const node = new TaskNode({ repository: wrap(tasks), transactions: source, clock, ...options })
    const topics = Array.from({ length: count }, (_, index) => `${fixture.topic}-${index}`)
    const handled: Idle['handled'] = []
    for (const topic of topics)
      node.process(topic, { handler: eachTask(({ identifier }) => void handled.push([topic, identifier, clock.monotonicMs()])) })
    /** Whatever the node asks for is asked for within some turns of the event loop. */
    const calm = async (): Promise<void> => {
      for (let turns = 0; turns < 20; turns++) {
        await turnOfEventLoop()
        if (open > 0) turns = 0
      }
    }
    const pass = async (ms: number): Promise<void> => {
      // Steps are shorter than any pause, so that whatever is asked is answered before the next question.
      for (let left = ms; left > 0; left -= step) {
        clock.advance(Math.min(left, step))
        await calm()
      }
    }
    const made: Idle = { node, clock, tasks, topics, handled, statements: () => sent, pass, fails: false }
    await node.start()
    await calm()
    // Pauses double until they are the longest.
    await pass(3 * (options.notifier ? notifiedMs : unnotifiedMs))
    return made
  }
  const push = (at: Idle, topic: string, creation: string | TaskCreation): Promise<PushedTask[]> =>
    fixture.commit<PushedTask[]>((transaction) => at.tasks.push(transaction, topic, creation))

  test.runIf(engine.adapts !== false)('cost a node at most one statement a second, two hundred of them', async () => {
    const { node, statements, pass } = await idle({ notifier: localNotifier(), count: many })
    await using _ = node
    const before = statements()
    await pass(300_000)
    expect(statements() - before).toBeLessThanOrEqual(300)
  })

  test.runIf(engine.adapts !== false)(
    'cost a node that nobody notifies four statements a second at most, two hundred of them',
    async () => {
      const { node, statements, pass } = await idle({ count: many })
      await using _ = node
      const before = statements()
      await pass(60_000)
      expect(statements() - before).toBeLessThanOrEqual(240)
    },
  )

  test('have a task handled within the longest pause, also if nobody tells of it', async () => {
    const at = await idle()
    await using _ = at.node
    const pushedAtMs = at.clock.monotonicMs()
    await push(at, at.topics[15]!, 'a')
    await at.pass(unnotifiedMs)
    expect(at.handled.map(([topic, identifier]) => [topic, identifier])).toEqual([[at.topics[15], 'a']])
    expect(at.handled[0]![2] - pushedAtMs).toBeLessThanOrEqual(unnotifiedMs)
  })

  test('have a task handled at once if somebody tells of it', async () => {
    const notifier = localNotifier()
    const at = await idle({ notifier })
    await using _ = at.node
    await push(at, at.topics[7]!, 'a')
    notifier.notify(at.topics[7])
    await expect.poll(() => at.handled).toEqual([[at.topics[7], 'a', at.clock.monotonicMs()]])
  })

  test('have a task handled when it is due: one that was known before, and one that a look has found', async () => {
    const notifier = localNotifier()
    const at = await idle({ notifier })
    await using _ = at.node
    const beganMs = at.clock.monotonicMs()
    await push(at, at.topics[1]!, { identifier: 'told', delayMs: 100_000 })
    notifier.notify(at.topics[1])
    await push(at, at.topics[2]!, { identifier: 'found', delayMs: 50_000 })
    await at.pass(100_000)
    await expect.poll(() => at.handled).toHaveLength(2)
    expect(at.handled).toEqual([
      [at.topics[2], 'found', beganMs + 50_000],
      [at.topics[1], 'told', beganMs + 100_000],
    ])
  })

  test('have a task handled that another process has handed back', async () => {
    const at = await idle({ notifier: localNotifier() })
    await using _ = at.node
    const topic = at.topics[19]!
    const other = fixture.subject.tasks({ clock: at.clock.now })
    await fixture.commit((transaction) => other.register(transaction))
    await push(at, topic, 'a')
    const held = await fixture.commit<HeldTask[]>((transaction) => other.poll(transaction, topic))
    await at.pass(notifiedMs)
    expect(at.handled).toEqual([])
    await fixture.commit<unknown>((transaction) => other.handBack(transaction, topic, held) as unknown)
    await at.pass(notifiedMs)
    expect(at.handled.map(([where]) => where)).toEqual([topic])
  })

  test.runIf(engine.writers > 1)('have a task handled whose push is committed late', async () => {
    const at = await idle({ notifier: localNotifier() })
    await using _ = at.node
    const topic = at.topics[10]!
    const session = await fixture.subject.session()
    await session.begin()
    await at.tasks.push(session.transaction, topic, 'late')
    await at.pass(2 * notifiedMs)
    expect(at.handled).toEqual([])
    await session.commit()
    await session.close()
    await at.pass(notifiedMs)
    expect(at.handled.map(([, identifier]) => identifier)).toEqual(['late'])
  })

  test('are polled one by one when the look at all of them fails, and looked at together again later', async () => {
    let refuses = true
    let looks = 0
    const at = await idle({}, (tasks) => ({
      ...tasks,
      peek: (...given) => {
        looks++
        if (refuses) throw new Error('no such look')
        return tasks.peek(...given)
      },
    }))
    await using _ = at.node
    await push(at, at.topics[3]!, 'a')
    await at.pass(unnotifiedMs)
    expect(at.handled.map(([, identifier]) => identifier)).toEqual(['a'])
    refuses = false
    looks = 0
    await at.pass(2 * unnotifiedMs)
    expect(looks).toBeGreaterThan(0)
    await push(at, at.topics[4]!, 'b')
    await at.pass(unnotifiedMs)
    expect(at.handled.map(([, identifier]) => identifier)).toEqual(['a', 'b'])
  })

  test('have a task handled that was pushed while the database was away', async () => {
    const at = await idle({ leaseMs: 600_000 })
    await using _ = at.node
    at.fails = true
    await push(at, at.topics[6]!, 'a')
    await at.pass(5_000)
    expect(at.handled).toEqual([])
    at.fails = false
    // Pauses after errors are ten seconds at most.
    await at.pass(10_000)
    expect(at.handled.map(([, identifier]) => identifier)).toEqual(['a'])
  })
})
