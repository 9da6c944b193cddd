/** A task that needs one which goes on as another needs that one from then on. */
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import { expect, test } from 'vitest'
import { useDependencyFixture } from './dependency-fixture.ts'
import { part } from './engine.ts'
import type { Part } from './engine.ts'
import { codeOf } from './fixture.ts'

export const dependencySuccessors: Part = part('a task that needs one which goes on as another', (engine) => {
  const { fixture, on, depend, blocked, settle, infoOf, needsOf, ended } = useDependencyFixture(engine)
  const { success } = TaskDecision

  test('waits for the task that goes on with the work of one, and is told what that one returns', async () => {
    const { tasks, commit } = fixture
    const [a] = await fixture.push('a')
    const task = await blocked('c', ...on(a!))
    const held = await fixture.poll(1)
    const [b, last] = await fixture.push('b', 'last')
    await fixture.complete(held, success().withSuccessor(b!))
    expect(await settle()).toEqual({ started: 0, unreachable: 0 })
    expect(await needsOf(task)).toMatchObject([{ need: 'n0', on: { sequence: b!.sequence } }])
    await fixture.complete(await fixture.poll(1), success().withSuccessor(last!))
    await fixture.complete(await fixture.poll(1), success().withValue('7'))
    expect(await settle()).toEqual({ started: 1, unreachable: 0 })
    const needed = (await needsOf(task)).map(({ on }) => on)
    expect(await commit<unknown>((transaction) => tasks.endings(transaction, needed) as unknown)).toMatchObject([{ value: '7' }])
  })

  test('keeps what a task has gone on as, whether it is purged or deleted as it ends, to the end of the line', async () => {
    const { tasks, topic, commit } = fixture
    const [a] = await fixture.push('a')
    const task = await blocked('c', ...on(a!))
    const endsAs = (held: HeldTask, decision: TaskDecision): Promise<unknown> =>
      commit<unknown>((transaction) =>
        tasks.complete(transaction, topic, new Map([[held, decision]]), { discard: ['succeeded'] }),
      )
    let [held] = await fixture.poll(1)
    for (const name of ['b', 'last']) {
      const [next] = await fixture.push(name)
      await endsAs(held!, success().withSuccessor(next!))
      ;[held] = await fixture.poll(1)
    }
    await endsAs(held!, success().withValue('7'))
    await commit((transaction) => tasks.purge(transaction, topic))
    expect(await settle()).toEqual({ started: 1, unreachable: 0 })
    const needed = (await needsOf(task)).map(({ on }) => on)
    expect(await commit<unknown>((transaction) => tasks.endings(transaction, needed) as unknown)).toMatchObject([{ value: '7' }])
  })

  test('is not what one of those that it needs may go on as, itself or through others', async () => {
    const [a] = await fixture.push('a')
    const task = await blocked('c', ...on(a!))
    const through = await blocked('d', ...on(task))
    const held = await fixture.poll(1)
    for (const next of [task, through])
      expect(await codeOf(() => fixture.complete(held, success().withSuccessor(next)))).toBe('TASK_STATE')
    expect(await fixture.states()).toEqual({ active: 1, blocked: 2 })
  })

  test('fails if one of those that it needs had gone on as a task that waits for it, when nobody could know', async () => {
    const [a] = await fixture.push('a')
    const held = await fixture.poll(1)
    const task = (await fixture.push({ identifier: 'c', suspended: true }))[0]!
    const through = await blocked('d', ...on(task))
    await fixture.complete(held, success().withSuccessor(through))
    await depend(task, on(a!))
    expect((await settle()).unreachable + (await settle()).unreachable).toBe(1)
    expect(await infoOf(task)).toMatchObject({ state: 'failed', reason: 'unreachable' })
    expect((await infoOf(task))?.output).toContain('has gone on as a task that waits for this one')
    expect(await infoOf(through)).toMatchObject({ state: 'failed', reason: 'unreachable' })
  })

  test('starts though tasks have gone on as each other in a circle, which are over', async () => {
    const [a] = await fixture.push('a')
    const held = await fixture.poll(1)
    const [b] = await fixture.push('b')
    await fixture.complete(held, success().withSuccessor(b!))
    await fixture.complete(await fixture.poll(1), success().withSuccessor(a!))
    await blocked('c', ...on(a!))
    const d = await ended('d')
    await blocked('e', ...on(d))
    expect(await settle()).toEqual({ started: 2, unreachable: 0 })
  })
})
