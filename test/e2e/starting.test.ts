/** A start of a node that is stopped meanwhile, or fails half way, leaves nothing behind. */
import { TaskError } from '@taskstream/task-api'
import type { TaskNotifier, TransactionSource } from '@taskstream/task-api'
import { eachTask } from '@taskstream/task-processor'
import type { TaskManager, TaskNode } from '@taskstream/task-processor'
import type { TestClock } from '@taskstream/task-testing'
import { describe, expect, test } from 'vitest'
import { canRun, engine } from '../subject.ts'
import type { AnyTransaction, Tasks } from '../subject.ts'
import { useNodeFixture } from './fixture.ts'
import type { NodeOptions } from './fixture.ts'

const hour = 3_600_000
/** The steps of a start, in order. */
const steps = ['register', 'initialize', 'listen', 'activations', 'open'] as const
type Step = (typeof steps)[number]

describe.skipIf(!canRun)('a node that starts', () => {
  const fixture = useNodeFixture('starting')

  interface Starting {
    readonly clock: TestClock
    readonly node: TaskNode<AnyTransaction>
    /** How many transactions were opened. */
    readonly opened: () => number
    /** How many listeners are open. */
    readonly listening: () => number
    readonly handled: string[]
  }

  /** Returns a node that calls `at` at each step. A step in the database is done by then. */
  const startingOf = (at: (step: Step) => unknown, options: NodeOptions = {}): Starting => {
    let opened = 0
    let listening = 0
    const transactions: TransactionSource<AnyTransaction> = (work) => {
      opened++
      return fixture.commit(work)
    }
    const notifier: TaskNotifier = {
      listen: async () => {
        await at('listen')
        listening++
        return { [Symbol.asyncDispose]: async () => void listening-- }
      },
    }
    const after = <Name extends 'register' | 'initialize' | 'activations'>(own: Tasks, name: Name): Tasks[Name] =>
      (async (...args: readonly unknown[]) => {
        const result = await (own[name] as (...args: readonly unknown[]) => unknown)(...args)
        await at(name)
        return result
      }) as unknown as Tasks[Name]
    const { clock, node } = fixture.clocked({ transactions, notifier, ...options }, (own) => ({
      ...own,
      register: after(own, 'register'),
      initialize: after(own, 'initialize'),
      activations: after(own, 'activations'),
    }))
    const handled: string[] = []
    const handle = eachTask<AnyTransaction>(({ identifier }) => void handled.push(identifier))
    node.process(fixture.topic, {
      handler: {
        open: () => {
          void at('open')
          return { handle }
        },
      },
    })
    return { clock, node, opened: () => opened, listening: () => listening, handled }
  }

  const owners = async (): Promise<readonly string[]> => {
    const { subject } = fixture
    const list = await subject.transactions<readonly { readonly owner: string }[]>((transaction) =>
      subject.tasks().owners(transaction, 1_000 * hour),
    )
    return list.map(({ owner }) => owner)
  }

  /** Expects that nothing is left in the database, and that no further transaction comes, however much time passes. */
  const expectNothing = async ({ clock, node, opened, listening }: Starting): Promise<void> => {
    expect(await owners()).not.toContain(node.owner)
    expect(listening()).toBe(0)
    const before = opened()
    await fixture.push('later')
    for (let hours = 0; hours < 5; hours++) {
      clock.advance(hour)
      await new Promise((resolve) => setImmediate(resolve))
    }
    node.wake()
    expect(opened()).toBe(before)
    expect((await fixture.states())['ready']).toBeGreaterThan(0)
  }

  /**
   * Moves the clock until a stop gives up what hangs, and begins to remove its owner. Then the clock stands, or the stop would
   * give up the removal too where the database is slow.
   */
  const untilItLeaves = async ({ clock, opened }: Pick<Starting, 'clock' | 'opened'>): Promise<void> => {
    const before = opened()
    await expect.poll(() => opened() > before || (clock.advance(1_000), false)).toBe(true)
  }

  for (const step of steps) {
    test(`is stopped in the midst of it (${step}): nothing of it is left when that is done`, async () => {
      await fixture.push('a')
      let stopped: Promise<unknown> = Promise.resolve()
      const begun = Promise.withResolvers<void>()
      const gate = Promise.withResolvers<void>()
      const starting = startingOf(async (now) => {
        if (now !== step) return
        begun.resolve()
        if (step === 'open') stopped = starting.node.stop()
        else await gate.promise
      })
      const started = starting.node.start()
      const outcome = expect(started).rejects.toMatchObject({ code: 'LIFECYCLE' })
      await begun.promise
      if (step !== 'open') stopped = starting.node.stop()
      let over = false
      void stopped.then(() => (over = true))
      await new Promise((resolve) => setImmediate(resolve))
      if (step !== 'open') expect(over).toBe(false)
      gate.resolve()
      await stopped
      await outcome
      await expectNothing(starting)
      expect(starting.handled).toEqual([])
    })

    test(`and fails (${step}) leaves nothing behind, and can be started again`, async () => {
      await fixture.push('a')
      let failures = 0
      const starting = startingOf((now) => {
        if (now === step && failures++ === 0) throw new Error(`no ${step}`)
      })
      await expect(starting.node.start()).rejects.toThrow(`no ${step}`)
      await expectNothing(starting)
      await starting.node.start()
      await expect.poll(fixture.states).toEqual({ succeeded: 2 })
      await expect(starting.node.start()).rejects.toMatchObject({ code: 'LIFECYCLE' })
      await starting.node.stop()
      await expectNothing(starting)
    })
  }

  test('is stopped, and may be started again, though its notifier cannot be closed', async () => {
    const notifier: TaskNotifier = {
      listen: async () => ({ [Symbol.asyncDispose]: () => Promise.reject(new Error('cannot be closed')) }),
    }
    let failures = 0
    const fail = (step: Step): void => {
      if (step === 'activations' && failures++ === 0) throw new Error('no activations')
    }
    const starting = startingOf(fail, { notifier })
    await expect(starting.node.start()).rejects.toThrow('no activations')
    await starting.node.start()
    expect(await starting.node.stop()).toEqual({ finished: [], returned: [], abandoned: [] })
    expect(await owners()).not.toContain(starting.node.owner)
  })

  test('processes a topic too that is added while others are being started', async () => {
    let late: TaskManager<AnyTransaction> | undefined
    const starting = startingOf((step) => {
      if (step === 'activations') late ??= starting.node.process(`${fixture.topic}-late`, { handler: eachTask(() => {}) })
    })
    await starting.node.start()
    await expect.poll(() => late?.isActive).toBe(true)
    await starting.node.stop()
  })

  test('leaves alone a topic that was added meanwhile, and stopped again', async () => {
    const added: TaskManager<AnyTransaction>[] = []
    const add = (topic: string): number => added.push(starting.node.process(topic, { handler: eachTask(() => {}) }))
    const starting = startingOf(async (step) => {
      if (step !== 'activations' || added.length > 0) return
      add(`${fixture.topic}-stopped`)
      await added[0]!.stop()
      add(`${fixture.topic}-last`)
    })
    await starting.node.start()
    await expect.poll(() => added[1]!.isActive).toBe(true)
    expect(added[0]!.isActive).toBe(false)
    await starting.node.stop()
  })

  test('and whose owner may have been registered, which nobody knows, leaves none', async () => {
    const gone = new Error('gone')
    let count = 0
    const starting = startingOf(() => {}, {
      transactions: async (work) => {
        const result = await fixture.commit(work)
        if (count++ === 0) throw gone
        return result
      },
    })
    await expect(starting.node.start()).rejects.toBe(gone)
    expect(await owners()).not.toContain(starting.node.owner)
  })

  test('refuses a second start meanwhile, and one after a stop, and says what to do', async () => {
    const gate = Promise.withResolvers<void>()
    const { node } = startingOf((step) => (step === 'register' ? gate.promise : undefined))
    const started = node.start()
    await expect(node.start()).rejects.toMatchObject({ code: 'LIFECYCLE', message: 'The node is being started already' })
    gate.resolve()
    await started
    await node.stop()
    await expect(node.start()).rejects.toMatchObject({ code: 'LIFECYCLE', message: 'The node was stopped: make a new one' })
  })

  test('is not waited for by its stop for ever: what a step still brings is undone when it comes', async () => {
    const begun = Promise.withResolvers<void>()
    const gate = Promise.withResolvers<void>()
    const starting = startingOf((step) => {
      if (step !== 'listen') return undefined
      begun.resolve()
      return gate.promise
    })
    const outcome = expect(starting.node.start()).rejects.toMatchObject({ code: 'LIFECYCLE' })
    await begun.promise
    const stopped = starting.node.stop()
    await untilItLeaves(starting)
    await stopped
    gate.resolve()
    await outcome
    await expect.poll(starting.listening).toBe(0)
    await expectNothing(starting)
  })

  test('is not registered again by a beat that hung while it was stopped', async () => {
    const begun = Promise.withResolvers<void>()
    const gate = Promise.withResolvers<void>()
    let registered = 0
    let open = 0
    const transactions: TransactionSource<AnyTransaction> = (work) => {
      open++
      return fixture.commit(work).finally(() => open--)
    }
    const { clock, node } = fixture.clocked({ transactions }, (own) => ({
      ...own,
      register: (...args: Parameters<Tasks['register']>) => (registered++, own.register(...args)),
      heartbeat: async () => {
        begun.resolve()
        await gate.promise
        throw new TaskError('OWNER_UNKNOWN', 'removed meanwhile')
      },
    }))
    await node.start()
    clock.advance(5_000)
    await begun.promise
    let over = false
    void node.stop().then(() => (over = true))
    // The clock stands while the owner is removed. With one connection it moves on, as the removal waits for the heartbeat.
    const pass = (): void => void ((open < 2 || engine.writers === 1) && clock.advance(1_000))
    await expect.poll(() => (pass(), over)).toBe(true)
    gate.resolve()
    // With one connection, this push waits for all that the heartbeat has led to.
    await fixture.push('later')
    expect(registered).toBe(1)
    expect(await owners()).not.toContain(node.owner)
  })

  test('has a topic whose start is broken off by its stop: it does not run when that is done', async () => {
    const begun = Promise.withResolvers<void>()
    const gate = Promise.withResolvers<void>()
    let slow = false
    const { node } = startingOf((step) => {
      if (step !== 'initialize' || !slow) return undefined
      begun.resolve()
      return gate.promise
    })
    await using _ = node
    await node.start()
    slow = true
    const manager = node.process(`${fixture.topic}-other`, { handler: eachTask(() => {}), activation: 'inactive' })
    const started = expect(manager.start()).rejects.toMatchObject({ code: 'LIFECYCLE' })
    await begun.promise
    const stopped = manager.stop()
    gate.resolve()
    expect(await stopped).toEqual({ finished: [], returned: [], abandoned: [] })
    await started
    expect(manager.isActive).toBe(false)
    expect(await manager.start()).toBe(true)
  })
})
