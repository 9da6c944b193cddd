/** Settling finds what tasks wait for, wherever others have gone on with the work, and asks little. */
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask, PushedTask, Settlement, TaskDependency, TaskInfo, TaskKey } from '@taskstream/task-api'
import { expect, test } from 'vitest'
import { part, testWhere } from './engine.ts'
import type { AnyTransaction, Part } from './engine.ts'
import { codeOf, countingOwner, useFixture } from './fixture.ts'

export const settling: Part = part('settling', (engine) => {
  const fixture = useFixture(engine, { topic: { keyed: true } })
  const { success, failure } = TaskDecision

  const settle = (options: object = {}, topic = fixture.topic): Promise<Settlement> =>
    fixture.commit<Settlement>((transaction) => fixture.tasks.settle(transaction, topic, options))
  const key = ({ topic, sequence }: TaskKey): TaskKey => ({ topic, sequence })
  /** Pushes a task that needs others. */
  const blocked = async (name: string, ...on: readonly TaskKey[]): Promise<TaskKey> => {
    const [task] = await fixture.push({ identifier: name, suspended: true })
    const needs = on.map((one, index) => ({ need: `n${index}`, on: key(one) }))
    await fixture.commit<unknown>((transaction) => fixture.tasks.depend(transaction, task!, needs) as unknown)
    return task!
  }
  const ended = async (name: string, decision: TaskDecision = success()): Promise<PushedTask> => {
    const [task] = await fixture.push(name)
    const held = await fixture.poll(1)
    expect(held.map(({ sequence }) => sequence)).toEqual([task!.sequence])
    await fixture.complete(held, decision)
    return task!
  }
  /** A task of which others go on with the work, one after the other. @returns it and the last one, which is held */
  const line = async (length: number): Promise<readonly [TaskKey, HeldTask]> => {
    const [first] = await fixture.push('line')
    let [held] = await fixture.poll(1)
    for (let step = 0; step < length; step++) {
      const [next] = await fixture.push('line')
      await fixture.complete([held!], success().withSuccessor(next!))
      held = (await fixture.poll(1))[0]
    }
    return [first!, held!]
  }
  const needsOf = async (task: TaskKey): Promise<number[]> => {
    const [needs] = await fixture.commit<readonly (readonly TaskDependency[])[]>((transaction) =>
      fixture.tasks.dependencies(transaction, [task]),
    )
    return needs!.map(({ on }) => on.sequence)
  }
  const infoOf = (task: TaskKey): Promise<TaskInfo | undefined> =>
    fixture.commit<TaskInfo | undefined>((transaction) => fixture.tasks.task(transaction, task.topic, task.sequence))

  test('follows each need by itself, over several steps, and leaves the others alone', async () => {
    const [a, last] = await line(3)
    const [other, lastOfOther] = await line(1)
    const valued = await ended('valued', success().withValue('1'))
    const [d] = await fixture.push('d')
    const first = await blocked('first', a, d!, other, valued)
    const second = await blocked('second', d!, a, d!)
    expect(await settle()).toEqual({ started: 0, unreachable: 0 })
    expect(await needsOf(first)).toEqual([last.sequence, d!.sequence, lastOfOther.sequence, valued.sequence])
    expect(await needsOf(second)).toEqual([d!.sequence, last.sequence, d!.sequence])
    await fixture.complete([last], success())
    await fixture.complete(await fixture.poll(1), success())
    expect(await settle()).toEqual({ started: 1, unreachable: 0 })
    expect((await infoOf(second))?.state).toBe('ready')
    await fixture.complete([lastOfOther], failure())
    expect(await settle()).toEqual({ started: 0, unreachable: 1 })
    expect((await infoOf(first))?.reason).toBe('unreachable')
  })

  test('follows to another topic, and fails what needs one that has failed there', async () => {
    const { tasks, commit, topic } = fixture
    const elsewhere = `${topic}-b`
    await commit((transaction) => tasks.initialize(transaction, elsewhere, { keyed: true }))
    const [a] = await fixture.push('a')
    const task = await blocked('c', a!)
    const [next] = await commit<PushedTask[]>((transaction) => tasks.push(transaction, elsewhere, ['x']))
    await fixture.complete(await fixture.poll(1), success().withSuccessor(next!))
    expect(await settle()).toEqual({ started: 0, unreachable: 0 })
    const [needs] = await commit<readonly (readonly TaskDependency[])[]>((transaction) => tasks.dependencies(transaction, [task]))
    expect(needs).toMatchObject([{ on: key(next!) }])
    const held = await commit<HeldTask[]>((transaction) => tasks.poll(transaction, elsewhere))
    await commit((transaction) => tasks.complete(transaction, elsewhere, new Map([[held[0]!, failure()]])))
    expect(await settle()).toEqual({ started: 0, unreachable: 1 })
  })

  test('fails what needs one whose successor has failed in the meantime, however it got there', async () => {
    const [a, last] = await line(2)
    await fixture.complete([last], failure())
    await blocked('c', a)
    expect(await settle()).toEqual({ started: 0, unreachable: 1 })
  })

  test('starts nothing at the end of a line that is longer than it follows at a time', { timeout: 30_000 }, async () => {
    const done = await ended('done')
    const [a, last] = await line(104)
    await blocked('c', a, done)
    expect(await settle()).toEqual({ started: 0, unreachable: 0 })
    await fixture.complete([last], success())
    expect(await settle()).toEqual({ started: 1, unreachable: 0 })
  })

  test('fails what needs a circle and one that has failed', async () => {
    const [a] = await fixture.push('a')
    const held = await fixture.poll(1)
    const [b] = await fixture.push('b')
    await fixture.complete(held, success().withSuccessor(b!))
    await fixture.complete(await fixture.poll(1), success().withSuccessor(a!))
    await blocked('c', a!, await ended('bad', failure()))
    expect(await settle()).toEqual({ started: 0, unreachable: 1 })
  })

  test('says of several needs that are missed the first one that is not tolerated', async () => {
    const [bad, worse] = [await ended('bad', failure()), await ended('worse', TaskDecision.filter())]
    const both = await blocked('both', bad, worse)
    const [task] = await fixture.push({ identifier: 'tolerant', suspended: true })
    const needs = [
      { need: 'first', on: key(bad), tolerant: true },
      { need: 'second', on: key(worse) },
      { need: 'third', on: key(bad) },
    ]
    await fixture.commit<unknown>((transaction) => fixture.tasks.depend(transaction, task!, needs) as unknown)
    expect(await settle()).toEqual({ started: 0, unreachable: 2 })
    expect((await infoOf(both))?.output).toContain('"n0"')
    expect((await infoOf(task!))?.output).toContain('"second"')
  })

  test('passes over those for which there is nothing to do, and takes the first of the others', async () => {
    const [waiting] = await fixture.push({ identifier: 'waiting', suspended: true })
    const good = await ended('good')
    for (const name of ['b', 'c', 'd']) await blocked(name, waiting!)
    const [e, f] = [await blocked('e', good), await blocked('f', good)]
    expect(await settle({ limit: 1 })).toEqual({ started: 1, unreachable: 0 })
    expect([(await infoOf(e))?.state, (await infoOf(f))?.state]).toEqual(['ready', 'suspended'])
  })

  test('waits for one that is expired', async () => {
    const { tasks, commit } = fixture
    const dying = await fixture.owner()
    const [a] = await fixture.push('a')
    await fixture.poll(1, dying)
    await commit((transaction) => dying.unregister(transaction))
    await commit((transaction) => tasks.expire(transaction, { olderThanMs: 60_000 }))
    await blocked('c', a!)
    expect(await settle()).toEqual({ started: 0, unreachable: 0 })
    expect(await fixture.states()).toEqual({ expired: 1, blocked: 1 })
  })

  test('has one that was suspended by its handler begin anew', async () => {
    const task = await ended('a', TaskDecision.suspension())
    const good = await ended('good')
    const needs = [{ need: 'x', on: key(good) }]
    // What was pushed after it cannot be needed by it.
    expect(await codeOf(() => fixture.commit((transaction) => fixture.tasks.depend(transaction, task, needs)))).toBe(
      'ARGUMENT_INVALID',
    )
    const again = await ended('b', TaskDecision.suspension())
    await fixture.commit((transaction) => fixture.tasks.depend(transaction, again, needs))
    expect(await settle()).toEqual({ started: 1, unreachable: 0 })
    expect(await infoOf(again)).toMatchObject({ state: 'ready' })
    expect(await infoOf(again)).not.toHaveProperty('completed')
  })

  test('is of a thousand by default, of a topic that is known', { timeout: 30_000 }, async () => {
    const { tasks, commit, topic } = fixture
    const good = await ended('good')
    await commit(async (transaction: AnyTransaction) => {
      const many = Array.from({ length: 1_001 }, (_, index) => ({ identifier: `t${index}`, suspended: true }))
      for (const task of (await tasks.push(transaction, topic, many)) as PushedTask[])
        await tasks.depend(transaction, task, [{ need: 'x', on: key(good) }])
    })
    expect(await settle()).toEqual({ started: 1_000, unreachable: 0 })
    expect(await settle()).toEqual({ started: 1, unreachable: 0 })
    expect(await codeOf(() => settle({}, 'nowhere'))).toBe('TOPIC_UNKNOWN')
    expect(await codeOf(() => settle({}, ''))).toBe('ARGUMENT_INVALID')
    expect(await codeOf(() => settle({ limit: 0 }))).toBe('ARGUMENT_INVALID')
    expect(await codeOf(() => settle({ limits: 5 }))).toBe('ARGUMENT_INVALID')
  })

  // Counting statements needs an adapter of the test's own.
  testWhere(engine.adapts !== false)('asks no more where nothing has gone on, whatever has elsewhere', async () => {
    const { tasks, statements } = await countingOwner(fixture)
    const asked = async (): Promise<number> => {
      const before = statements()
      await fixture.commit<unknown>((transaction) => tasks.settle(transaction, fixture.topic) as unknown)
      return statements() - before
    }
    await line(1)
    const [waiting] = await fixture.push({ identifier: 'waiting', suspended: true })
    await blocked('b', waiting!)
    expect(await asked()).toBeLessThanOrEqual(2)
    await blocked('c', await ended('good'))
    expect(await asked()).toBeLessThanOrEqual(4)
  })
})
