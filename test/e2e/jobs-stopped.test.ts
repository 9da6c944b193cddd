/** After its stop, nothing of a stream runs or writes: not its start either. */
import { setImmediate } from 'node:timers/promises'
import { codeOf } from '@taskstream/task-testing/suite'
import { defineJob, Stream } from 'taskstream'
import type { StreamDriver } from 'taskstream'
import type { Execution } from '@taskstream/task-api'
import { describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import type { AnyTransaction } from '../subject.ts'
import { useJobFixture } from './job-fixture.ts'

type Step = 'migration' | 'initialization' | 'timers'

describe.skipIf(!canRun)('a stop', () => {
  const fixture = useJobFixture()
  const job = defineJob('stopped-meanwhile', { timer: '*-01-01 00:00 UTC' })

  /** A stream whose start notes its steps, and waits in one of them. */
  const blocked = (
    step: Step,
    facts: string[],
  ): { stream: Stream<AnyTransaction, Execution>; entered: Promise<void>; go: () => void } => {
    const entered = Promise.withResolvers<void>()
    const go = Promise.withResolvers<void>()
    const { subject } = fixture
    const repository = subject.tasks()
    const reached = async (name: Step): Promise<void> => {
      facts.push(`${name} begins`)
      if (name !== step) return
      entered.resolve()
      await go.promise
      facts.push(`${name} ends`)
    }
    // Each transaction of a start belongs to one step, in this order.
    const steps: Step[] = ['initialization', 'timers']
    const transactions: typeof subject.transactions = Object.assign(
      async (...given: Parameters<typeof subject.transactions>) => {
        const name = steps.shift()
        if (name) await reached(name)
        else facts.push('another transaction')
        return subject.transactions(...given)
      },
      subject.transactions,
      { autocommit: undefined },
    ) as typeof subject.transactions
    const driver = {
      repository: Object.assign(Object.create(repository) as typeof repository, { migrate: () => reached('migration') }),
      transactions,
    } as unknown as StreamDriver<AnyTransaction, Execution>
    const stream = new Stream<AnyTransaction, Execution>(driver, { listener: {} })
    stream.handle(job, () => {})
    return { stream, entered: entered.promise, go: () => go.resolve() }
  }

  test.each<[Step, string[]]>([
    ['migration', ['migration begins']],
    ['initialization', ['migration begins', 'initialization begins']],
    ['timers', ['migration begins', 'initialization begins', 'timers begins']],
  ])('waits for the end of a start that is in its %s, which takes no further step', async (step, before) => {
    const facts: string[] = []
    const { stream, entered, go } = blocked(step, facts)
    const starting = codeOf(() => stream.start()).then((code) => facts.push(`start: ${String(code)}`))
    await entered
    const stopping = stream.stop().then(() => facts.push('stopped'))
    // All else of the stop has ended.
    await stream.node.stop()
    await setImmediate()
    expect(facts).toEqual(before)
    go()
    await Promise.all([starting, stopping])
    expect(facts).toEqual([...before, `${step} ends`, 'start: LIFECYCLE', 'stopped'])
  })

  test('that is called again waits too', async () => {
    const facts: string[] = []
    const { stream, entered, go } = blocked('migration', facts)
    const starting = codeOf(() => stream.start())
    await entered
    const first = stream.stop()
    const second = stream.stop().then(() => facts.push('second'))
    await stream.node.stop()
    await setImmediate()
    expect(facts).toEqual(['migration begins'])
    go()
    await Promise.all([starting, first, second])
    expect(facts).toEqual(['migration begins', 'migration ends', 'second'])
  })

  test('waits for nothing of a start that has failed', async () => {
    const stream = fixture.streamOf()
    const other = defineJob('stopped-after-failure', {
      next: () => {
        throw new Error('no such module')
      },
    })
    stream.handle(other, () => undefined as never)
    await expect(stream.start()).rejects.toThrow('no such module')
    expect(await stream.stop()).toEqual({ finished: [], returned: [], abandoned: [] })
  })

  test('that is ordered wrongly at the start leaves nothing running, and the start can be repeated', async () => {
    const listeners = process.listenerCount('SIGUSR2')
    await using stream = fixture.streamOf()
    const other = defineJob('ordered-wrongly')
    stream.handle(other, () => {})
    const wrong: readonly (readonly [object, RegExp])[] = [
      [{ stopOn: 'SIGUSR2' }, /stopOn must be a list of signals, such as \['SIGTERM', 'SIGINT'\]/],
      [{ stopOn: ['SIGTREM'] }, /stopOn must be a list of signals/],
      [{ stopOn: ['SIGUSR2', 5] }, /stopOn must be a list of signals/],
      [{ stopOn: ['SIGUSR2'], onStopped: 'exit' }, /onStopped must be a function/],
      [{ stopOn: ['SIGUSR2'], graceMs: -1 }, /graceMs must be/],
      [{ leaveMs: 0.5 }, /leaveMs must be/],
    ]
    for (const [options, message] of wrong) {
      expect(await codeOf(() => stream.start(options))).toBe('ARGUMENT_INVALID')
      await expect(stream.start(options)).rejects.toThrow(message)
    }
    expect(process.listenerCount('SIGUSR2')).toBe(listeners)
    await stream.start()
    await stream.submit(other)
    await expect.poll(() => fixture.states(other)).toEqual({ succeeded: 1 })
  })

  test('leaves no listener for a signal behind', async () => {
    const listeners = process.listenerCount('SIGUSR2')
    const stream = fixture.streamOf()
    await stream.start({ stopOn: ['SIGUSR2'] })
    expect(process.listenerCount('SIGUSR2')).toBe(listeners + 1)
    await stream.stop()
    expect(process.listenerCount('SIGUSR2')).toBe(listeners)
  })
})
