/** A topic that is paused stops in every node, and starts in every node again. */
import type { Activation, TaskNotifier } from '@taskstream/task-api'
import { eachTask } from '@taskstream/task-processor'
import { describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import type { Tasks } from '../subject.ts'
import { useNodeFixture } from './fixture.ts'

describe.skipIf(!canRun)('a processor that is activated', () => {
  const fixture = useNodeFixture('activation')

  const handler = eachTask(() => {})
  const say = (verb: 'activate' | 'deactivate'): Promise<boolean> =>
    fixture.commit<boolean>((transaction) => fixture.tasks[verb](transaction, fixture.topic))
  const stored = async (): Promise<boolean | undefined> => {
    const all = await fixture.commit<ReadonlyMap<string, Activation>>((transaction) => fixture.tasks.activations(transaction))
    return all.get(fixture.topic)?.active
  }

  test.each([
    [undefined, undefined, true],
    [undefined, 'inactive', false],
    [undefined, 'ignored', true],
    ['deactivate', undefined, false],
    ['deactivate', 'ignored', true],
    ['activate', 'inactive', true],
  ] as const)('told to %s, with activation %s, runs at the start of its node: %s', async (said, activation, runs) => {
    if (said) await say(said)
    await using node = fixture.nodeOf()
    const manager = node.process(fixture.topic, { handler, ...(activation && { activation }) })
    await node.start()
    expect(manager.isActive).toBe(runs)
    const late = node.process(`${fixture.topic}-other`, { handler })
    await expect.poll(() => late.isActive).toBe(true)
  })

  test('stops and starts in every node as it is told, by looking now and then if by nothing else', async () => {
    await using one = fixture.nodeOf()
    await using two = fixture.nodeOf({ repository: fixture.subject.tasks() })
    const managers = [one, two].map((node) => node.process(fixture.topic, { handler, idleMs: 20 }))
    for (const node of [one, two]) await node.start()
    const running = (): boolean[] => managers.map(({ isActive }) => isActive)
    expect(running()).toEqual([true, true])
    await say('deactivate')
    await expect.poll(running).toEqual([false, false])
    // Not active is also who stops, with a poll under way that could hold the task for a moment.
    await Promise.all(managers.map((manager) => manager.stop()))
    await fixture.push('a')
    expect(await fixture.states()).toEqual({ ready: 1 })
    await say('activate')
    await expect.poll(fixture.states).toEqual({ succeeded: 1 })
    await expect.poll(running).toEqual([true, true])
  })

  test('stores what it was told itself, and other nodes follow', async () => {
    await using one = fixture.nodeOf()
    await using two = fixture.nodeOf({ repository: fixture.subject.tasks() })
    const [first, second] = [one, two].map((node) => node.process(fixture.topic, { handler }))
    for (const node of [one, two]) await node.start()
    expect(await first!.activate()).toBe(false)
    expect(await stored()).toBeUndefined()
    expect(await first!.deactivate()).toBe(true)
    expect([await stored(), await first!.deactivate()]).toEqual([false, false])
    await expect.poll(() => second!.isActive).toBe(false)
    expect(await second!.activate()).toBe(true)
    expect(await stored()).toBe(true)
    await expect.poll(() => first!.isActive).toBe(true)
  })

  test('leaves alone what was stopped by hand, and writes nothing of its own', async () => {
    let looks = 0
    await say('activate')
    const before = await fixture.commit<ReadonlyMap<string, Activation>>((transaction) => fixture.tasks.activations(transaction))
    const { node, pass } = fixture.clocked({ maintenanceIntervalMs: 1_000 }, (own) => ({
      ...own,
      activations: ((...args: Parameters<Tasks['activations']>) => (looks++, own.activations(...args))) as Tasks['activations'],
    }))
    await using _ = node
    const manager = node.process(fixture.topic, { handler })
    await node.start()
    await manager.stop()
    const looked = looks
    // The first look may have begun before the stop, and the last is under way.
    await expect.poll(() => (pass(1_000), looks)).toBeGreaterThan(looked + 2)
    expect(manager.isActive).toBe(false)
    const after = await fixture.commit<ReadonlyMap<string, Activation>>((transaction) => fixture.tasks.activations(transaction))
    expect(after).toEqual(before)
  })

  test('hears of it by its notifier at once, and not more often than every second where that cannot tell topics apart', async () => {
    let tell: (topic?: string) => void = () => {}
    const notifier: TaskNotifier = {
      listen: async ({ onActivation }) => {
        tell = onActivation ?? tell
        return { [Symbol.asyncDispose]: async () => {} }
      },
    }
    let looks = 0
    const { clock, tasks, node } = fixture.clocked({ notifier })
    const activations = tasks.activations
    Object.assign(tasks, { activations: (...args: Parameters<typeof activations>) => (looks++, activations(...args)) })
    await using _ = node
    const manager = node.process(fixture.topic, { handler, idleMs: 86_400_000 })
    await node.start()
    expect(looks).toBe(1)
    await say('deactivate')
    tell(fixture.topic)
    await expect.poll(() => manager.isActive).toBe(false)
    await say('activate')
    for (let times = 0; times < 100; times++) tell()
    expect(looks).toBe(2)
    clock.advance(1_000)
    await expect.poll(() => manager.isActive).toBe(true)
    expect(looks).toBe(3)
  })
})
